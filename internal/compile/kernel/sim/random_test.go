package sim_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// inputs returns the values of a random kernel's buffers and scalars.
func inputs(k *kernel.Kernel) ([][]op.Value, []op.Value) {
	var buffers [][]op.Value
	for i, b := range k.Buffers {
		var list []op.Value
		for c := range int64(kerneltest.Cells) {
			r := op.Random(types.F64, int64(i), c).F
			list = append(list, op.Convert(b.Elem, op.Float(types.F64, 8*r-3)))
		}
		buffers = append(buffers, list)
	}
	return buffers, []op.Value{op.Int(types.I64, kerneltest.Size), op.Float(types.F64, 0.7), op.Int(types.I32, -5)}
}

// simulate runs a kernel and fails the test if anything is wrong.
func simulate(t *rapid.T, k *kernel.Kernel) (*sim.Report, []*sim.Memory) {
	buffers, scalars := inputs(k)
	var mem []*sim.Memory
	for i, b := range k.Buffers {
		mem = append(mem, sim.Values(b.Elem, buffers[i]...))
	}
	turn := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "turn")
	r, err := sim.Run(k, sim.Args{Buffers: mem, Scalars: scalars}, sim.Options{Turn: turn})
	if err != nil {
		t.Fatalf("%v\n%s", err, kernel.Text(k))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%v\n%s", err, kernel.Text(k))
	}
	return r, mem
}

func TestRandomKernelsAgreeWithOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		r, mem := simulate(t, k)
		buffers, scalars := inputs(k)
		o := runOracle(k, buffers, scalars)
		for i, b := range k.Buffers {
			for c, want := range buffers[i] {
				if got := mem[i].At(c); !got.Same(want) {
					t.Fatalf("%s[%d] is %v, not %v\n%s", b.Name, c, got, want, kernel.Text(k))
				}
			}
			if got := r.Buffers[i]; got.Loads != o.loads[b] || got.Stores != o.stores[b] {
				t.Fatalf("%s: %d loads and %d stores, not %d and %d\n%s",
					b.Name, got.Loads, got.Stores, o.loads[b], o.stores[b], kernel.Text(k))
			}
		}
		for t0 := types.Bool; t0 <= types.F64; t0++ {
			for x := op.Add; x <= op.Ge; x++ {
				if got, want := r.Op(x, t0), o.ops[opKey{x, t0}]; got != want {
					t.Fatalf("%d %v of %v, not %d\n%s", got, x, t0, want, kernel.Text(k))
				}
			}
			for f := op.Sqrt; f <= op.InvSqrt; f++ {
				if got, want := r.Func(f, t0), o.funcs[funcKey{f, t0}]; got != want {
					t.Fatalf("%d %v of %v, not %d\n%s", got, f, t0, want, kernel.Text(k))
				}
			}
		}
	})
}

func TestSimplifiedKernelsComputeTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		_, want := simulate(t, k)
		for _, p := range kernel.Passes {
			next := p.Run(k, nil)
			_, got := simulate(t, next)
			for i, b := range k.Buffers {
				for c := range want[i].Len() {
					if !got[i].At(c).Same(want[i].At(c)) {
						t.Fatalf("%s: %s[%d] is %v, not %v\n%s\nafter\n%s",
							p.Name, b.Name, c, got[i].At(c), want[i].At(c), kernel.Text(k), kernel.Text(next))
					}
				}
			}
			k = next
		}
	})
}
