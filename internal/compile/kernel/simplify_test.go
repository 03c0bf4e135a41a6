package kernel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"pgregory.net/rapid"
)

// run applies the first pass of that name to a kernel with that body and
// checks what comes out.
func run(t *testing.T, pass, before, after string) {
	t.Helper()
	k := parse(t, signature+before+")")
	if err := kernel.Verify(k); err != nil {
		t.Errorf("before: %v", err)
		return
	}
	text := kernel.Text(k)
	want := kernel.Text(parse(t, signature+after+")"))
	var got *kernel.Kernel
	for _, p := range kernel.Passes {
		if p.Name == pass {
			got = p.Run(k, nil)
			break
		}
	}
	if err := kernel.Verify(got); err != nil {
		t.Errorf("after: %v", err)
	}
	if kernel.Text(got) != want {
		t.Errorf("%s of\n%s\n gives\n%s\n where is wanted\n%s", pass, before, kernel.Text(got), want)
	}
	if kernel.Text(k) != text {
		t.Errorf("%s changes its argument:\n%s", pass, kernel.Text(k))
	}
}

func TestFold(t *testing.T) {
	run(t, "constants", `(store w N (mul (call sqrt (f64 4)) (f64 3)))`, `(store w N (f64 6))`)
	run(t, "constants", `(store w (add (add (i64 2) N) (i64 -2)) (add a (f64 0)))`, `(store w N (add a (f64 0)))`)
	// Devices differ in the last places of exp.
	run(t, "constants", `(store w N (call exp (add (f64 1) (f64 2))))`, `(store w N (call exp (f64 3)))`)
	run(t, "constants", `(if (lt (i64 2) (i64 1)) (then (store w N a)))`, `(if (bool false) (then (store w N a)))`)
	run(t, "constants",
		`(for i i64 serial (mul (i64 2) (i64 3)) N (i64 1) (store w i (select (bool true) a (load u i))))`,
		`(for i i64 serial (i64 6) N (i64 1) (store w i a))`)
}

func TestFoldLimits(t *testing.T) {
	index := func(before, after string) {
		t.Helper()
		run(t, "constants", "(store w "+before+" a)", "(store w "+after+" a)")
	}
	index(`(sub (mul (add N (i64 1)) (i64 2)) (add (add N (i64 1)) N))`, `(i64 1)`)
	index(`(min (min N (i64 5)) (i64 3))`, `(min N (i64 3))`)
	index(`(max (i64 2) (max (i64 1) N))`, `(max N (i64 2))`)
	index(`(min (max N (i64 4)) (i64 4))`, `(i64 4)`)
	index(`(max (min (i64 4) N) (i64 9))`, `(i64 9)`)
	index(`(max (min N (i64 9)) (i64 4))`, `(max (min N (i64 9)) (i64 4))`)
	index(`(select (lt N (i64 3)) (select (lt N (i64 3)) N (i64 7)) (select (lt N (i64 3)) (i64 8) (i64 9)))`,
		`(select (lt N (i64 3)) N (i64 9))`)
	index(`(select (not (lt N (i64 3))) N (i64 9))`, `(select (ge N (i64 3)) N (i64 9))`)
	test := func(before, after string) {
		t.Helper()
		run(t, "constants", "(if "+before+" (then (store w N a)))", "(if "+after+" (then (store w N a)))")
	}
	test(`(select (lt N (i64 3)) (bool true) (bool false))`, `(lt N (i64 3))`)
	test(`(select (lt N (i64 3)) (bool false) (bool true))`, `(ge N (i64 3))`)
	test(`(not (not (eq N (i64 3))))`, `(eq N (i64 3))`)
	// The negation of a comparison of floats holds for NaN.
	test(`(not (lt a (f64 3)))`, `(not (lt a (f64 3)))`)
	run(t, "constants", `(store w N (max (max a (f64 1)) (f64 2)))`, `(store w N (max (max a (f64 1)) (f64 2)))`)
}

func TestCopies(t *testing.T) {
	run(t, "copies", `(let m i64 N) (let k i64 m) (store w (add k m) a)`, `(store w (add N N) a)`)
	run(t, "copies", `(let zero i64 (i64 0)) (let x i64 (add N zero)) (store w x a)`, `(store w N a)`)
	// A variable that nothing assigns to is a name for its first value.
	run(t, "copies", `(var x f64 a) (store w N x)`, `(store w N a)`)
	run(t, "copies", `(var x f64 (load u N)) (store w N x)`, `(let x f64 (load u N)) (store w N x)`)
	// One that changes must be read where it was.
	run(t, "copies", `(var x f64 a) (let y f64 x) (set x (f64 1)) (store w N y)`,
		`(var x f64 a) (let y f64 x) (set x (f64 1)) (store w N y)`)
	run(t, "copies", `(for i i64 serial (i64 0) N (i64 1) (let j i64 i) (store w j (load u j)))`,
		`(for i i64 serial (i64 0) N (i64 1) (store w i (load u i)))`)
	run(t, "copies",
		`(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (add s a))) (store w N s)`,
		`(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (add s a))) (store w N s)`)
}

func TestBranches(t *testing.T) {
	run(t, "branches", `(if (bool true) (then (store w N a)) (else (comment "no")))`, `(store w N a)`)
	run(t, "branches", `(if (bool false) (then (store w N a)))`, ``)
	run(t, "branches", `(if (lt N (i64 2)) (then (if (bool false) (then (comment "a")) (else (comment "b")))))`,
		`(if (lt N (i64 2)) (then (comment "b")))`)
	// Lists that are joined may use a name twice.
	run(t, "branches",
		`(if (bool true) (then (let x f64 (load u N)) (store w N x))) (if (bool true) (then (let x f64 a) (store w N x))) (for x i64 serial N N N (store w x a))`,
		`(let x f64 (load u N)) (store w N x) (let x_2 f64 a) (store w N x_2) (for x_3 i64 serial N N N (store w x_3 a))`)
	run(t, "branches",
		`(if (bool true) (then (alloc p f64 private (i64 1)) (store p (i64 0) a) (store w N (load p (i64 0))))) (if (lt N N) (then (alloc p f64 private (i64 2)) (store p (i64 1) a) (store w N (load p (i64 1)))))`,
		`(alloc p f64 private (i64 1)) (store p (i64 0) a) (store w N (load p (i64 0))) (if (lt N N) (then (alloc p_2 f64 private (i64 2)) (store p_2 (i64 1) a) (store w N (load p_2 (i64 1)))))`)
}

func TestTripsPass(t *testing.T) {
	run(t, "trips", `(for i i64 serial (i64 3) (i64 3) (i64 1) (store w i a))`, ``)
	run(t, "trips", `(for i i64 vector N (add N (i64 2)) (i64 2) (store w i a))`, `(let i i64 N) (store w i a)`)
	run(t, "trips", `(for i i64 serial (i64 0) N (i64 1) (store w i a))`,
		`(for i i64 serial (i64 0) N (i64 1) (store w i a))`)
	run(t, "trips",
		`(for i i64 unroll (i64 0) (i64 2) (i64 1) (for j i32 serial (i32 0) (i32 1) (i32 5) (store w i (load u j))))`,
		`(for i i64 unroll (i64 0) (i64 2) (i64 1) (let j i32 (i32 0)) (store w i (load u j)))`)
	run(t, "trips",
		`(for i i64 serial (i64 0) (i64 1) (i64 1) (store w i a)) (for i i64 serial (i64 0) N (i64 1) (store w i a))`,
		`(let i i64 (i64 0)) (store w i a) (for i_2 i64 serial (i64 0) N (i64 1) (store w i_2 a))`)
	run(t, "trips",
		`(var s f64 a) (for i i64 vector (i64 0) (i64 1) (i64 1) (reduce add s) (set s (add s a))) (store w N s)`,
		`(var s f64 a) (let i i64 (i64 0)) (set s (add s a)) (store w N s)`)
	// Loops that are collapsed go together or not at all.
	run(t, "trips", `(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) (i64 1) (i64 1) (store w j a)))`,
		`(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) (i64 1) (i64 1) (store w j a)))`)
	run(t, "trips", `(for j i64 parallel N (add N (i64 1)) (i64 1) (collapse 2) (for i i64 parallel (i64 0) (i64 1) (i64 1) (store w j (load u i))))`,
		`(let j i64 N) (let i i64 (i64 0)) (store w j (load u i))`)
	run(t, "trips", `(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 1) (i64 1) (i64 1) (store w j a)))`, ``)
	// The loops of a launch stay.
	run(t, "trips",
		`(for b i64 block.x (i64 0) (i64 1) (i64 1) (for t i64 thread.x (i64 0) (i64 0) (i64 1) (store w t a)))`,
		`(for b i64 block.x (i64 0) (i64 1) (i64 1) (for t i64 thread.x (i64 0) (i64 0) (i64 1) (store w t a)))`)
}

func TestHoist(t *testing.T) {
	nest := func(body string) string {
		return `(for k i64 parallel (i64 0) N (i64 1) (for j i64 serial (i64 0) N (i64 1) (for i i64 vector (i64 1) N (i64 1) ` + body + `)))`
	}
	// Index arithmetic goes as far out as it can.
	run(t, "hoist", nest(`(store w (add (mul (add (mul k N) j) N) i) (load u (add (mul (add (mul k N) (add j (i64 1))) N) (sub i (i64 1)))))`),
		`(for k i64 parallel (i64 0) N (i64 1)
		   (let base i64 (mul k N))
		   (for j i64 serial (i64 0) N (i64 1)
		     (let row i64 (mul (add base j) N))
		     (let row_jp1 i64 (mul (add (add base j) (i64 1)) N))
		     (for i i64 vector (i64 1) N (i64 1)
		       (store w (add row i) (load u (sub (add row_jp1 i) (i64 1)))))))`)
	// Sums are regrouped for it.
	run(t, "hoist", nest(`(store w (add (add i (mul j N)) (mul k (mul N N))) a)`),
		`(let base i64 (mul N N))
		 (for k i64 parallel (i64 0) N (i64 1)
		   (let base_2 i64 (mul k base))
		   (for j i64 serial (i64 0) N (i64 1)
		     (let row i64 (add base_2 (mul j N)))
		     (for i i64 vector (i64 1) N (i64 1)
		       (store w (add row i) a))))`)
	// A sum or difference of two terms has no need of a name.
	run(t, "hoist", nest(`(if (lt i (sub N (i64 1))) (then (store w (add i j) a)))`),
		nest(`(if (lt i (sub N (i64 1))) (then (store w (add i j) a)))`))
	// Names that a loop's values have move with them.
	run(t, "hoist", `(for j i64 serial (i64 0) N (i64 1) (for i i64 serial (i64 0) N (i64 1) (let plane i64 (add N N)) (let low bool (lt j plane)) (if low (then (store w i a)))))`,
		`(let plane i64 (add N N)) (for j i64 serial (i64 0) N (i64 1) (let low bool (lt j plane)) (for i i64 serial (i64 0) N (i64 1) (if low (then (store w i a)))))`)
	// From under a condition too, if that saves more than sums.
	run(t, "hoist", `(for i i64 serial (i64 0) N (i64 1) (if (lt i (i64 3)) (then (let twice i64 (add N N)) (let square i64 (mul twice N)) (store w square a))))`,
		`(for i i64 serial (i64 0) N (i64 1) (if (lt i (i64 3)) (then (let twice i64 (add N N)) (let square i64 (mul twice N)) (store w square a))))`)
	run(t, "hoist", `(for i i64 serial (i64 0) N (i64 1) (if (lt i (i64 3)) (then (let square i64 (mul N N)) (store w (add square i) a))))`,
		`(let square i64 (mul N N)) (for i i64 serial (i64 0) N (i64 1) (if (lt i (i64 3)) (then (store w (add square i) a))))`)
	// Two loops may have had the same name for it.
	run(t, "hoist", `(for j i64 serial (i64 0) N (i64 1) (let q i64 (mul N N)) (store w j (load u q))) (for j i64 serial (i64 0) N (i64 1) (let q i64 (add N N)) (store w j (load u q)))`,
		`(let q i64 (mul N N))
		 (let u_q f64 (select (lt (i64 0) N) (load u q) (f64 0)))
		 (for j i64 serial (i64 0) N (i64 1) (store w j u_q))
		 (let q_2 i64 (add N N))
		 (let u_q_2 f64 (select (lt (i64 0) N) (load u q_2) (f64 0)))
		 (for j i64 serial (i64 0) N (i64 1) (store w j u_q_2))`)
	// Loads from inputs are made once, and only if the loop runs.
	run(t, "hoist", nest(`(store w i (mul (load u j) (load u (i64 2))))`),
		`(let u_first f64 (select (land (lt (i64 0) N) (lt (i64 1) N)) (load u (i64 2)) (f64 0)))
		 (for k i64 parallel (i64 0) N (i64 1)
		   (for j i64 serial (i64 0) N (i64 1)
		     (let u_j f64 (select (lt (i64 1) N) (load u j) (f64 0)))
		     (for i i64 vector (i64 1) N (i64 1)
		       (store w i (mul u_j u_first)))))`)
	run(t, "hoist", `(for i i64 serial (i64 0) (i64 4) (i64 1) (store w i (load u N)))`,
		`(let u_N f64 (load u N)) (for i i64 serial (i64 0) (i64 4) (i64 1) (store w i u_N))`)
	// Not where only some iterations make them, nor from what the kernel writes.
	for _, body := range []string{
		`(for i i64 serial (i64 0) N (i64 1) (if (lt i N) (then (store w i (load u N)))))`,
		`(for i i64 serial (i64 0) N (i64 1) (store w i (select (lt i N) (load u N) a)))`,
		`(for i i64 serial (i64 0) N (i64 1) (for j i64 serial (i64 0) i (i64 1) (store w i (load w N))))`,
		`(var x i64 N) (for i i64 serial (i64 0) N (i64 1) (set x (add x i)) (store w i (load u (mul x x))))`,
		// Nothing leaves the loops of a launch.
		grid + `(store w t (load u (mul N b)))))`,
	} {
		run(t, "hoist", body, body)
	}
	// Collapsed loops are one.
	run(t, "hoist", `(for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) N (i64 1) (store w (add i (mul j N)) (load u (mul N N)))))`,
		`(let u_N f64 (select (lt (i64 0) N) (load u (mul N N)) (f64 0)))
		 (for j i64 parallel (i64 0) N (i64 1) (collapse 2) (for i i64 parallel (i64 0) N (i64 1) (store w (add i (mul j N)) u_N)))`)
}

func TestShare(t *testing.T) {
	run(t, "share", `(for i i64 vector (i64 1) N (i64 1) (store w (add n (cast i32 i)) (add (load u (add N i)) (load u (sub (add i N) (i64 1))))))`,
		`(for i i64 vector (i64 1) N (i64 1)
		   (let at i64 (add N i))
		   (store w (add n (cast i32 i)) (add (load u at) (load u (sub at (i64 1))))))`)
	// A name that there is serves.
	run(t, "share", `(let at i64 (mul N N)) (store w (mul N N) (load u (add (mul N N) (i64 2))))`,
		`(let at i64 (mul N N)) (store w at (load u (add at (i64 2))))`)
	// The largest first; what is left of it next.
	run(t, "share", `(store w (add (mul N N) N) (load u (add (mul N N) N))) (store w (mul N N) a)`,
		`(let at i64 (mul N N)) (let at_2 i64 (add at N)) (store w at_2 (load u at_2)) (store w at a)`)
	// Both sides of a condition share what stands before it.
	run(t, "share", `(comment "first") (if (lt N (i64 3)) (then (store w (mul N N) a)) (else (let x i64 (mul N N)) (store w x (load u x))))`,
		`(comment "first") (let at i64 (mul N N)) (if (lt N (i64 3)) (then (store w at a)) (else (let x i64 at) (store w x (load u x))))`)
	// What is declared inside is shared inside; what changes is not shared.
	run(t, "share", `(for i i64 serial (i64 0) N (i64 1) (store w (mul i N) a)) (for i i64 serial (i64 0) N (i64 1) (store w (mul i N) a))`,
		`(for i i64 serial (i64 0) N (i64 1) (store w (mul i N) a)) (for i i64 serial (i64 0) N (i64 1) (store w (mul i N) a))`)
	run(t, "share", `(var x i64 N) (store w (mul x N) a) (set x (i64 1)) (store w (mul x N) a)`,
		`(var x i64 N) (store w (mul x N) a) (set x (i64 1)) (store w (mul x N) a)`)
	run(t, "share", `(store w (mul N (cast i64 (load c N))) a) (store w (mul N (cast i64 (load c N))) a)`,
		`(store w (mul N (cast i64 (load c N))) a) (store w (mul N (cast i64 (load c N))) a)`)
	// A sum whose terms cancel is a number, which others are not computed from.
	zero := `(store w (sub (add N N) (mul N (i64 2))) a) (store w (i64 0) a) (store w (i64 1) a)`
	run(t, "share", zero, zero)
	// Floating-point arithmetic is left alone.
	run(t, "share", `(store w N (add (mul a a) (mul a a)))`, `(store w N (add (mul a a) (mul a a)))`)
}

func TestStrides(t *testing.T) {
	nest := func(body string) string {
		return `(for k i64 serial (i64 0) N (i64 1) (for j i64 serial (i64 0) N (i64 1) ` + body + `))`
	}
	run(t, "strides", nest(`
		(let row i64 (mul (add (mul k N) j) N))
		(let row_jp1 i64 (mul (add (mul k N) (add j (i64 1))) N))
		(let row_km2 i64 (mul (add (mul (sub k (i64 2)) N) j) N))
		(for i i64 vector (i64 0) N (i64 1) (store w (add row i) (add (load u (add row_jp1 i)) (load u (add row_km2 i)))))`),
		`(let plane i64 (mul N N))`+nest(`
		(let row i64 (mul (add (mul k N) j) N))
		(let row_jp1 i64 (add row N))
		(let row_km2 i64 (sub row (mul plane (i64 2))))
		(for i i64 vector (i64 0) N (i64 1) (store w (add row i) (add (load u (add row_jp1 i)) (load u (add row_km2 i)))))`))
	// A name that only one index needs is seen through.
	run(t, "strides", nest(`
		(let at i64 (add (mul (add (mul k N) j) N) (i64 3)))
		(let row_kp1 i64 (mul (add (mul (add k (i64 1)) N) j) N))
		(store w at (load u (add row_kp1 (i64 3))))`),
		`(let plane i64 (mul N N))`+nest(`
		(let at i64 (add (mul (add (mul k N) j) N) (i64 3)))
		(let row_kp1 i64 (sub (add at plane) (i64 3)))
		(store w at (load u (add at plane)))`))
	// A product that has a name is not named again.
	run(t, "strides", `(let size i64 (mul N N)) `+
		nest(`(let x i64 (mul (mul k N) N)) (let y i64 (mul N (mul N (add k (i64 1))))) (store w x (load u y))`),
		`(let size i64 (mul N N)) `+
			nest(`(let x i64 (mul (mul k N) N)) (let y i64 (add x size)) (store w x (load u y))`))
	// What differs by more than sizes, or reads what changes, is left alone.
	for _, body := range []string{
		nest(`(let x i64 (mul k N)) (let y i64 (mul j N)) (store w x (load u y))`),
		`(var z i64 N) (for k i64 serial (i64 0) N (i64 1) (let x i64 (mul z N)) (set z (add z (i64 1))) (let y i64 (mul z N)) (store w x (load u y)))`,
		nest(`(let x i64 (mul (cast i64 (load c k)) N)) (let y i64 (mul (add (cast i64 (load c k)) (i64 1)) N)) (store w x (load u y))`),
	} {
		run(t, "strides", body, body)
	}
}

func TestSingle(t *testing.T) {
	run(t, "single", `(let x i64 (add N (i64 2))) (let y i64 (mul x N)) (if (lt y (i64 8)) (then (let z i64 (add y y)) (store w z a)))`,
		`(let y i64 (mul (add N (i64 2)) N)) (if (lt y (i64 8)) (then (let z i64 (add y y)) (store w z a)))`)
	for _, body := range []string{
		`(let x i64 (add N (i64 2))) (store w x a)`,                                                            // no name needs it
		`(let x i64 (add N (i64 2))) (for i i64 serial (i64 0) N (i64 1) (let y i64 (mul x i)) (store w y a))`, // would go into the loop
		`(let x i64 (cast i64 (load c N))) (store w N a) (let y i64 (mul x N)) (store w y (load u y))`,
		`(var z i64 N) (let x i64 (add z N)) (set z (i64 3)) (let y i64 (mul x N)) (store w y (load u z))`,
	} {
		run(t, "single", body, body)
	}
}

func TestCarry(t *testing.T) {
	threads := func(body string) string {
		return `(for b i64 block.x (i64 0) N (i64 1) (for i i64 thread.x (i64 0) (i64 32) (i64 1) ` + body + `))`
	}
	run(t, "carry", threads(`
		(let lo i64 (mul b (i64 8)))
		(for k i64 serial lo (add lo (i64 8)) (i64 1)
		  (let at i64 (add (mul (add (mul k N) b) N) i))
		  (store w at (load u (add at (i64 1)))))`),
		`(let plane i64 (mul N N))`+threads(`
		(let lo i64 (mul b (i64 8)))
		(var at i64 (add (mul (add (mul lo N) b) N) i))
		(for k i64 serial lo (add lo (i64 8)) (i64 1)
		  (store w at (load u (add at (i64 1))))
		  (set at (add at plane)))`))
	// What is near to a product that is carried is computed from it.
	run(t, "carry", threads(`
		(for k i64 serial (i64 1) N (i64 1)
		  (let at i64 (add (mul (add (mul k N) b) N) i))
		  (let at_jp1 i64 (add at N))
		  (store w at (load u at_jp1)))`),
		`(let plane i64 (mul N N))`+threads(`
		(var at i64 (add (mul (add N b) N) i))
		(for k i64 serial (i64 1) N (i64 1)
		  (let at_jp1 i64 (add at N))
		  (store w at (load u at_jp1))
		  (set at (add at plane)))`))
	// Steps of more than one, names within names, under a condition.
	run(t, "carry", threads(`
		(for k i64 serial (i64 1) N (i64 2)
		  (let base i64 (mul b k))
		  (if (lt i (i64 7)) (then
		    (let at i64 (mul (add base i) (i64 3)))
		    (store w at a))))`),
		threads(`
		(let at_step i64 (mul b (i64 6)))
		(var at i64 (mul (add b i) (i64 3)))
		(for k i64 serial (i64 1) N (i64 2)
		  (let base i64 (mul b k))
		  (if (lt i (i64 7)) (then
		    (store w at a)))
		  (set at (add at at_step)))`))
	for _, body := range []string{
		threads(`(for k i64 serial (i64 0) N (i64 1) (let at i64 (add (mul (mul k k) N) i)) (store w at a))`), // no line
		threads(`(for k i64 serial (i64 0) N (i64 1) (let at i64 (add (add k b) i)) (store w at a))`),         // no product
		threads(`(for k i64 serial (i64 0) N (i64 1) (let q i64 (cast i64 (load c k))) (let at i64 (add (mul (mul k q) N) i)) (store w at a))`),
		threads(`(for k i64 serial (i64 0) N (i64 1) (let at i64 (add (mul (add k b) N) i)) (if (lt at N) (then (store w at a))))`), // decides
		// What varies, and does not show in the first value.
		threads(`(for k i64 serial b N (i64 1) (var q i64 (i64 1)) (set q (add q k)) (let at i64 (add (mul (mul (sub k b) q) N) i)) (store w at a))`),
		threads(`(var q i64 (i64 1)) (for k i64 serial b N (i64 1) (let at i64 (add (mul (mul (sub k b) q) N) i)) (store w at a) (set q (add q k)))`),
		`(for k i64 parallel (i64 0) N (i64 1) (let at i64 (add (mul (add k N) N) (i64 3))) (store w at a))`,
	} {
		run(t, "carry", body, body)
	}
}

func TestDead(t *testing.T) {
	run(t, "dead", `(let x f64 (load u N)) (var y f64 a) (set y x) (store w N a)`, `(store w N a)`)
	run(t, "dead", `(let x f64 (load u N)) (var y f64 a) (set y x) (store w N y)`,
		`(let x f64 (load u N)) (var y f64 a) (set y x) (store w N y)`)
	// What only serves itself.
	run(t, "dead", `(var x f64 a) (var y f64 a) (for i i64 serial (i64 0) N (i64 1) (set x y) (set y x))`, ``)
	run(t, "dead", `(alloc p f64 private (i64 2)) (store p (i64 0) a) (alloc q f64 private (i64 2)) (store q (i64 0) a) (store w N (load q (i64 0)))`,
		`(alloc q f64 private (i64 2)) (store q (i64 0) a) (store w N (load q (i64 0)))`)
	run(t, "dead", `(let low bool (lt N N)) (if low (then (comment "nothing"))) (for i i64 parallel (i64 0) N (i64 1) (collapse 2) (for j i64 parallel (i64 0) N (i64 1) (let x f64 a)))`, ``)
	run(t, "dead", `(if (lt N N) (else (store w N a)))`, `(if (lt N N) (else (store w N a)))`)
	run(t, "dead", `(var s f64 a) (for i i64 vector (i64 0) N (i64 1) (reduce add s) (set s (add s a)) (store w i a))`,
		`(for i i64 vector (i64 0) N (i64 1) (store w i a))`)
	run(t, "dead", grid+`(let x f64 a) (barrier block)))`, grid+`(barrier block)))`)
	run(t, "dead", `(for t i64 thread.x (i64 0) N (i64 1))`, `(for t i64 thread.x (i64 0) N (i64 1))`)
}

func TestTidyNames(t *testing.T) {
	k := parse(t, `(kernel k
	  (buffer u f64 global in (mul N N))
	  (buffer u f32 global out N)
	  (scalar N i64)
	  (scalar u i64)
	  (scalar N i32)
	  (let u i64 (add u (cast i64 N)))
	  (for u i64 serial (i64 0) u (i64 1)
	    (alloc N f32 private (i64 1))
	    (store N (i64 0) (f32 1))
	    (store u u (load N (i64 0))))
	  (var x f64 (f64 1))
	  (for x i64 vector (i64 0) u (i64 1) (reduce add x)
	    (let x_2 i64 x)))`)
	want := parse(t, `(kernel k
	  (buffer u f64 global in (mul N_2 N_2))
	  (buffer u_2 f32 global out N_2)
	  (scalar N i64)
	  (scalar u_3 i64)
	  (scalar N_2 i32)
	  (let u_4 i64 (add u_3 (cast i64 N_2)))
	  (for u_5 i64 serial (i64 0) u_4 (i64 1)
	    (alloc N_3 f32 private (i64 1))
	    (store N_3 (i64 0) (f32 1))
	    (store u_2 u_5 (load N_3 (i64 0))))
	  (var x f64 (f64 1))
	  (for x_2 i64 vector (i64 0) u_4 (i64 1) (reduce add x)
	    (let x_3 i64 x_2)))`)
	if got := kernel.Text(kernel.TidyNames(k)); got != kernel.Text(want) {
		t.Errorf("got\n%s", got)
	}
}

// asked asks for all passes where nothing is known.
var asked = kernel.Asked{Indexing: true}

func TestSimplify(t *testing.T) {
	k := parse(t, signature+`
	  (let one i64 (i64 1))
	  (var unused f64 (f64 0))
	  (for b i64 serial (i64 0) one (i64 4)
	    (for j i64 parallel (i64 0) N (i64 1)
	      (if (lt b (i64 1))
	        (then
	          (for i i64 vector (i64 0) N (i64 1)
	            (store w (add (mul j N) i) (add (load u (add (mul j N) i)) (load u (add (mul j N) (add i one)))))))))))`)
	want := parse(t, signature+`
	  (for j i64 parallel (i64 0) N (i64 1)
	    (let row i64 (mul j N))
	    (for i i64 vector (i64 0) N (i64 1)
	      (let at i64 (add row i))
	      (store w at (add (load u at) (load u (add at (i64 1))))))))`)
	got := kernel.Apply(k, asked, nil)
	if kernel.Text(got) != kernel.Text(want) {
		t.Errorf("got\n%s", kernel.Text(got))
	}
	if again := kernel.Apply(got, asked, nil); kernel.Text(again) != kernel.Text(got) {
		t.Errorf("again\n%s", kernel.Text(again))
	}
}

// Every pass leaves a kernel that verifies, and its argument as it was.
func TestPassesKeepKernelsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		for _, p := range kernel.Passes {
			before := kernel.Text(k)
			next := p.Run(k, nil)
			if err := kernel.Verify(next); err != nil {
				t.Fatalf("%s: %v\n%s\nof\n%s", p.Name, err, kernel.Text(next), before)
			}
			if kernel.Text(k) != before {
				t.Fatalf("%s changes its argument\n%s", p.Name, before)
			}
			k = next
		}
	})
}
