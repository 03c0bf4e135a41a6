package sim_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// heat is one step of the 7-point stencil on N^3 cells: in threads, 32 by 4
// to a block, or in the loops of a CPU.
var heat = map[string]string{
	"gpu": `
	  (for kb i64 block.z (i64 0) N (i64 1)
	    (for jb i64 block.y (i64 0) (div (add N (i64 3)) (i64 4)) (i64 1)
	      (for ib i64 block.x (i64 0) (div (add N (i64 31)) (i64 32)) (i64 1)
	        (for jt i64 thread.y (i64 0) (i64 4) (i64 1)
	          (for it i64 thread.x (i64 0) (i64 32) (i64 1)
	            (let j i64 (add (mul jb (i64 4)) jt))
	            (let i i64 (add (mul ib (i64 32)) it))
	            (let row i64 (mul (add (mul kb N) j) N))
	            (if (land (land (land (lt (i64 0) kb) (lt kb (sub N (i64 1)))) (land (lt (i64 0) j) (lt j (sub N (i64 1))))) (land (lt (i64 0) i) (lt i (sub N (i64 1)))))
	              (then
	                CELL)))))))`,
	"cpu": `
	  (for kb i64 parallel (i64 1) (sub N (i64 1)) (i64 1)
	    (for j i64 serial (i64 1) (sub N (i64 1)) (i64 1)
	      (let row i64 (mul (add (mul kb N) j) N))
	      (for i i64 vector interior (i64 1) (sub N (i64 1)) (i64 1)
	        CELL)))`,
}

const cell = `
  (let at i64 (add row i))
  (store v at (add (load u at) (mul a (sub (add (add (add (add (add
    (load u (add at (i64 1))) (load u (sub at (i64 1))))
    (load u (add at N))) (load u (sub at N)))
    (load u (add at (mul N N)))) (load u (sub at (mul N N))))
    (mul (f64 6) (load u at))))))`

func heatKernel(t testing.TB, name string) *kernel.Kernel {
	text := "(kernel heat (buffer u f64 global in (mul (mul N N) N)) (buffer v f64 global out (mul (mul N N) N)) " +
		"(scalar N i64) (scalar a f64)"
	before, after, _ := strings.Cut(heat[name], "CELL")
	k, err := kernel.ParseText(text + before + cell + after + ")")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func heatArgs(n int) sim.Args {
	u, v := sim.New(types.F64, n*n*n), sim.New(types.F64, n*n*n)
	for i := range u.Len() {
		u.Set(i, op.Random(types.F64, 1, int64(i)))
	}
	return sim.Args{
		Buffers: []*sim.Memory{u, v}, Scalars: []op.Value{op.Int(types.I64, int64(n)), op.Float(types.F64, 0.1)},
	}
}

func TestHeatIsTheSameOnGPUAndCPU(t *testing.T) {
	const n = 9
	var out []*sim.Memory
	for _, name := range []string{"gpu", "cpu"} {
		for _, k := range []*kernel.Kernel{
			heatKernel(t, name), kernel.Apply(heatKernel(t, name), kernel.Asked{Indexing: true}, nil),
		} {
			args := heatArgs(n)
			r, err := sim.Run(k, args, sim.Options{})
			if err == nil {
				err = r.Err()
			}
			if err != nil {
				t.Fatal(err)
			}
			cells := int64((n - 2) * (n - 2) * (n - 2))
			if r.Flops() != 9*cells || r.Buffers[0].Loads != 8*cells || r.Buffers[1].Stores != cells {
				t.Errorf("%s: %d flops, %d loads, %d stores of %d cells",
					name, r.Flops(), r.Buffers[0].Loads, r.Buffers[1].Stores, cells)
			}
			out = append(out, args.Buffers[1])
		}
	}
	for i := range out[0].Len() {
		for _, m := range out[1:] {
			if m.Written(i) != out[0].Written(i) || !m.At(i).Same(out[0].At(i)) {
				t.Fatalf("cell %d differs", i)
			}
		}
	}
}

func BenchmarkHeat(b *testing.B) {
	for _, name := range []string{"gpu", "cpu"} {
		b.Run(name, func(b *testing.B) {
			k := heatKernel(b, name)
			args := heatArgs(64)
			var work int64
			for b.Loop() {
				r, err := sim.Run(k, args, sim.Options{})
				if err != nil {
					b.Fatal(err)
				}
				work += laneOps(r)
			}
			b.ReportMetric(float64(work)/b.Elapsed().Seconds()/1e6, "Mlaneops/s")
		})
	}
}

// BenchmarkPairs runs kernels whose warps meet in pairs, and a resident one.
func BenchmarkPairs(b *testing.B) {
	for name, x := range map[string]kerneltest.Extent{
		"handover": {N: 128, M: 128, Steps: 3}, "faces": {N: 8, M: 256, Steps: 32}, "bulk": {N: 512, M: 64, Steps: 1},
		"resident": {N: 64, M: 128, Steps: 8},
	} {
		b.Run(name, func(b *testing.B) {
			e := kerneltest.Find(name)
			k := e.Kernel()
			var work int64
			for b.Loop() {
				r, _ := advance(b, e, k, x, 0)
				if err := r.Err(); err != nil {
					b.Fatal(err)
				}
				work += laneOps(r)
			}
			b.ReportMetric(float64(work)/b.Elapsed().Seconds()/1e6, "Mlaneops/s")
		})
	}
}

// laneOps is the operations and accesses of all threads.
func laneOps(r *sim.Report) int64 {
	n := int64(0)
	for t := types.Bool; t <= types.F64; t++ {
		for o := op.Add; o <= op.Ge; o++ {
			n += r.Op(o, t)
		}
	}
	for _, t := range r.Buffers {
		n += t.Loads + t.Stores
	}
	return n + r.Shuffles
}
