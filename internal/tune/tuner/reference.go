package tuner

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	runcompare "github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// plainPlan returns the plan of the kernels that all others are compared with: one thread for each cell, or
// plain loops.
func (s *subject) plainPlan() schedule.Plan {
	o := s.options
	o.Free = true // the source may ask for other kernels
	o.Plan = schedule.Plan{Every: schedule.Config{Family: lower.Plain(s.about.Target.Kind())}}
	p, err := lower.Plan(s.bound.Program, o)
	if err != nil { // kernels of a single cell have a family of their own
		o.Plan = schedule.Plan{}
		p, _ = lower.Plan(s.bound.Program, o)
	}
	return p
}

// smallSizes are values of a program's parameters at which the plain kernels
// are compared with the reference executor: primes, so that no block divides
// them, and larger ones for programs that need them.
var smallSizes = [][]int64{{19, 23, 37}, {41, 47, 53}, {83, 89, 97}, {131, 137, 139}}

// affordable is how many cells the reference executor may compute.
const affordable = 4 << 20

// small returns a program with small sizes: the program itself if it is small already, nil if its sizes
// cannot be made small.
func (s *subject) small(set map[string]string) *ir.Binding {
	p := s.bound.Program
	if cellsOf(s.bound) <= affordable/16 {
		return s.bound
	}
	for _, sizes := range smallSizes {
		less := maps.Clone(set)
		if less == nil {
			less = map[string]string{}
		}
		for i, q := range p.Params {
			_, given := less[q.Name]
			if n := sizes[(i+3-len(p.Params)%3)%3]; s.bound.Params[i] > n && (given || q.Default == nil ||
				constant(q.Default)) {
				less[q.Name] = fmt.Sprint(n)
			}
		}
		if b, list := p.Bind(less); !list.HasErrors() && cellsOf(b) <= affordable {
			return b
		}
	}
	if cellsOf(s.bound) <= affordable {
		return s.bound
	}
	return nil
}

// constant reports whether an expression depends on no parameter.
func constant(e ir.Expr) bool {
	free := true
	ir.Walk(e, func(x ir.Expr) {
		if _, ok := x.(ir.ParamRef); ok {
			free = false
		}
	})
	return free
}

func cellsOf(b *ir.Binding) int64 {
	n := int64(0)
	for _, g := range b.Program.Grids {
		cells := int64(1)
		for _, k := range b.Shape(g.Dims) {
			cells *= int64(k)
		}
		n += cells
	}
	return n
}

// oracle holds the reference executor's results of a call at small sizes.
type oracle struct {
	call  *tunedCall
	bound *ir.Binding // of the call alone
	state *interp.State
}

// newOracle executes a call on the values that the worker fills grids with. fused says that its bounds are
// for code with fused multiply-adds.
func newOracle(ctx context.Context, call *tunedCall, b *ir.Binding, fused bool) (*oracle, error) {
	once := *call.only
	once.Body = call.once()
	bound := *b
	bound.Program = &once
	state, err := interp.New(&bound, interp.Options{Bounds: interp.ModeOf(&once, fused)})
	if err != nil {
		return nil, err
	}
	for i, g := range once.Grids {
		data := state.Grid(g.Name)
		switch {
		case call.use.Reads[i]:
			for n := range data.Len() {
				data.Set(n, measure.Value(g.Type, int64(n), int64(i)))
			}
		case call.use.Writes[i]:
			for n := range data.Data {
				data.Data[n] = device.Poison
			}
		}
	}
	for _, x := range once.Scalars {
		if x.Reduced {
			state.SetScalar(x, measure.Cell{Name: x.Name, Type: x.Type}.Start())
		}
	}
	return &oracle{call, call.alone(b), state}, state.Run(ctx)
}

// check compares the results of the plain kernels with the reference, and returns the number of cells. A cell
// that is NaN in both is not compared. If there is no other cell, it is an error, because wrong kernels would
// pass.
func (o *oracle) check(v measure.Values) (int64, error) {
	cells, computed := int64(0), int64(0)
	boxes := runcompare.Computed(o.bound)
	add := func(g runcompare.Grid, want, got []byte) error {
		r, err := runcompare.Cells(g, want, got)
		if err == nil && !r.OK() {
			err = fmt.Errorf("%s: the plain kernels disagree with the reference executor: %s", o.call.ir.Name, r)
		}
		cells += r.Cells
		computed += r.Computed
		return err
	}
	for i, g := range o.bound.Program.Grids {
		if !o.call.use.Writes[i] {
			continue
		}
		want := o.state.Grid(g.Name)
		about := runcompare.Grid{Name: g.Name, Type: g.Type, Shape: want.Shape, Bounds: want.Bound, Computed: boxes[g]}
		if err := add(about, want.Data, v.Grids[i]); err != nil {
			return cells, err
		}
	}
	for _, i := range o.call.use.Reduces {
		want, bound := o.state.Scalar(o.cell(i))
		about := runcompare.Grid{Name: o.cell(i).Name, Type: want.T, Bounds: []float64{bound}, Computed: []ir.Extent{}}
		if err := add(about, device.Encoded(want), device.Encoded(v.Cells[i])); err != nil {
			return cells, err
		}
	}
	if computed == 0 {
		return cells, fmt.Errorf(
			"%s: from values between 0 and 1 it computes no number in any cell, so that kernels cannot be checked",
			o.call.ir.Name)
	}
	return cells, nil
}

// cell returns the reduced scalar of that number.
func (o *oracle) cell(i int) *ir.Scalar {
	for _, x := range o.bound.Program.Scalars {
		if x.Reduced {
			if i == 0 {
				return x
			}
			i--
		}
	}
	panic("tuner: no such reduced scalar")
}

// marginFactor is how much further apart two variants may be at full size than the bounds at the small size
// say, since larger values occur at full size. A cell with a wrong index or weight is off by orders of
// magnitude more.
const marginFactor = 8

// margins derives from the small size how far apart variants may be at full size. Under exact arithmetic
// margins are zero, unless the call has inexact functions.
func (o *oracle) margins(full *ir.Binding) measure.Margins {
	var m measure.Margins
	for i, g := range o.bound.Program.Grids {
		var margin measure.Margin
		if o.call.use.Writes[i] {
			margin = gridMargin(o.state.Grid(g.Name))
		}
		m.Grids = append(m.Grids, margin)
	}
	grown := float64(cellsOf(full)) / float64(max(1, cellsOf(o.bound)))
	for i := range reduced(o.bound.Program) {
		want, bound := o.state.Scalar(o.cell(i))
		if math.IsInf(bound, 0) || math.IsNaN(bound) {
			bound = math.Abs(want.AsFloat())
		}
		var margin measure.Margin
		if bound > 0 {
			margin.Absolute = marginFactor * bound * max(1, grown)
			margin.Relative = marginFactor * bound / max(math.Abs(want.AsFloat()), math.SmallestNonzeroFloat64)
			margin.Relative = min(margin.Relative, 1e-3)
		}
		m.Cells = append(m.Cells, margin)
	}
	return m
}

func reduced(p *ir.Program) []op.Value {
	var list []op.Value
	for _, x := range p.Scalars {
		if x.Reduced {
			list = append(list, op.Value{})
		}
	}
	return list
}

// gridMargin returns the margin of one grid.
func gridMargin(a *interp.Array) measure.Margin {
	var m measure.Margin
	scale, known, unknown := 0.0, 0, 0
	for n := range a.Len() {
		if v := math.Abs(a.At(n)); !math.IsNaN(v) && !math.IsInf(v, 0) {
			scale += v
			known++
		}
	}
	scale /= float64(max(1, known))
	for n, b := range a.Bound {
		if math.IsInf(b, 0) || math.IsNaN(b) {
			unknown++
			continue
		}
		m.Absolute = max(m.Absolute, marginFactor*b)
		if v := max(scale, math.Abs(a.At(n))); v > 0 && !math.IsInf(v, 0) {
			m.Relative = max(m.Relative, marginFactor*b/v)
		}
	}
	if unknown > 0 {
		m.Loose = min(1, marginFactor*float64(unknown)/float64(a.Len()))
	}
	return m
}
