package kernel_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// parse reads a kernel's text or fails the test.
func parse(t *testing.T, text string) *kernel.Kernel {
	t.Helper()
	k, err := kernel.ParseText(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return k
}

// signature is what the bodies in the tests below may use.
const signature = `(kernel k
  (buffer u f64 global in (mul N N))
  (buffer v f64 global out (mul N N))
  (buffer w f64 global inout (mul N N))
  (buffer c i32 constant in (i64 4))
  (buffer d i32 global inout N)
  (buffer g f64 image in (mul N N) (texel 1))
  (buffer h f64 image in (mul N N) (texel 2))
  (scalar N i64)
  (scalar a f64)
  (scalar n i32)
`

// grid opens a loop over blocks and one over threads.
const grid = "(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1) "

// cluster opens loops over clusters of two blocks, with shared memory and
// mbarriers, and over their threads.
const cluster = "(for b i64 block.x (i64 0) N (i64 1) (for r i64 cluster.x (i64 0) (i64 2) (i64 1) " +
	"(alloc s f64 shared (i64 64)) (alloc m i64 mbarrier (i64 2)) (for t i64 thread.x (i64 0) (i64 64) (i64 1) "

// verify returns what is wrong with a kernel with that body.
func verify(t *testing.T, body string) string {
	t.Helper()
	err := kernel.Verify(parse(t, signature+body+")"))
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestVerifyAccepts(t *testing.T) {
	for _, body := range []string{
		"",
		grid + "(flag.set d b (i32 1)) (barrier grid) (flag.wait d t n)))",
		// Names may be used again once their list has ended.
		"(for i i64 serial (i64 0) N (i64 1) (let x i64 i)) (for i i64 serial (i64 0) N (i64 1) (let x f64 a))",
		"(if (bool true) (then (let x i64 N)) (else (let x f64 a)))",
		"(var x f64 a) (for i i64 serial (i64 0) N (i64 1) (set x (add x a)))",
		"(for i i32 unroll (i32 3) (i32 5) (i32 2) (store v (cast i64 i) (load u i)))",
		"(let lo i64 (mul N (i64 4))) (for i i64 unroll lo (add (i64 4) lo) (i64 1))",
		"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) " +
			"(if (lt i (i64 3)) (then (set s (sub s a)))) (set s s))",
		"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce max s) (set s (max a s)))",
		"(alloc p f64 private (i64 4)) (for i i64 vector (i64 0) (i64 4) (i64 1) (store p i a))",
		"(for j i64 parallel (i64 0) N (i64 1) (threads 2) (collapse 2) (for i i64 parallel (i64 0) N (i64 1) " +
			"(threads 2) (for r i64 vector (i64 0) i (i64 1))))",
		grid + "(barrier block) (barrier warp) (barrier grid)))",
		grid + "(for r i64 serial b N (i64 1) (barrier block))))",
		grid + "(for r i64 serial (i64 0) (cast i64 (load c (i64 0))) (i64 1) (barrier block))))",
		"(for b i64 block.x (i64 0) N (i64 1) (alloc s f64 shared (i64 64)) (for r i64 serial (i64 0) N (i64 1)" +
			" (for t i64 thread.x (i64 0) (i64 32) (i64 1) (store s t (load u t))) (barrier block)))",
		"(for b i64 block.x (i64 0) N (i64 1) (store v b a))",
		"(for t i64 thread.x (i64 0) (i64 32) (i64 1) (store v t a))",
		grid + "(loads (x y) u (mul t (i64 2)) (via readonly)) (stores v (mul t (i64 2)) (y x) (via streaming)) " +
			"(let z f64 (load g t)) (loads (p q) h (mul t (i64 2)))))",
		grid + "(shuffle x i64 from t (i32 0)) (if (lt x (i64 32)) (then (shuffle y f64 up a (i32 1))))))",
		grid + "(shuffle x f64 up a (i32 1)) (if (lt t (i64 32)) (then (shuffle y f64 xor x (i32 1))))))",
		grid + "(let x i32 (cast i32 t)) (if (gt x (i32 31)) (then (shuffle y f64 up a (i32 1)))) " +
			"(if (le t (i64 63)) (then (barrier warp)))))",
		grid + "(let warp i64 (div t (i64 32))) (if (eq warp (i64 2)) " +
			"(then (barrier block (number 3) (threads 64)) (barrier warp)))))",
		"(for b i64 block.x (i64 0) N (i64 1) (for y i64 thread.y (i64 0) (i64 4) (i64 1) " +
			"(for t i64 thread.x (i64 0) (i64 32) (i64 1) (if (eq y (i64 1)) (then (shuffle x f64 down a (i32 1)))))))",
		grid + "(alloc p f64 private (i64 4)) (for r i64 unroll (i64 0) (i64 4) (i64 1) (let at i64 (sub (i64 3) r)) " +
			"(store p at (load u r)))))",
		grid + "(for r i64 serial (i64 0) N (i64 1) (if (lt r (sub N (i64 1))) (then (barrier grid))))))",
		grid + "(for r i64 serial (i64 0) N (i64 1) (if (lt t (i64 64)) " +
			"(then (barrier block (number 1) (threads 64)))))))",
		cluster + "(for q i64 serial (i64 0) b (i64 1) (if (lt q N) (then (barrier cluster)))))))",
		cluster + "(store s t a (rank (i32 1))) (mbarrier.arrive m (i64 0) (rank (i32 1))) (barrier cluster) " +
			"(let x f64 (load s t (rank (i32 1)))))))",
		cluster + "(if (eq b (i64 1)) (then (barrier cluster))) " +
			"(if (eq t (i64 0)) (then (mbarrier.init m (i64 0) (i32 1)) (mbarrier.arrive m (i64 0) (bytes (i32 64))) " +
			"(bulk s (i64 0) u b (i64 8) m (i64 0)))) (prefetch u t) (async s t u t 2) (async.commit) (async.wait 0) " +
			"(mbarrier.wait m (i64 0) (i32 1)))))",
		"(let x bool (and (gt a a) (eq (bool true) (ne n n)))) (let y i32 (call abs (rem n n)))",
	} {
		if got := verify(t, body); got != "" {
			t.Errorf("%s\n%s", body, got)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	tests := []struct{ body, want string }{
		// Names and scopes.
		{"(let N f64 a)", "k/let N: the name N is taken"},
		{"(let u f64 a)", "k/let u: the name u is taken"},
		{"(let x f64 a) (for i i64 serial N N N (let x f64 a))", "k/for i/let x: the name x is taken"},
		{"(for N i64 serial (i64 0) N (i64 1))", "k/for N: the name N is taken"},
		{"(let 2x f64 a)", `k/let 2x: "2x" is not a name`},
		{"(comment \"a\\nb\")", `k/comment: "a\nb" is not one line of text`},
		{"(comment \"a \\\\\")", `k/comment: "a \\" is not one line of text`},

		// Types.
		{"(let x f64 N)", "k/let x: the value is i64 where f64 is wanted"},
		{"(let x f64 a) (let x i64 x)", "k/let x#2: the value is f64 where i64 is wanted\n" +
			"k/let x#2: the name x is taken"},
		{"(var x i32 a)", "k/var x: the value is f64 where i32 is wanted"},
		{"(var x i32 n) (set x N)", "k/set x: the value is i64 where i32 is wanted"},
		{"(store v a a)", "k/store v: the index is f64"},
		{"(store v N N)", "k/store v: the value is i64 where f64 is wanted"},
		{"(let x f64 (load u (bool true)))", "k/let x: the index is bool"},
		{"(let x f64 (add a N))", "k/let x: add of f64 and i64"},
		{"(let x u8 (add (u8 1) (u8 2)))", "k/let x: add of u8 and u8"},
		{"(let x f64 (rem a a))", "k/let x: rem of f64 and f64"},
		{"(let x f64 (and a a))", "k/let x: and of f64 and f64"},
		{"(let x i64 (land N N))", "k/let x: land of i64 and i64"},
		{"(let x f64 (lt a a))", "k/let x: the value is bool where f64 is wanted"},
		{"(let x bool (not N))", "k/let x: not of i64"},
		{"(let x bool (neg (bool true)))", "k/let x: neg of bool"},
		{"(let x f64 (select a a a))", "k/let x: the condition of a select is f64 where bool is wanted"},
		{"(let x f64 (select (bool true) a N))", "k/let x: select of f64 and i64"},
		{"(let x f64 (call sqrt a a))", "k/let x: sqrt of 2 arguments"},
		{"(let x f64 (call pow a N))", "k/let x: pow of f64 and i64"},
		{"(let x i64 (call abs N))", "k/let x: abs of i64"},
		{"(let x i32 (call sqrt n))", "k/let x: sqrt of i32"},
		{"(let x f64 (random f64 n N))", "k/let x: the seed is i32 where i64 is wanted"},
		{"(let x i32 (random i32 N N))", "k/let x: a random i32"},
		{"(let x i64 (phase u 12))",
			"k/let x: the phase of u counts from multiples of 12 bytes, and its elements have 8"},
		{"(if N)", "k/if: the condition is i64 where bool is wanted"},
		{"(for i f64 serial a a a)", "k/for i: the loop's variable is f64"},
		{"(for i i64 serial n a N)", "k/for i: the lower bound is i32 where i64 is wanted\n" +
			"k/for i: the upper bound is f64 where i64 is wanted"},

		// What may be assigned, loaded and stored.
		{"(set N N)", "k/set N: N is an argument and is assigned to"},
		{"(let x i64 N) (set x N)", "k/set x: x is a value that is named once and is assigned to"},
		{"(for i i64 serial (i64 0) N (i64 1) (set i N))", "k/for i/set i: i is a loop's variable and is assigned to"},
		{"(store u N a)", "k/store u: u is only read and is stored to"},
		{"(store c N n)", "k/store c: c is only read and is stored to"},
		{"(let x f64 (load v N))", "k/let x: v is only written and is loaded from"},
		{"(var x f64 a) (for i i64 parallel (i64 0) N (i64 1) (set x a))",
			"k/for i/set x: x is shared by the iterations of the parallel loop over i"},
		{"(var x f64 a) (for i i64 vector (i64 0) N (i64 1) (for r i64 serial N N N (set x a)))",
			"k/for i/for r/set x: x is shared by the iterations of the vector loop over i"},
		{"(var x f64 a) " + grid + "(set x a)))",
			"k/for b/for t/set x: x is shared by the iterations of the block.x loop over b\n" +
				"k/for b/for t/set x: x is shared by the iterations of the thread.x loop over t"},

		// Loops.
		{"(for i i64 serial (i64 0) N (i64 0))", "k/for i: the step is 0"},
		{"(for i i64 unroll (i64 0) N (i64 1))", "k/for i: an unroll loop has no literal trip count"},
		{"(for i i64 unroll (i64 0) (i64 4) N)", "k/for i: an unroll loop has no literal trip count"},
		{"(var x i64 N) (for i i64 serial (i64 0) x (i64 1) (set x i))",
			"k/for i: a bound reads x, which the loop changes"},
		{"(for i i64 serial (i64 0) (cast i64 (load w N)) (i64 1))", "k/for i: a bound reads w, which may change"},
		{"(for i i64 vector (i64 0) N (i64 1) (for j i64 vector (i64 0) N (i64 1)))",
			"k/for i/for j: a vector loop in the vector loop over i"},
		{"(for i i64 vector (i64 0) N (i64 1) (for j i64 parallel (i64 0) N (i64 1)))",
			"k/for i/for j: a parallel loop in the vector loop over i"},
		{"(for i i64 parallel (i64 0) N (i64 1) (for j i64 parallel (i64 0) N (i64 1)))",
			"k/for i/for j: a parallel loop in the parallel loop over i"},
		{"(for i i64 serial (i64 0) N (i64 1) (threads 2))", "k/for i: a team is given to a serial loop"},
		{"(for i i64 parallel (i64 0) N (i64 1) (threads -2))", "k/for i: a team of -2 threads"},
		{"(for i i64 vector (i64 0) N (i64 1) (collapse 2))", "k/for i: 2 loops cannot be collapsed here"},
		{"(for i i64 parallel (i64 0) N (i64 1) (collapse 2) (let x i64 i) (for j i64 parallel (i64 0) N (i64 1)))",
			"k/for i: 2 loops are collapsed and 1 are nested perfectly"},
		{"(for i i64 parallel (i64 0) N (i64 1) (collapse 2) (for j i64 parallel (i64 0) i (i64 1)))",
			"k/for i: the bounds of the collapsed loop over j read i"},
		{"(for i i64 serial (i64 0) N (i64 1) (for j i64 block.x (i64 0) N (i64 1)))",
			"k/for i/for j: a block.x loop in the serial loop over i"},
		{"(if (bool true) (then (for j i64 block.x (i64 0) N (i64 1))))",
			"k/if/then/for j: a block.x loop under a condition"},
		{"(for j i64 block.x (i64 0) N (i64 1)) (for j i64 block.x (i64 0) N (i64 1))",
			"k/for j: there is more than one block.x loop\nk/for j#2: there is more than one block.x loop"},
		{grid + "(for y i64 block.y (i64 0) N (i64 1))))",
			"k/for b/for t/for y: a block.y loop in the thread.x loop over t"},
		{grid + "(for y i64 thread.x (i64 0) N (i64 1))))",
			"k/for b/for t/for y: a thread.x loop in a thread.x loop, that over t"},
		{grid + "(for y i64 vector (i64 0) N (i64 1))))",
			"k/for b/for t/for y: a vector loop in a kernel of threads and blocks"},
		{"(for i i64 parallel (i64 0) N (i64 1) (for t i64 thread.x (i64 0) N (i64 1)))",
			"k/for i: a parallel loop in a kernel of threads and blocks\n" +
				"k/for i/for t: a thread.x loop in the parallel loop over i"},
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) b (i64 1)))",
			"k/for b/for t: the bounds of a thread.x loop have to be known before the launch"},
		{"(for b i64 block.x (i64 0) (cast i64 (load c N)) (i64 1))",
			"k/for b: the bounds of a block.x loop have to be known before the launch"},

		// Reductions.
		{"(for i i64 serial (i64 0) N (i64 1) (reduce add N))",
			"k/for i: only a vector loop reduces\nk/for i: the loop reduces into N, which is no variable in scope"},
		{"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce mul s))", "k/for i: the loop reduces by mul"},
		{"(var s bool (bool true)) (for i i64 vector (i64 0) N (i64 1) (reduce min s))",
			"k/for i: the loop reduces a bool by min"},
		{"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (mul s a)))",
			"k/for i/set s: s is reduced by the loop over i and has to be set to add of itself and a value"},
		{"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (sub a s)))",
			"k/for i/set s: s is reduced by the loop over i and has to be set to add of itself and a value"},
		{"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (add s s)))",
			"k/for i/set s: s is reduced by the loop over i and has to be set to add of itself and a value"},
		{"(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (store v i s))",
			"k/for i/store v: s is reduced by the loop over i and is read in it"},

		// Memory.
		{"(alloc p f64 private N)", "k/alloc p: p is private and its size is not a literal"},
		{"(alloc p f64 private (i64 0))", "k/alloc p: p has 0 cells"},
		{"(alloc p f64 global (i64 4))", "k/alloc p: p is in global memory, which a kernel cannot make"},
		{"(alloc s f64 shared (i64 4))",
			"k/alloc s: s is shared by a block and is not made between the block loops and the thread loops"},
		{grid + "(alloc s f64 shared (i64 4))))", "k/for b/for t/alloc s: " +
			"s is shared by a block and is not made between the block loops and the thread loops"},
		{"(for b i64 block.x (i64 0) N (i64 1) (alloc s f64 shared b) (for t i64 thread.x (i64 0) N (i64 1)))",
			"k/for b/alloc s: s is shared and its size is not a literal"},
		{"(alloc p f64 private (i64 4)) (for i i64 parallel (i64 0) N (i64 1) (store p i a))",
			"k/for i/store p: p is private and shared by the iterations of the parallel loop over i"},
		{grid + ") (store v N a))", "k/for b/store v: all threads store to v: there is no thread loop around it"},
		{grid + ")) (store v N a)", "k/store v: all threads store to v: there is no thread loop around it\n" +
			"k/store v: all blocks store to v: there is no block loop around it"},

		// Wide accesses, ways to memory, registers.
		{"(loads (x y z) u (i64 0))", "k/loads u: an access to 3 elements at once, not to 2, 4 or 8"},
		{"(loads (x) u (i64 0))", "k/loads u: an access to 1 elements at once, not to 2, 4 or 8"},
		{"(loads (x y p q) u (i64 0))",
			"k/loads u: an access to 4 elements of u at once is one of 32 bytes, more than 16"},
		{"(loads (x y) u (i64 3))", "k/loads u: an access to 2 elements at 3, which is no multiple of 2"},
		{"(loads (x y) v (i64 0))", "k/loads v: v is only written and is loaded from"},
		{"(loads (x x) u (i64 0))", "k/loads u: the name x is taken"},
		{"(stores v (i64 0) (a N))", "k/stores v: a value is i64 where f64 is wanted"},
		{"(stores u (i64 0) (a a))", "k/stores u: u is only read and is stored to"},
		{"(stores v a (a a))", "k/stores v: the index is f64"},
		{"(alloc p f64 private (i64 2)) (stores p (i64 0) (a a))",
			"k/stores p: p is private and has no elements that one access could take"},
		{"(if (bool true) (then (loads (x y) u (i64 0)))) (let z f64 (add a a)) (loads (x z) u (i64 0))",
			"k/loads u: the name z is taken"},
		{"(let x f64 (load w N (via readonly)))", "k/let x: w may be written and is loaded via readonly"},
		{"(let x i32 (load c N (via resident)))", "k/let x: c is in constant memory, to which no way is resident"},
		{"(let x f64 (load h N))", "k/let x: the elements of h are loaded by 2, not by 1"},
		{"(loads (x y) g N)", "k/loads g: the elements of g are loaded by 1, not by 2"},
		{"(let x f64 (load g N (via readonly)))", "k/let x: g is in image memory, to which no way is readonly"},
		{grid + "(store g t a)))", "k/for b/for t/store g: g is only read and is stored to"},
		{"(store v N a (via readonly))", "k/store v: a store via readonly"},
		{"(store v N a (rank n))", "k/store v: v is in global memory, which no block has a copy of\n" +
			"k/store v: there is no cluster loop around an access to another block's v"},
		{grid + "(alloc p f64 private (i64 2)) (store p (rem t (i64 2)) a)))",
			"k/for b/for t/store p: p is in registers and its index is not a constant once loops are unrolled"},

		// Shuffles.
		{"(shuffle x f64 up a (i32 1))", "k/shuffle x: a shuffle outside the thread loops"},
		{grid + "(shuffle x f64 up N (i32 1))))", "k/for b/for t/shuffle x: the value is i64 where f64 is wanted"},
		{grid + "(shuffle x f64 up a (i64 1))))", "k/for b/for t/shuffle x: the lane is i64 where i32 is wanted"},
		{grid + "(if (lt t (i64 8)) (then (shuffle x f64 up a (i32 1))))))",
			"k/for b/for t/if/then/shuffle x: not all threads of a warp may come to this shuffle: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(if (gt t (i64 32)) (then (shuffle x f64 up a (i32 1))))))",
			"k/for b/for t/if/then/shuffle x: not all threads of a warp may come to this shuffle: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(let y i64 (add t (i64 1))) (if (lt y (i64 32)) (then (barrier warp)))))",
			"k/for b/for t/if/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 1) (i64 65) (i64 1) " +
			"(if (lt t (i64 32)) (then (barrier warp)))))",
			"k/for b/for t/if/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(shuffle x i64 from t (i32 1)) (if (lt x (i64 32)) (then (shuffle y f64 up a (i32 1))))))",
			"k/for b/for t/if/then/shuffle y: not all threads of a warp may come to this shuffle: " +
				"a condition or trip count around it varies by thread"},
		{"(for b i64 block.x (i64 0) N (i64 1) (for y i64 thread.y (i64 0) (i64 4) (i64 1) " +
			"(for t i64 thread.x (i64 0) (i64 16) (i64 1) (if (eq y (i64 1)) (then (shuffle x f64 down a (i32 1)))))))",
			"k/for b/for y/for t/if/then/shuffle x: not all threads of a warp may come to this shuffle: " +
				"a condition or trip count around it varies by thread"},

		// Clusters, mbarriers and copies.
		{"(for r i64 cluster.x (i64 0) N (i64 1))",
			"k/for r: the trip count of a cluster.x loop is no literal from 1 to 16"},
		{"(for r i64 cluster.x (i64 0) (i64 8) (i64 1) (for q i64 cluster.y (i64 0) (i64 4) (i64 1)))",
			"k/for r/for q: the trip count of a cluster.y loop is no literal from 1 to 16"},
		{"(for t i64 thread.x (i64 0) (i64 8) (i64 1) (for q i64 cluster.y (i64 0) (i64 4) (i64 1)))",
			"k/for t/for q: a cluster.y loop in the thread.x loop over t"},
		{"(for r i64 cluster.x (i64 0) (i64 2) (i64 1) (for b i64 block.x (i64 0) N (i64 1)))",
			"k/for r/for b: a block.x loop in the cluster.x loop over r"},
		{"(if (lt a a) (then (for r i64 cluster.x (i64 0) (i64 2) (i64 1))))",
			"k/if/then/for r: a cluster.x loop under a condition"},
		{cluster + "(store s t a (rank N)))))", "k/for b/for r/for t/store s: the rank is i64 where i32 is wanted"},
		{cluster + "(store m t N))))", "k/for b/for r/for t/store m: m holds mbarriers and is stored to"},
		{cluster + "(let x i64 (load m t)))))", "k/for b/for r/for t/let x: m holds mbarriers and is loaded from"},
		{cluster + "(mbarrier.wait s t n))))", "k/for b/for r/for t/mbarrier.wait s: s holds no mbarriers"},
		{cluster + "(mbarrier.wait m t (i32 2)))))", "k/for b/for r/for t/mbarrier.wait m: the parity is 2"},
		{cluster + "(mbarrier.init m t (i32 0)))))", "k/for b/for r/for t/mbarrier.init m: an mbarrier for 0 arrivals"},
		{cluster + "(mbarrier.arrive m t (bytes N)))))",
			"k/for b/for r/for t/mbarrier.arrive m: the number of bytes is i64 where i32 is wanted"},
		{cluster + "(prefetch s t))))", "k/for b/for r/for t/prefetch s: a prefetch from shared memory"},
		{cluster + "(async s t u t 4))))", "k/for b/for r/for t/async s: a copy of 32 bytes, not of 4, 8 or 16"},
		{cluster + "(async s t c t 2))))", "k/for b/for r/for t/async s: a copy from i32 to f64\n" +
			"k/for b/for r/for t/async s: a copy from constant to shared memory, not from global to shared"},
		{cluster + "(async.wait -1))))", "k/for b/for r/for t/async.wait: a wait for all but -1 groups"},
		{cluster + "(bulk w t u t a m t))))",
			"k/for b/for r/for t/bulk w: a copy from global to global memory, not from global to shared\n" +
				"k/for b/for r/for t/bulk w: the number of elements is f64"},
		{"(async.commit)", "k/async.commit: there is no thread loop around it"},
		{"(async.fence)", "k/async.fence: there is no thread loop around it"},
		{"(alloc m i64 mbarrier (i64 1))",
			"k/alloc m: m is shared by a block and is not made between the block loops and the thread loops"},
		{"(for b i64 block.x (i64 0) N (i64 1) (alloc m i32 mbarrier (i64 1)) (for t i64 thread.x (i64 0) N (i64 1)))",
			"k/for b/alloc m: m holds mbarriers and is of i32, not of i64"},

		// Flags.
		{grid + "(flag.set u t (i32 1))))",
			"k/for b/for t/flag.set u: u is global of f64, and flags are inout global of i32"},
		{grid + "(flag.wait d t N)))", "k/for b/for t/flag.wait d: the value is i64 where i32 is wanted"},
		{grid + "(flag.wait d t (i32 1)) (let x i32 (load d t))))",
			"k/for b/for t/let x: d holds flags and is loaded from"},
		{grid + "(flag.set d t (i32 1)) (store d t (i32 1))))",
			"k/for b/for t/store d: d holds flags and is stored to"},
		{"(flag.wait d N (i32 1))", "k/flag.wait d: there are no loops over threads and blocks around it"},
		{cluster + "(flag.wait d t (i32 1)))))",
			"k/for b/for r/for t/flag.wait d: a kernel with clusters has no flags"},

		// Barriers.
		{cluster + "(if (eq r (i64 0)) (then (barrier cluster))))))",
			"k/for b/for r/for t/if/then/barrier: not all blocks of a cluster may come to this barrier: " +
				"a condition or trip count around it varies"},
		{cluster + "(if (eq b (i64 0)) (then (barrier grid))))))",
			"k/for b/for r/for t/if/then/barrier: not all blocks may come to this barrier: " +
				"a condition or trip count around it varies"},
		{grid + "(barrier cluster)))", "k/for b/for t/barrier: there are no clusters to wait for"},
		{grid + "(barrier warp (number 1) (threads 32))))", "k/for b/for t/barrier: a warp barrier has no number"},
		{grid + "(barrier block (number 16) (threads 32))))",
			"k/for b/for t/barrier: the barrier's number is 16, not 1 to 15"},
		{grid + "(barrier block (number 1) (threads 40))))",
			"k/for b/for t/barrier: a barrier for 40 threads, which are no warps of 32"},
		{grid + "(if (lt t (i64 20)) (then (barrier block (number 1) (threads 32))))))",
			"k/for b/for t/if/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(if (lt t (i64 32)) (then (barrier block)))))",
			"k/for b/for t/if/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{"(barrier block)", "k/barrier: there are no threads to wait for"},
		{"(for i i64 vector (i64 0) N (i64 1) (barrier block))",
			"k/for i/barrier: a barrier in the vector loop over i"},
		{grid + "(if (lt t N) (then (barrier block)))))", "k/for b/for t/if/then/barrier: " +
			"not all threads may come to this barrier: a condition or trip count around it varies by thread"},
		{grid + "(for r i64 serial t N (i64 1) (barrier warp))))", "k/for b/for t/for r/barrier: " +
			"not all threads may come to this barrier: a condition or trip count around it varies by thread"},
		{grid + "(var x i64 N) (if (lt t N) (then (set x b))) (if (lt x N) (then (barrier block)))))",
			"k/for b/for t/if#2/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(alloc p f64 private (i64 1)) (if (lt a (load p (i64 0))) (else (barrier block)))))",
			"k/for b/for t/if/else/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
		{grid + "(if (lt b N) (then (barrier grid)))))", "k/for b/for t/if/then/barrier: " +
			"not all blocks may come to this barrier: a condition or trip count around it varies"},
		{grid + "(var x i64 N) (for r i64 serial (i64 0) N (i64 1) (if (lt x N) (then (barrier block))) " +
			"(if (lt t N) (then (set x r))))))",
			"k/for b/for t/for r/if/then/barrier: not all threads may come to this barrier: " +
				"a condition or trip count around it varies by thread"},
	}
	for _, test := range tests {
		if got := verify(t, test.body); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.body, got, test.want)
		}
	}
}

// What no text can say.
func TestVerifyRefusesGraphs(t *testing.T) {
	u := &kernel.Buffer{Name: "u", Elem: types.F64, Mode: kernel.InOut, Cells: kernel.I(4)}
	x := kernel.NewVar("x", types.F64)
	one := kernel.L(op.Float(types.F64, 1))
	twice := &kernel.Let{Var: x, Value: one}
	tests := []struct {
		k    *kernel.Kernel
		want string
	}{
		{&kernel.Kernel{}, `: "" is not a name`},
		{&kernel.Kernel{Name: "k", Doc: []string{"a\nb"}}, `k: "a\nb" is not one line of text`},
		{&kernel.Kernel{Name: "k", Body: []kernel.Stmt{&kernel.Let{Var: x}}}, "k/let x: an expression is missing"},
		{&kernel.Kernel{Name: "k", Body: []kernel.Stmt{&kernel.Assign{Var: x, Value: one}}},
			"k/set x: x is not in scope"},
		{&kernel.Kernel{
			Name: "k", Body: []kernel.Stmt{&kernel.Let{Var: kernel.NewVar("y", types.F64), Value: kernel.V(x)}},
		}, "k/let y: x is not in scope"},
		{&kernel.Kernel{Name: "k", Body: []kernel.Stmt{&kernel.Store{Buffer: u, Index: kernel.I(0), Value: one}}},
			"k/store u: the buffer u is not in scope"},
		{&kernel.Kernel{Name: "k", Body: []kernel.Stmt{&kernel.If{
			Cond: kernel.L(op.BoolOf(true)), Then: []kernel.Stmt{twice}, Else: []kernel.Stmt{twice},
		}}}, "k/if/else/let x: x is declared twice"},
		{&kernel.Kernel{
			Name: "k", Body: []kernel.Stmt{&kernel.Let{Var: kernel.NewVar("y", types.Invalid), Value: one}},
		}, "k/let y: the value is f64 where invalid is wanted\nk/let y: y has no type"},
		{&kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{
			{Name: "s", Elem: types.F64, Space: kernel.Shared, Cells: kernel.I(1)},
		}}, "k: the argument s is in shared memory"},
		{&kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{
			{Name: "s", Elem: types.F64, Space: kernel.Constant, Mode: kernel.Out, Cells: kernel.I(1)},
		}}, "k: s is in constant memory and may be written"},
		{parse(t, "(kernel k (buffer s f64 image out (i64 2) (texel 1)))"),
			"k: s is in image memory and may be written"},
		{parse(t, "(kernel k (buffer s f64 image in (i64 2)))"), "k: the texels of s have 0 elements, not 1, 2 or 4"},
		{parse(t, "(kernel k (buffer s f64 image in (i64 8) (texel 4)))"),
			"k: the texels of s have 32 bytes, more than 16"},
		{parse(t, "(kernel k (buffer s f64 global in (i64 8) (texel 4)))"),
			"k: s is in global memory, which has no texels"},
		{&kernel.Kernel{
			Name: "k", Buffers: []*kernel.Buffer{{Name: "s", Cells: &kernel.Load{Buffer: u, Index: kernel.I(0)}}},
		}, "k: s has no element type\nk: the buffer u is not in scope\nk: the size of s is f64 where i64 is wanted\n" +
			"k: the size of s reads memory"},
		{&kernel.Kernel{Name: "k", Body: []kernel.Stmt{&kernel.Alloc{Buffer: &kernel.Buffer{
			Name: "p", Elem: types.F64, Space: kernel.Private, Cells: kernel.I(1),
		}}}}, "k/alloc p: p is made here and has the mode in"},
	}
	for _, test := range tests {
		err := kernel.Verify(test.k)
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v\nwant %s", err, test.want)
		}
	}
}

func TestCheckInterior(t *testing.T) {
	loop := func(body string) string {
		return signature + "(let edge i64 (sub N (i64 1))) (for j i64 serial (i64 0) N (i64 1) " +
			"(for i i64 vector interior (i64 1) edge (i64 1) " + body + ")))"
	}
	threads := func(body string) string {
		return signature + grid +
			"(let warp i64 (div t (i64 32))) (for i i64 serial interior (i64 1) N (i64 1) " + body + "))))"
	}
	tests := []struct{ text, want string }{
		{loop("(store v (add (mul j N) i) (load u (add (mul j N) (sub i (i64 1)))))"), ""},
		{loop("(store v i (select (lt (load u i) a) a (load u i)))"), ""},
		// A position in the source's mathematics is cast to i32.
		{loop("(store v i (select (lt (cast i32 i) n) a (load u i)))"), ""},
		// A tile's bounds may be compared: they are not inside.
		{loop("(store v i (select (lt j edge) a (load u i)))"), ""},
		{loop("(if (eq (rem (add i j) (i64 2)) (i64 1)) (then (store v i a)))"), ""},
		{loop("(let color i64 (rem i (i64 3))) (store v i " +
			"(select (land (eq color (i64 0)) (eq (rem j (i64 2)) (i64 1))) a (load u i)))"), ""},
		{loop("(if (eq i (i64 1)) (then (store v i a)))"), "k/for j/for i/if: a condition in an interior loop"},
		{loop("(if (lt i N) (then (store v i a)))"), "k/for j/for i/if: a condition in an interior loop"},
		{loop("(store v i (select (lt i edge) (load u i) a))"),
			"k/for j/for i/store v: a select on a position in an interior loop"},
		{loop("(let ok bool (lt (add i (i64 1)) N)) (let x f64 (select (lor ok (lt a a)) (load u i) a))"),
			"k/for j/for i/let x: a select on a position in an interior loop"},
		{loop("(let at i64 (add i j)) (store v (max at (i64 0)) a)"),
			"k/for j/for i/store v: an index is limited by max in an interior loop"},
		{loop("(let x f64 (load u (select (lt (load u i) a) i N)))"),
			"k/for j/for i/let x: an index is chosen by a select in an interior loop"},
		{loop("(var x f64 a) (for r i64 serial (i64 0) (i64 3) (i64 1) (set x (select (eq r (i64 1)) a x)))"),
			"k/for j/for i/for r/set x: a select on a position in an interior loop"},
		{loop("(loads (x y) u (min i (i64 4))) (stores v (mul i (i64 2)) (x y))"),
			"k/for j/for i/loads u: an index is limited by min in an interior loop"},
		{loop("(stores v (max (mul i (i64 2)) (i64 0)) (a a))"),
			"k/for j/for i/stores v: an index is limited by max in an interior loop"},
		{loop("(stores v (mul i (i64 2)) (a (select (lt i edge) a (load u i))))"),
			"k/for j/for i/stores v: a select on a position in an interior loop"},
		{threads("(if (eq warp (i64 1)) (then (store v t a)))"), ""},
		{threads("(if (lt t (i64 8)) (then (store v t a)))"), ""},
		{threads("(if (lt b (i64 8)) (then (store v t a)))"),
			"k/for b/for t/for i/if: a condition in an interior loop"},
		{threads("(if (lt (add t i) (i64 8)) (then (store v t a)))"),
			"k/for b/for t/for i/if: a condition in an interior loop"},
		{strings.Replace(threads("(if (lt t (i64 8)) (then (store v t a)))"), "thread.x", "thread.x interior", 1),
			"k/for b/for t/for i/if: a condition in an interior loop"},
		{strings.Replace(loop("(if (lt i N) (then (store v i (select (lt i edge) (load u (min i edge)) a))))"),
			"interior ", "edge ", 1), ""},
	}
	for _, test := range tests {
		k := parse(t, test.text)
		if err := kernel.Verify(k); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := kernel.CheckInterior(k); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.text, got, test.want)
		}
	}
}

func TestTrips(t *testing.T) {
	tests := []struct {
		lo, hi, step string
		want         int64
		known        bool
	}{
		{"(i64 0)", "(i64 0)", "(i64 1)", 0, true},
		{"(i64 5)", "(i64 2)", "N", 0, true},
		{"(i64 0)", "(i64 7)", "(i64 3)", 3, true},
		{"(i64 0)", "(i64 6)", "(i64 3)", 2, true},
		{"(mul N (i64 4))", "(add (mul (i64 2) N) (add (mul N (i64 2)) (i64 3)))", "(i64 1)", 3, true},
		{"(sub N (neg N))", "(mul N (i64 2))", "(i64 1)", 0, true},
		{"(i64 0)", "N", "(i64 1)", 0, false},
		{"(i64 0)", "(i64 4)", "N", 0, false},
		{"(max N (i64 3))", "(add (i64 1) (max N (i64 3)))", "(i64 1)", 1, true},
		{"(max N (i64 3))", "(max N (i64 4))", "(i64 1)", 0, false},
	}
	for _, test := range tests {
		k := parse(t, "(kernel k (scalar N i64) (for i i64 serial "+test.lo+" "+test.hi+" "+test.step+"))")
		got, known := kernel.Trips(k.Body[0].(*kernel.Loop))
		if got != test.want || known != test.known {
			t.Errorf("%s to %s by %s: %d %v, want %d %v",
				test.lo, test.hi, test.step, got, known, test.want, test.known)
		}
	}
}
