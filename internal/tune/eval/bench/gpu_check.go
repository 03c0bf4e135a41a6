package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// Mismatch says that generated code computed something else than the
// reference executor.
type Mismatch struct {
	Grid       string // its sizes
	Arithmetic string
	What       string // "next[3][0][17]"
	Got, Want  float64
	Bound      float64 // how far they may be apart
}

// Error prints all of it.
func (e *Mismatch) Error() string {
	return fmt.Sprintf("%s on %s, in %s arithmetic, is %v, and the reference has %v; they may differ by %g",
		e.What, e.Grid, e.Arithmetic, e.Got, e.Want, e.Bound)
}

// checks are the comparisons that every configuration of a case has to pass.
type checks struct {
	plain   []*expectation // of the program that is timed
	strict  []*expectation // of the same in strict arithmetic
	bounded []*expectation // of the one with boundaries, in strict arithmetic
	windows *sampledBoxes
}

// Small sizes: the least, primes, powers of two with a remainder, and axes of
// very unlike lengths. Without boundaries an axis needs 3 cells.
var (
	plainSizes = map[int][][]int64{
		2: {{3, 3}, {37, 53}, {129, 7}, {5, 1025}},
		3: {{3, 3, 3}, {37, 53, 29}, {5, 17, 263}, {66, 3, 131}},
	}
	boundedSizes = map[int][][]int64{
		2: {{1, 1}, {1, 67}, {2, 3}, {53, 37}, {129, 7}},
		3: {{1, 1, 1}, {2, 1, 67}, {1, 3, 2}, {29, 37, 53}, {5, 17, 263}},
	}
)

// newChecks computes what to expect, on the reference executor.
func newChecks(c gpuCase, large *gridsOnGPU) (*checks, error) {
	out := &checks{}
	p := large.bound.Program
	for _, sizes := range plainSizes[len(c.sizes)] {
		e, err := expect(p, sizes)
		if err != nil {
			return nil, err
		}
		out.plain = append(out.plain, e)
		if e, err = expect(p.In(arith.Strict), sizes); err != nil {
			return nil, err
		}
		out.strict = append(out.strict, e)
	}
	q, err := c.load(c.bounded)
	if err != nil {
		return nil, err
	}
	for _, sizes := range boundedSizes[len(c.sizes)] {
		e, err := expect(q.In(arith.Strict), sizes)
		if err != nil {
			return nil, err
		}
		out.bounded = append(out.bounded, e)
	}
	out.windows, err = newSampledBoxes(large)
	return out, err
}

// expectation is one execution by the reference: what the grids held before,
// and the state afterwards.
type expectation struct {
	bound  *ir.Binding
	sizes  string
	before map[*ir.Grid][]byte
	state  *interp.State
}

// expect executes a program on random grids. What it is to write is poisoned
// before, so that cells which it must leave alone are known.
func expect(p *ir.Program, sizes []int64) (*expectation, error) {
	bound, err := sized(p, sizes)
	if err != nil {
		return nil, err
	}
	e := &expectation{bound: bound, sizes: gridText(bound, output(p)), before: map[*ir.Grid][]byte{}}
	if e.state, err = interp.New(bound, interp.Options{Bounds: interp.ModeOf(p, true)}); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(2, uint64(sizes[0])))
	for _, g := range p.Grids {
		data := e.state.Grid(g.Name).Data
		if slices.Contains(outputs(p), g) {
			for i := range data {
				data[i] = poison
			}
		} else {
			fill(g.Type, data, rng)
		}
		e.before[g] = slices.Clone(data)
	}
	if err := e.state.Run(context.Background()); err != nil {
		return nil, err
	}
	for _, g := range outputs(p) {
		if compare.Numbers(g.Type, e.state.Grid(g.Name).Data) == 0 {
			return nil, fmt.Errorf("%s: there is no number in any cell of %s: nothing could be compared",
				e.sizes, g.Name)
		}
	}
	return e, nil
}

// small compares one configuration with the reference at every cell: the code
// that is to be timed, and strict code.
func (c *checks) small(b *gpuContext, cfg schedule.Config, m *kernel.Module, lib *cuda.Library) (int64, error) {
	total := int64(0)
	for _, e := range c.plain {
		n, err := b.compare(e, m, lib)
		if err != nil {
			return total, err
		}
		total += n
	}
	for _, list := range [][]*expectation{c.strict, c.bounded} {
		first := list[0].bound
		m, lib, _, err := b.build(first, cfg)
		if err != nil {
			return total, err
		}
		for _, e := range list {
			n, err := b.compare(e, m, lib)
			if err != nil {
				return total, err
			}
			total += n
		}
		if err := lib.Close(); err != nil {
			return total, err
		}
	}
	return total, nil
}

// compare runs a module on the grids of an expectation, and returns the number
// of cells compared.
func (b *gpuContext) compare(e *expectation, m *kernel.Module, lib *cuda.Library) (int64, error) {
	p, err := b.place(e.bound, m.Layouts)
	if err != nil {
		return 0, err
	}
	defer p.free()
	if err := p.poison(); err != nil {
		return 0, err
	}
	for _, g := range e.bound.Program.Grids {
		if err := p.write(g, e.before[g]); err != nil {
			return 0, err
		}
	}
	launches, err := p.bind(m, lib)
	if err != nil {
		return 0, err
	}
	defer launches.free()
	if err := launches.launch(); err != nil {
		return 0, err
	}
	if err := b.dev.Sync(); err != nil {
		return 0, err
	}
	total := int64(0)
	for _, g := range e.bound.Program.Grids {
		got := make([]byte, len(e.before[g]))
		if err := p.read(g, got); err != nil {
			return total, err
		}
		if err := e.grid(g, got); err != nil {
			return total, err
		}
		if slices.Contains(outputs(e.bound.Program), g) {
			total += gridCells(e.bound, g)
		}
	}
	return total, e.scalars(p)
}

// grid compares what a grid holds with what it should.
func (e *expectation) grid(g *ir.Grid, got []byte) error {
	want := e.state.Grid(g.Name)
	if bytes.Equal(got, want.Data) {
		return nil
	}
	size := g.Type.Size()
	for i := range want.Len() {
		x, y := got[i*size:(i+1)*size], want.Data[i*size:(i+1)*size]
		if bytes.Equal(x, y) {
			continue
		}
		margin := 0.0
		if want.Bound != nil {
			margin = want.Bound[i]
		}
		v := device.Decode(g.Type, x).AsFloat()
		if !near(v, want.At(i), margin) {
			return &Mismatch{e.sizes, e.bound.Program.Arithmetic.String(), cellName(g, want.Shape, i), v,
				want.At(i), margin}
		}
	}
	return nil
}

// scalars compares the results of reductions.
func (e *expectation) scalars(p *gridsOnGPU) error {
	for _, s := range e.bound.Program.Scalars {
		if !s.Reduced {
			continue
		}
		var got [8]byte
		if err := p.cells[s].Read(0, got[:]); err != nil {
			return err
		}
		v := device.Decode(s.Type, got[:])
		want, margin := e.state.Scalar(s)
		if !v.Same(want) && !near(v.AsFloat(), want.AsFloat(), margin) {
			return &Mismatch{e.sizes, e.bound.Program.Arithmetic.String(), s.Name, v.AsFloat(), want.AsFloat(), margin}
		}
	}
	return nil
}

// near reports whether two numbers that are not the same bits are near enough.
func near(got, want, margin float64) bool { return margin > 0 && math.Abs(got-want) <= margin }

// cellName is "u[3][0][17]" for a cell's number.
func cellName(g *ir.Grid, shape []int, i int) string {
	at := make([]string, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d] = fmt.Sprintf("[%d]", i%shape[d])
		i /= shape[d]
	}
	return g.Name + strings.Join(at, "")
}

// sampledBoxes are boxes of a large grid that are compared instead of the whole. What a program without boundaries
// computes inside a box depends on the box alone, so the reference executor can run on the boxes.
type sampledBoxes struct {
	shape   []int64
	corners [][]int64
	want    []*interp.Array // of the grid that is written, by window
	inside  []ir.Extent     // by axis: the cells that it writes
}

// newSampledBoxes chooses boxes at the corners of a grid and at random, and runs the reference executor there.
func newSampledBoxes(large *gridsOnGPU) (*sampledBoxes, error) {
	const atRandom = 24
	p := large.bound.Program
	sizes := large.bound.Shape(output(p).Dims)
	w := &sampledBoxes{shape: []int64{6, 7, 70}[3-len(sizes):]}
	for d, n := range sizes {
		w.shape[d] = min(w.shape[d], int64(n))
	}
	for corner := range 1 << len(sizes) {
		at := make([]int64, len(sizes))
		for d, n := range sizes {
			if corner>>d&1 == 1 {
				at[d] = int64(n) - w.shape[d]
			}
		}
		w.corners = append(w.corners, at)
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for range atRandom {
		at := make([]int64, len(sizes))
		for d, n := range sizes {
			at[d] = rng.Int64N(int64(n) - w.shape[d] + 1)
		}
		w.corners = append(w.corners, at)
	}
	bound, err := sized(p, w.shape)
	if err != nil {
		return nil, err
	}
	state, err := interp.New(bound, interp.Options{Bounds: interp.ModeOf(p, true)})
	if err != nil {
		return nil, err
	}
	for _, st := range p.Calls[0].Body {
		if st.Array != nil {
			for _, axis := range st.Axes {
				w.inside = append(w.inside, bound.Range(st.Domain[axis]))
			}
		}
	}
	for _, at := range w.corners {
		for _, g := range p.Grids {
			if g == output(p) {
				continue
			}
			if err := w.read(large, g, at, state.Grid(g.Name).Data); err != nil {
				return nil, err
			}
		}
		if err := state.Run(context.Background()); err != nil {
			return nil, err
		}
		out := *state.Grid(output(p).Name)
		out.Data, out.Bound = slices.Clone(out.Data), slices.Clone(out.Bound)
		w.want = append(w.want, &out)
	}
	return w, nil
}

// read fetches a window of a grid, row by row.
func (w *sampledBoxes) read(large *gridsOnGPU, g *ir.Grid, corner []int64, to []byte) error {
	sizes := large.bound.Shape(g.Dims)
	size := int64(g.Type.Size())
	last := len(sizes) - 1
	row := w.shape[last]
	for r := range int64(len(to)) / (row * size) {
		at, rest, stride := corner[last], r, int64(sizes[last])
		for d := last - 1; d >= 0; d-- {
			at += (corner[d] + rest%w.shape[d]) * stride
			rest /= w.shape[d]
			stride *= int64(sizes[d])
		}
		if err := large.grids[g].Read(at*size, to[r*row*size:(r+1)*row*size]); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what the large grid holds in the windows, and returns the
// number of cells.
func (w *sampledBoxes) compare(large *gridsOnGPU, arithmetic string) (int64, error) {
	g := output(large.bound.Program)
	total := int64(0)
	got := make([]byte, len(w.want[0].Data))
	size := g.Type.Size()
	for i, want := range w.want {
		if err := w.read(large, g, w.corners[i], got); err != nil {
			return total, err
		}
		for n := range want.Len() {
			if !w.writes(n) {
				continue
			}
			total++
			v := device.Decode(g.Type, got[n*size:]).AsFloat()
			if math.Float64bits(v) != math.Float64bits(want.At(n)) {
				what := fmt.Sprintf("%s of the window at %v", cellName(g, want.Shape, n), w.corners[i])
				return total, &Mismatch{gridText(large.bound, g), arithmetic, what, v, want.At(n), 0}
			}
		}
	}
	return total, nil
}

// writes reports whether the program writes a window's cell of that number.
func (w *sampledBoxes) writes(n int) bool {
	for d := len(w.shape) - 1; d >= 0; d-- {
		at := int64(n) % w.shape[d]
		n /= int(w.shape[d])
		if at < w.inside[d].Lo || at > w.inside[d].Hi {
			return false
		}
	}
	return true
}
