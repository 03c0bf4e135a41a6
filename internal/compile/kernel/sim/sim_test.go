package sim_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// signature is what the bodies in the tests below may use. The tests give N
// the value 64, u the values 0, 1, 2, ... and leave v and w unwritten, each of
// N cells.
const signature = `(kernel k
  (buffer u f64 global in N)
  (buffer v f64 global out N)
  (buffer w f64 global inout N)
  (scalar N i64)
`

const size = 64

// block opens loops over one block of 64 threads, two warps.
const block = "(for b i64 block.x (i64 0) (i64 1) (i64 1) (alloc s f64 shared (i64 64)) " +
	"(for t i64 thread.x (i64 0) (i64 64) (i64 1) "

// blocks opens loops over two blocks of 32 threads; at is a thread's number.
const blocks = "(for b i64 block.x (i64 0) (i64 2) (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1) " +
	"(let at i64 (add (mul b (i64 32)) t)) "

type result struct {
	*sim.Report
	u, v, w *sim.Memory
}

func exec(t *testing.T, body string, opts sim.Options) result {
	t.Helper()
	k, err := kernel.ParseText(signature + body + ")")
	if err != nil {
		t.Fatal(err)
	}
	r := result{u: sim.New(types.F64, size), v: sim.New(types.F64, size), w: sim.New(types.F64, size)}
	for i := range size {
		r.u.Set(i, op.Float(types.F64, float64(i)))
	}
	r.Report, err = sim.Run(k,
		sim.Args{Buffers: []*sim.Memory{r.u, r.v, r.w}, Scalars: []op.Value{op.Int(types.I64, size)}}, opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name, body string
		want       string // the faults, one a line
	}{
		{"nothing wrong", `(for i i64 serial (i64 0) N (i64 1) (store v i (load u i)))`, ""},

		{"load beyond the end", `(for i i64 serial (i64 62) N (i64 1) (store v i (load u (add i (i64 1)))))`,
			"k/for i/store v: loads u[64], which has 64 cells (i=63)"},
		{"load before the start, in lanes", `(for j i64 serial (i64 3) (i64 4) (i64 1) (for i i64 vector (i64 0) N (i64 1) (store v i (load u (sub i j)))))`,
			"k/for j/for i/store v: loads u[-3], which has 64 cells (j=3 i=0), 3 times"},
		{"store beyond the end", `(for i i64 parallel (i64 0) (i64 66) (i64 1) (store v i (f64 1)))`,
			"k/for i/store v: stores to v[64], which has 64 cells (i=64), 2 times"},
		{"store by a thread", blocks + `(store v (add at (i64 1)) (f64 1))))`,
			"k/for b/for t/store v: stores to v[64], which has 64 cells (thread 31,0,0 of block 1,0,0)"},
		{"a guard keeps a load from being made", `(for i i64 vector (i64 0) N (i64 1) (store v i (select (lt i (i64 63)) (load u (add i (i64 1))) (f64 0))))`, ""},
		{"logic does not", `(for i i64 vector (i64 0) N (i64 1) (if (land (lt i (i64 63)) (lt (load u (add i (i64 1))) (f64 5))) (then (store v i (f64 1)))))`,
			"k/for i/if: loads u[64], which has 64 cells (i=63)"},

		{"load from an argument that nothing has written", `(store v (i64 0) (load w (i64 5)))`,
			"k/store v: loads w[5], which nothing has written"},
		{"load of what the kernel has written", `(store w (i64 5) (f64 1)) (store v (i64 0) (load w (i64 5)))`, ""},
		{"load from shared memory",
			block + `(store s t (f64 1)) (barrier block) (store v t (load s (sub (i64 63) t)))))`, ""},
		{"load from shared memory that is not full", block +
			`(if (lt t (i64 8)) (then (store s t (f64 1)))) (barrier block) (store v t (load s (sub (i64 63) t)))))`,
			"k/for b/for t/store v: loads s[63], which nothing has written (thread 0,0,0 of block 0,0,0), 56 times"},
		{"shared memory of the block before", "(for b i64 block.x (i64 0) (i64 2) (i64 1) " +
			"(alloc s f64 shared (i64 1)) (for t i64 thread.x (i64 0) (i64 1) (i64 1) " +
			`(if (eq b (i64 0)) (then (store s (i64 0) (f64 1)))) (store v b (load s (i64 0)))))`,
			"k/for b/for t/store v: loads s[0], which nothing has written (thread 0,0,0 of block 1,0,0)"},
		{"private memory of the iteration before", `(for i i64 serial (i64 0) (i64 2) (i64 1) (alloc p f64 private (i64 1)) (if (eq i (i64 0)) (then (store p (i64 0) (f64 1)))) (store v i (load p (i64 0))))`,
			"k/for i/store v: loads p[0], which nothing has written (i=1)"},
		{"private memory of another thread", blocks + `(alloc p f64 private (i64 2)) (if (eq t (i64 3)) (then (store p (i64 1) (f64 1)))) (store v at (load p (i64 1)))))`,
			"k/for b/for t/store v: loads p[1], which nothing has written (thread 0,0,0 of block 0,0,0), 62 times"},
		{"private memory beyond its end",
			blocks + `(alloc p f64 private (i64 2)) (if (eq t (i64 31)) (then (store p (i64 2) (f64 1))))))`,
			"k/for b/for t/if/then/store p: stores to p[2], which has 2 cells (thread 31,0,0 of block 0,0,0), 2 times"},

		{"two threads store to a cell", block + `(store v (div t (i64 2)) (f64 1))))`,
			"k/for b/for t/store v: stores to v[0] while thread 0,0,0 of block 0,0,0 stores at k/for b/for t/store v " +
				"(thread 1,0,0 of block 0,0,0), 32 times"},
		{"a neighbour's cell without a barrier", block + `(store s t (f64 1)) (store v t (load s (sub (i64 63) t)))))`,
			"k/for b/for t/store v: loads s[63], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store s: stores to s[32] while thread 31,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/store v (thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store v: loads s[31] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"a store after others have read", block + `(store s t (f64 1)) (barrier block) (let x f64 (load s (i64 9))) (if (eq t (i64 9)) (then (store s (i64 9) x)))))`,
			"k/for b/for t/if/then/store s: stores to s[9] while thread 0,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/let x (thread 9,0,0 of block 0,0,0)\n" +
				"k/for b/for t/let x: loads s[9] while thread 9,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/if/then/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"the same after a barrier", block + `(store s t (f64 1)) (barrier block) (let x f64 (load s (i64 9))) (barrier block) (if (eq t (i64 9)) (then (store s (i64 9) x)))))`, ""},
		{"a warp barrier parts a warp", block + `(store s t (f64 1)) (barrier warp) (store v t (load s (add (mul (div t (i64 32)) (i64 32)) (rem (add t (i64 1)) (i64 32)))))))`, ""},
		{"a warp barrier does not part warps", block +
			`(store s t (f64 1)) (barrier warp) (if (ge t (i64 32)) (then (store v t (load s (sub t (i64 32)))))) ))`,
			"k/for b/for t/if/then/store v: loads s[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store s (thread 32,0,0 of block 0,0,0), 32 times"},
		{"two blocks and one cell", blocks + `(if (eq t (i64 0)) (then (store v (i64 7) (f64 1))))))`,
			"k/for b/for t/if/then/store v: stores to v[7] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/if/then/store v (thread 0,0,0 of block 1,0,0)"},
		{"a block barrier does not part blocks",
			blocks + `(store w at (f64 1)) (barrier block) (if (eq b (i64 1)) (then (store v t (load w t))))))`,
			"k/for b/for t/if/then/store v: loads w[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store w (thread 0,0,0 of block 1,0,0), 32 times"},
		{"a grid barrier does",
			blocks + `(store w at (f64 1)) (barrier grid) (store v at (load w (sub (i64 63) at)))))`, ""},
		{"a thread loop after another, as by hand", "(for b i64 block.x (i64 0) (i64 1) (i64 1) " +
			"(alloc s f64 shared (i64 64)) (for r i64 serial (i64 0) (i64 3) (i64 1)" +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) (store s t (load u t))) (barrier block)" +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) (store v t (load s (sub (i64 63) t)))) (barrier block)))",
			""},
		{"iterations that are shared out",
			`(for i i64 parallel (i64 0) (i64 63) (i64 1) (store w i (f64 1)) (store w (add i (i64 1)) (f64 2)))`,
			"k/for i/store w: stores to w[1] while another iteration stores at k/for i/store w#2 (i=1), 62 times"},
		{"the iterations of collapsed loops", `(for j i64 parallel (i64 0) (i64 2) (i64 1) (collapse 2) (for i i64 parallel (i64 0) (i64 2) (i64 1) (store w i (f64 1))))`,
			"k/for j/for i/store w: stores to w[0] while another iteration stores at k/for j/for i/store w " +
				"(j=1 i=0), 2 times"},
		{"a loop after another", `(for i i64 parallel (i64 0) N (i64 1) (store w i (f64 1))) (for i i64 parallel (i64 0) N (i64 1) (store v i (load w (sub (i64 63) i))))`, ""},
		{"an iteration's own vector loops", `(for j i64 parallel (i64 0) (i64 1) (i64 1) (for i i64 vector (i64 0) N (i64 1) (store w i (f64 1))) (for i i64 vector (i64 0) N (i64 1) (store v i (load w (sub (i64 63) i)))))`, ""},
		{"the vector loops of two iterations", `(for j i64 parallel (i64 0) (i64 2) (i64 1) (for i i64 vector (i64 0) (i64 4) (i64 1) (store w i (f64 1))))`,
			"k/for j/for i/store w: stores to w[0] while another iteration stores at k/for j/for i/store w " +
				"(j=1 i=0), 4 times"},
		{"lanes of a vector loop", `(store w (i64 0) (f64 1)) (for i i64 vector (i64 1) N (i64 1) (store w i (add (load w (sub i (i64 1))) (f64 1))))`,
			"k/for i/store w: loads w[1], which nothing has written (i=2), 61 times\n" +
				"k/for i/store w: stores to w[1] while another iteration loads at k/for i/store w (i=1), 62 times"},
		{"lanes far apart", `(for i i64 vector (i64 0) (i64 40) (i64 1) (store w (rem i (i64 39)) (f64 1)))`,
			"k/for i/store w: stores to w[0] while another iteration stores at k/for i/store w (i=39)"},
		{"a private row that lanes fill and read", `(for j i64 parallel (i64 0) (i64 2) (i64 1) (alloc p f64 private (i64 64)) (for i i64 vector (i64 0) N (i64 1) (store p i (load u i)))` +
			` (for i i64 vector (i64 0) (i64 32) (i64 1) (store v (add (mul j (i64 32)) i) (load p (sub (i64 63) i)))))`, ""},
		{"a private row that lanes share", `(alloc p f64 private (i64 64)) (store p (i64 0) (f64 1)) (for i i64 vector (i64 0) (i64 3) (i64 1) (store p (i64 0) (load u i)))`,
			"k/for i/store p: stores to p[0] while another iteration stores at k/for i/store p (i=1), 2 times"},

		{"a barrier that some threads may not come to", block +
			`(let mine f64 (load w (i64 0))) (store w (i64 0) (f64 1)) (if (lt mine (f64 3)) (then (barrier block)))))`,
			"k/for b/for t/let mine: loads w[0], which nothing has written (thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/store w: stores to w[0] while thread 1,0,0 of block 0,0,0 loads " +
				"at k/for b/for t/let mine (thread 0,0,0 of block 0,0,0), 64 times\n" +
				"k/for b/for t/let mine: loads w[0] while thread 31,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/store w (thread 32,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/if/then/barrier: not all threads come to this barrier: " +
				"thread 0,0,0 of block 0,0,0 has ended (thread 32,0,0 of block 0,0,0)"},
		{"a load of two from an odd index", blocks + `(loads (p q) u (add at (i64 1))) (store v at (add p q))))`,
			"k/for b/for t/loads u: loads 2 elements of u from 1, which is no multiple of 2 " +
				"(thread 0,0,0 of block 0,0,0), 32 times\n" +
				"k/for b/for t/loads u: loads u[64] to [65], which has 64 cells (thread 31,0,0 of block 1,0,0)"},
		{"a store of two at an odd index", `(stores v (add N (i64 -3)) ((f64 1) (f64 2)))`,
			"k/stores v: stores to 2 elements of v from 61, which is no multiple of 2"},
		{"a store of two that another thread stores to",
			blocks + `(stores w (mul (div at (i64 3)) (i64 2)) ((f64 1) (f64 2)))))`,
			"k/for b/for t/stores w: stores to w[0] while thread 0,0,0 of block 0,0,0 stores " +
				"at k/for b/for t/stores w (thread 1,0,0 of block 0,0,0), 84 times"},
		{"a load of two of which one is written",
			`(store w (i64 4) (f64 1)) (loads (p q) w (i64 4)) (store v (i64 0) p)`,
			"k/loads w: loads w[5], which nothing has written"},
		{"a shuffle from beyond the warp", block + `(shuffle left f64 up (load u t) (i32 32))))`,
			"k/for b/for t/shuffle left: a shuffle by 32 in a warp of 32 threads " +
				"(thread 0,0,0 of block 0,0,0), 64 times"},
		{"a step that is not positive", `(for i i64 serial (i64 0) N (sub (i64 64) N) (store v i (f64 1)))`,
			"k/for i: the step is 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := exec(t, test.body, sim.Options{}).Err(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestFaultsInWords(t *testing.T) {
	r := exec(t, blocks+`(for r i64 serial (i64 0) (i64 3) (i64 1) (store v (add at (mul r (i64 1000))) (f64 1)))))`,
		sim.Options{})
	if len(r.Faults) != 1 {
		t.Fatal(r.Faults)
	}
	f := r.Faults[0]
	if f.Kind != sim.OutOfBounds || f.Path != "k/for b/for t/for r/store v" || f.Block != [3]int64{0, 0, 0} ||
		f.Thread != [3]int64{0, 0, 0} || f.Times != 128 {
		t.Errorf("%+v", f)
	}
	if want := "thread 0,0,0 of block 0,0,0, r=1"; f.Where != want {
		t.Errorf("at %q, want %q", f.Where, want)
	}
}

func TestLimits(t *testing.T) {
	body := blocks + `(store w at (f64 1)) (barrier grid) (store v at (load w (sub (i64 63) at)))))`
	r := exec(t, body, sim.Options{Resident: 2})
	if err := r.Err(); err != nil || r.Barriers != [4]int64{0, 0, 1, 0} {
		t.Errorf("%v, barriers %v", err, r.Barriers)
	}
	want := "k/for b/for t/barrier: a barrier of 2 blocks on a device that holds 1 at once"
	if err := exec(t, body, sim.Options{Resident: 1}).Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}

	body = `(for i i64 serial (i64 0) N (i64 1) (store v (add i (i64 64)) (f64 1)) (store v (add i (i64 65)) (f64 1)) (store v (add i (i64 66)) (f64 1)))`
	if r := exec(t, body, sim.Options{Faults: 2}); len(r.Faults) != 2 || r.Buffers[1].Stores != 2 {
		t.Errorf("%d faults after %d stores", len(r.Faults), r.Buffers[1].Stores)
	}

	want = "k/for i: the run is given up after 1000 instructions (i=497)"
	if err := exec(t, `(for i i64 serial (i64 0) (i64 1000000000000) (i64 1))`,
		sim.Options{Steps: 1000}).Err(); err == nil ||
		!strings.HasPrefix(err.Error(), "k/for i: the run is given up after 1000 instructions") {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCounts(t *testing.T) {
	// Four blocks of 16 threads, three of which have work at a point.
	r := exec(t, `
	  (for b i64 block.x (i64 0) (i64 4) (i64 1)
	    (alloc s f64 shared (i64 16))
	    (for t i64 thread.x (i64 0) (i64 16) (i64 1)
	      (let at i64 (add (mul b (i64 16)) t))
	      (store s t (load u at))
	      (barrier block)
	      (if (lt b (i64 3))
	        (then
	          (store v at (mul (add (load s t) (load s (sub (i64 15) t))) (call sqrt (f64 0.25)))))
	        (else
	          (store v at (select (lt t (i64 4)) (neg (load u at)) (max (load s t) (f64 0))))))))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	f64 := func(o op.Op) int64 { return r.Op(o, types.F64) }
	i64 := func(o op.Op) int64 { return r.Op(o, types.I64) }
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"loads from u", r.Buffers[0].Loads, 64 + 4},
		{"stores to v", r.Buffers[1].Stores, 64},
		{"bytes from global memory", r.Space(kernel.Global).LoadedBytes, 8 * 68},
		{"bytes to global memory", r.Space(kernel.Global).StoredBytes, 8 * 64},
		{"loads from shared memory", r.Space(kernel.Shared).Loads, 48*2 + 12},
		{"stores to shared memory", r.Space(kernel.Shared).Stores, 64},
		{"additions", f64(op.Add), 48},
		{"multiplications", f64(op.Mul), 48},
		{"maxima", f64(op.Max), 12},
		{"changes of sign", f64(op.Neg), 4},
		{"square roots", r.Func(op.Sqrt, types.F64), 48},
		{"flops", r.Flops(), 48 * 3},
		{"index multiplications", i64(op.Mul), 64},
		{"index additions", i64(op.Add), 64},
		{"index subtractions", i64(op.Sub), 48},
		{"comparisons", i64(op.Lt), 64 + 16},
		{"barriers", r.Barriers[kernel.BlockScope], 4},
	} {
		if c.got != c.want {
			t.Errorf("%d %s, want %d", c.got, c.what, c.want)
		}
	}
	if got := r.v.At(50).F; got != -50 {
		t.Errorf("v[50] is %v", got)
	}
	if got := r.v.At(3).F; got != (3+12)*0.5 {
		t.Errorf("v[3] is %v", got)
	}
}

func TestVectorsAndShuffles(t *testing.T) {
	r := exec(t, `
	  (for b i64 block.x (i64 0) (i64 1) (i64 1)
	    (alloc s f64 shared (i64 64))
	    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
	      (let at i64 (mul t (i64 2)))
	      (loads (p q) u at (via readonly))
	      (shuffle left f64 up q (i32 1))
	      (shuffle right f64 down p (i32 1))
	      (shuffle other f64 xor p (i32 16))
	      (shuffle first f64 from q (i32 0))
	      (stores s at ((add left q) (add p right)))
	      (barrier warp)
	      (loads (x y) s at)
	      (stores v at (x y) (via streaming))
	      (stores w at (other first))))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		lane := float64(i / 2)
		left, right := 2*lane-1, 2*lane+2
		if i < 2 {
			left = 1
		}
		if i > 61 {
			right = 62
		}
		v, w := left+2*lane+1, 2*float64((i/2)^16)
		if i%2 == 1 {
			v, w = 2*lane+right, 1
		}
		if r.v.At(i).F != v || r.w.At(i).F != w {
			t.Errorf("cell %d: %v and %v, not %v and %v", i, r.v.At(i).F, r.w.At(i).F, v, w)
		}
	}
	if got, want := r.Space(kernel.Global), (sim.Traffic{
		Loads: 32, Stores: 64, LoadedBytes: 512, StoredBytes: 1024,
		LoadedSectors: 16, LoadedLines: 4, StoredSectors: 32, StoredLines: 8,
	}); got != want {
		t.Errorf("global %+v, want %+v", got, want)
	}
	if got, want := r.Space(kernel.Shared),
		(sim.Traffic{Loads: 32, Stores: 32, LoadedBytes: 512, StoredBytes: 512, Wavefronts: 8}); got != want {
		t.Errorf("shared %+v, want %+v", got, want)
	}
	if r.Shuffles != 4*32 || r.Barriers != [4]int64{0, 1, 0, 0} {
		t.Errorf("%d shuffles, barriers %v", r.Shuffles, r.Barriers)
	}
}

// The threads that a warp does not have give a value that is loud.
func TestShuffleFromAThreadThatIsNotThere(t *testing.T) {
	r := exec(t, `
	  (for b i64 block.x (i64 0) (i64 1) (i64 1)
	    (for t i64 thread.x (i64 0) (i64 40) (i64 1)
	      (shuffle right f64 down (load u t) (i32 4))
	      (store v t right)))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]float64{0: 4, 27: 31, 28: 28, 32: 36, 35: 39, 36: math.NaN(), 39: math.NaN()} {
		if got := r.v.At(i).F; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("thread %d gets %v, not %v", i, got, want)
		}
	}
}

func TestReductions(t *testing.T) {
	r := exec(t, `
	  (var sum f64 (f64 1000))
	  (var least f64 (f64 500))
	  (var most i32 (i32 -7))
	  (for i i64 vector (i64 1) N (i64 2) (reduce add sum) (reduce min least) (reduce max most)
	    (set sum (add sum (load u i)))
	    (if (lt (i64 8) i) (then (set least (min (load u i) least))))
	    (set most (max most (cast i32 i))))
	  (store v (i64 0) sum)
	  (store v (i64 1) least)
	  (store v (i64 2) (cast f64 most))
	  (for i i64 vector (i64 0) (i64 0) (i64 1) (reduce add sum)
	    (set sum (add sum (f64 1))))
	  (store v (i64 3) sum)`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1000 + 32*32, 9, 63, 1000 + 32*32} {
		if got := r.v.At(i).F; got != want {
			t.Errorf("v[%d] is %v, want %v", i, got, want)
		}
	}
}

// A condition's operands may change in the side that is taken.
func TestConditionThatChanges(t *testing.T) {
	r := exec(t, `
	  (for i i64 vector (i64 0) N (i64 1)
	    (var even bool (eq (rem i (i64 2)) (i64 0)))
	    (if even
	      (then
	        (set even (bool false))
	        (store v i (f64 1)))
	      (else
	        (store v i (f64 2)))))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range size {
		if got, want := r.v.At(i).F, float64(1+i%2); got != want {
			t.Errorf("v[%d] is %v, want %v", i, got, want)
		}
	}
}

// Trip counts may differ from lane to lane.
func TestLanesLeaveLoopsOneByOne(t *testing.T) {
	r := exec(t, `
	  (for i i64 vector (i64 0) N (i64 1)
	    (var sum f64 (f64 0))
	    (for r i64 serial (rem i (i64 5)) (rem i (i64 7)) (i64 2)
	      (for q i32 serial (i32 0) (cast i32 r) (i32 1)
	        (set sum (add sum (f64 1)))))
	    (store v i sum))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for i := range size {
		want := 0
		for x := i % 5; x < i%7; x += 2 {
			want += x
		}
		total += int64(want)
		if got := r.v.At(i).F; got != float64(want) {
			t.Errorf("v[%d] is %v, want %v", i, got, want)
		}
	}
	if got := r.Flops(); got != total {
		t.Errorf("%d additions, want %d", got, total)
	}
}

// A launch of no blocks or threads does nothing; loops may start and step as
// they like.
func TestLaunchSizes(t *testing.T) {
	for _, body := range []string{
		`(for b i64 block.y N (i64 3) (i64 1) (for t i64 thread.x (i64 0) (i64 4) (i64 1) (store v t (f64 1))))`,
		`(for b i64 block.y (i64 0) (i64 3) (i64 1) (for t i64 thread.x (i64 0) (sub (i64 4) N) (i64 1) (store v t (f64 1))))`,
	} {
		if r := exec(t, body, sim.Options{}); r.Buffers[1].Stores != 0 || r.Err() != nil {
			t.Errorf("%d stores, %v", r.Buffers[1].Stores, r.Err())
		}
	}
	// 2 blocks in z, 2 threads in y, and 4 in x.
	r := exec(t, `
	  (let rows i64 (div N (i64 8)))
	  (for b i64 block.z (i64 0) (i64 16) (i64 8)
	    (for y i64 thread.y (i64 0) rows (i64 4)
	      (for t i64 thread.x N (add N (i64 4)) (i64 1)
	        (store v (add (add b y) (sub t N)) (cast f64 (add b y))))
	      (barrier block)
	      (for t i64 thread.x (i64 0) (i64 4) (i64 1)
	        (store w (add (mul y (i64 8)) (add b t)) (f64 1)))))`, sim.Options{})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if v, w := r.Buffers[1].Stores, r.Buffers[2].Stores; v != 2*2*4 || w != 2*2*4 {
		t.Errorf("%d and %d stores", v, w)
	}
	for i := range 16 {
		if got := r.v.At(i).F; got != float64(i-i%4) {
			t.Errorf("v[%d] is %v", i, got)
		}
	}
}

func TestArguments(t *testing.T) {
	k, err := kernel.ParseText(signature + `(store v (i64 0) (f64 1)))`)
	if err != nil {
		t.Fatal(err)
	}
	f := func(n int) *sim.Memory { return sim.New(types.F64, n) }
	n := op.Int(types.I64, size)
	same := f(size)
	tests := []struct {
		args sim.Args
		want string
	}{
		{sim.Args{}, "k takes 3 buffers and 1 scalars, not 0 and 0"},
		{sim.Args{Buffers: []*sim.Memory{f(64), f(64), f(64)}, Scalars: []op.Value{op.Int(types.I32, size)}},
			"k: the scalar N is i64, not i32"},
		{sim.Args{Buffers: []*sim.Memory{f(64), f(64), sim.New(types.F32, 64)}, Scalars: []op.Value{n}},
			"k: the buffer w is of f64, not f32"},
		{sim.Args{Buffers: []*sim.Memory{f(64), f(63), f(64)}, Scalars: []op.Value{n}},
			"k: the buffer v takes 64 cells, not 63"},
		{sim.Args{Buffers: []*sim.Memory{same, same, f(64)}, Scalars: []op.Value{n}},
			"k: u and v are the same memory, and one may be written"},
		{sim.Args{Buffers: []*sim.Memory{f(64), f(64), f(64)}, Scalars: []op.Value{op.Int(types.I64, -1)}},
			"k: the buffer u has -1 cells"},
	}
	for _, test := range tests {
		if _, err := sim.Run(k, test.args, sim.Options{}); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	k.Name = ""
	if _, err := sim.Run(k, sim.Args{}, sim.Options{}); err == nil {
		t.Error("a kernel that does not verify is run")
	}
	for body, want := range map[string]string{
		`(for b i64 block.x (i64 0) N (sub N N))`:              "kernel k: the step of b is 0",
		`(for b i64 thread.x (i64 0) (i64 100000) (i64 1))`:    "k: a block of 100000 by 1 by 1 threads",
		`(for b i64 block.x (i64 0) (i64 9000000000) (i64 1))`: "k: a launch of 9000000000 by 1 by 1 blocks",
	} {
		k, err := kernel.ParseText(signature + body + ")")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sim.Run(k, sim.Args{Buffers: []*sim.Memory{f(64), f(64), f(64)}, Scalars: []op.Value{n}},
			sim.Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, typ := range []types.Type{types.Bool, types.U8, types.I32, types.I64, types.F32, types.F64} {
		data := make([]byte, 4*typ.Size())
		m := sim.View(typ, data)
		if m.Len() != 4 || m.Elem() != typ || !m.Written(3) {
			t.Errorf("%v: %d cells of %v", typ, m.Len(), m.Elem())
		}
		v := op.Convert(typ, op.Int(types.I32, 1))
		m.Set(2, v)
		if !m.At(2).Same(v) || m.At(1).AsFloat() != 0 {
			t.Errorf("%v: %v %v", typ, m.At(1), m.At(2))
		}
		if fmt.Sprint(data) == fmt.Sprint(make([]byte, len(data))) {
			t.Errorf("%v: the bytes do not change", typ)
		}
		fresh := sim.New(typ, 2)
		fresh.Set(1, v)
		if fresh.Written(0) || !fresh.Written(1) {
			t.Errorf("%v: written %v %v", typ, fresh.Written(0), fresh.Written(1))
		}
	}
	if sim.New(types.F64, 0).Len() != 0 {
		t.Error("memory of no cells has some")
	}
}

// One kernel's output is the next one's input.
func TestMemoryLivesOn(t *testing.T) {
	half, err := kernel.ParseText(`(kernel half (buffer out f32 global out (i64 4)) (store out (i64 1) (f32 3)))`)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := kernel.ParseText(`(kernel sum (buffer in f32 global in (i64 4)) (buffer out f32 global out (i64 1)) (store out (i64 0) (add (load in (i64 1)) (load in (i64 2)))))`)
	if err != nil {
		t.Fatal(err)
	}
	m, out := sim.New(types.F32, 4), sim.New(types.F32, 1)
	if r, err := sim.Run(half, sim.Args{Buffers: []*sim.Memory{m}}, sim.Options{}); err != nil || r.Err() != nil {
		t.Fatal(err, r.Err())
	}
	r, err := sim.Run(sum, sim.Args{Buffers: []*sim.Memory{m, out}}, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "sum/store out: loads in[2], which nothing has written"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
