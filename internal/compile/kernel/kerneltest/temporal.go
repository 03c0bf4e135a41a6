package kerneltest

import (
	"embed"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

//go:embed temporal
var temporal embed.FS

// Temporal is a kernel, written by hand, that takes many steps in one launch,
// or feeds a step in a way that such kernels need. Its first buffers are u and v, of
// f64: u holds Start before. Others have a fixed size, and no contents before.
type Temporal struct {
	Name    string
	Runs    []Extent // sizes that it works for, awkward ones among them
	scalars func(Extent) []int64
	faces   bool // the stencil has a radius of 2 along rows, and none across
	last    func(Extent) int
}

// Extent is a grid of N rows of M cells, and the steps to take.
type Extent struct{ N, M, Steps int }

// Temporals are all of them.
var Temporals = []*Temporal{
	{"queues", []Extent{{7, 28, 2}, {1, 1, 2}, {2, 3, 2}, {3, 28, 2}, {9, 29, 2}, {17, 61, 2}}, sizes, false, inV},
	{"levels", []Extent{{7, 26, 3}, {1, 1, 3}, {2, 3, 3}, {10, 27, 3}, {17, 61, 3}}, sizes, false, inV},
	{"handover", []Extent{{7, 26, 3}, {1, 1, 3}, {2, 3, 3}, {10, 27, 3}, {17, 61, 3}}, sizes, false, inV},
	{"faces", []Extent{{2, 256, 5}, {1, 256, 0}, {3, 256, 1}, {1, 256, 16}}, rowsAndSteps, true, inV},
	{"resident", []Extent{{7, 70, 4}, {1, 1, 3}, {5, 65, 1}, {8, 3, 7}}, sizesAndSteps, false, inTurns},
	{"neighbours", []Extent{{7, 70, 4}, {1, 1, 3}, {5, 65, 1}, {2, 40, 5}, {8, 3, 7}}, sizesAndSteps, false, inTurns},
	{"bulk", []Extent{{9, 64, 1}, {1, 64, 1}, {2, 64, 1}, {3, 64, 1}, {16, 64, 1}}, rows, false, inV},
}

func rows(x Extent) []int64          { return []int64{int64(x.N)} }
func rowsAndSteps(x Extent) []int64  { return []int64{int64(x.N), int64(x.Steps)} }
func sizes(x Extent) []int64         { return []int64{int64(x.N), int64(x.M)} }
func sizesAndSteps(x Extent) []int64 { return []int64{int64(x.N), int64(x.M), int64(x.Steps)} }

func inV(Extent) int       { return 1 }
func inTurns(x Extent) int { return x.Steps % 2 }

// Find returns the one of that name.
func Find(name string) *Temporal {
	for _, e := range Temporals {
		if e.Name == name {
			return e
		}
	}
	panic(fmt.Sprintf("kerneltest: no kernel is called %s", name))
}

// Text returns the kernel's text.
func (e *Temporal) Text() string {
	text, err := temporal.ReadFile("temporal/" + e.Name + ".kernel")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Kernel returns the kernel.
func (e *Temporal) Kernel() *kernel.Kernel {
	k, err := kernel.ParseText(e.Text())
	if err != nil {
		panic(err)
	}
	return k
}

// Scalars returns the arguments after u and v.
func (e *Temporal) Scalars(x Extent) []op.Value {
	var out []op.Value
	for _, s := range e.scalars(x) {
		out = append(out, op.Int(types.I64, s))
	}
	return out
}

// Start returns what u holds before.
func (e *Temporal) Start(x Extent) []float64 {
	out := make([]float64, x.N*x.M)
	for c := range out {
		out[c] = op.Random(types.F64, 7, int64(c)).F
	}
	return out
}

// Result returns which buffer holds the result: 0 for u, 1 for v.
func (e *Temporal) Result(x Extent) int { return e.last(x) }

// Want computes the result step by step, with every operation rounded.
func (e *Temporal) Want(x Extent) []float64 {
	old, next := e.Start(x), make([]float64, x.N*x.M)
	for range x.Steps {
		for c := range old {
			j, i := c/x.M, c%x.M
			inner, far := i > 0 && i < x.M-1 && j > 0 && j < x.N-1, x.M
			if e.faces {
				inner, far = i > 1 && i < x.M-2, 2
			}
			next[c] = old[c]
			if inner {
				next[c] = float64(0.5*old[c]) + float64(0.25*old[c-1])
				next[c] += float64(0.125 * old[c+1])
				next[c] += float64(0.1 * old[c-far])
				next[c] += float64(0.025 * old[c+far])
			}
		}
		old, next = next, old
	}
	return old
}
