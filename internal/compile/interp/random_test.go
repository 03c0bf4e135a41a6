package interp_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var (
	seeds     = flag.Uint64("seeds", 40, "how many random programs to run")
	firstSeed = flag.Uint64("first-seed", 0, "the first of them")
)

// plain is a second executor that shares nothing with the first but package
// op: a value at a time, cells in maps, temps recomputed wherever they are
// used.
type plain struct {
	b      *ir.Binding
	cells  map[*ir.Grid]map[[3]int64]op.Value
	locals map[*ir.Array]map[[3]int64]op.Value
	call   *ir.Call
	target *ir.Array
	step   int64

	// another gives an expression another value than plain evaluation, or
	// none; shuffle reorders what a sum adds. nil for exactness.
	another func(e ir.Expr, pos []int64) (op.Value, bool)
	shuffle func(n int, swap func(i, j int))
}

func newPlain(b *ir.Binding) *plain {
	live := *b
	live.Scalars = append([]op.Value{}, b.Scalars...)
	p := &plain{b: &live, cells: map[*ir.Grid]map[[3]int64]op.Value{}}
	for _, g := range b.Program.Grids {
		p.cells[g] = map[[3]int64]op.Value{}
	}
	return p
}

// load copies a state's grids.
func (p *plain) load(s *interp.State) {
	for _, g := range p.b.Program.Grids {
		a := s.Grid(g.Name)
		for n, at := range cellsOf(p.b, g) {
			p.cells[g][at] = op.Convert(g.Type, op.Float(types.F64, a.At(n)))
		}
	}
}

func (p *plain) memory(a *ir.Array) map[[3]int64]op.Value {
	if a.Grid != nil {
		return p.cells[a.Grid]
	}
	if p.locals[a] == nil {
		p.locals[a] = map[[3]int64]op.Value{}
	}
	return p.locals[a]
}

func (p *plain) value(e ir.Expr, pos []int64) op.Value {
	if p.another != nil {
		if v, ok := p.another(e, pos); ok {
			return v
		}
	}
	switch e := e.(type) {
	case ir.TempRef:
		for _, st := range p.call.Body {
			if st.Temp == e.Temp {
				return p.value(st.Value, pos)
			}
		}
	case ir.Pos:
		return op.Int(types.I32, pos[e.Axis])
	case *ir.Access:
		return p.read(e, pos)
	case *ir.Random:
		n := int64(0)
		for _, d := range p.target.Dims {
			x := p.b.Extent(d)
			n = n*x.Len() + pos[d.Axis] - x.Lo
		}
		return op.Random(e.T, p.value(e.Seed, pos).I, n)
	case *ir.Unary:
		return op.Unary(e.Op, p.value(e.X, pos))
	case *ir.Binary:
		return op.Binary(e.Op, p.value(e.X, pos), p.value(e.Y, pos))
	case *ir.Fma:
		return op.Fma(p.value(e.X, pos), p.value(e.Y, pos), p.value(e.Z, pos))
	case *ir.Select:
		if p.value(e.Cond, pos).True() {
			return p.value(e.X, pos)
		}
		return p.value(e.Y, pos)
	case *ir.Cast:
		return op.Convert(e.To, p.value(e.X, pos))
	case *ir.FuncCall:
		var args []op.Value
		for _, a := range e.Args {
			args = append(args, p.value(a, pos))
		}
		return op.Call(e.Func, args...)
	case *ir.PowInt:
		return op.PowInt(p.value(e.X, pos), e.N)
	}
	return p.b.Eval(e, p.step)
}

func (p *plain) read(e *ir.Access, pos []int64) op.Value {
	var at [3]int64
	negate := false
	for d, ix := range e.Index {
		x := ix.Offset
		if ix.Axis >= 0 {
			x += pos[ix.Axis]
		}
		holds := p.b.Range(e.Array.Holds(d))
		faces := e.Array.Dims[d].Faces
		rule := faces.Low
		if x > holds.Hi {
			rule = faces.High
		}
		if x < holds.Lo || x > holds.Hi {
			if rule.Kind == ir.Constant {
				return p.value(rule.Value, pos)
			}
			to, turned := ir.MapIndex(rule.Kind, x, holds.Lo, holds.Hi)
			x, negate = to, negate != turned
		}
		at[d] = x
	}
	v, ok := p.memory(e.Array)[at]
	if !ok {
		if e.Array.Local {
			panic(fmt.Sprintf("%s%v is read and has no value", e.Array.Name, at))
		}
		v = op.Convert(e.Array.Type, op.Int(types.I32, 0))
	}
	if negate {
		if v.T == types.U8 {
			return op.Int(types.U8, -v.I)
		}
		v = op.Unary(op.Neg, v)
	}
	return v
}

func (p *plain) statement(st *ir.Stmt) {
	if st.Temp != nil {
		return
	}
	p.target = st.Array
	type result struct {
		at [3]int64
		v  op.Value
	}
	var all []result
	var rows []rowOf // of a reduction's values
	pos := make([]int64, len(p.b.Program.Axes))
	var visit func(k int)
	visit = func(k int) {
		if k < len(st.Axes) {
			e := p.b.Range(st.Domain[st.Axes[k]])
			for pos[st.Axes[k]] = e.Lo; pos[st.Axes[k]] <= e.Hi; pos[st.Axes[k]]++ {
				visit(k + 1)
			}
			return
		}
		if c := st.Color; c != nil {
			sum := int64(0)
			for _, axis := range st.Axes {
				sum += c.Coef[axis] * pos[axis]
			}
			if (sum%c.Mod+c.Mod)%c.Mod != c.Rem {
				if st.Reduce != nil {
					rows = appendRow(rows, st.Axes, pos, neutral(st.Reduce))
				}
				return
			}
		}
		r := result{v: p.value(st.Value, pos)}
		if st.Reduce != nil {
			rows = appendRow(rows, st.Axes, pos, r.v)
			return
		}
		if st.Array != nil {
			for d, dim := range st.Array.Dims {
				r.at[d] = pos[dim.Axis]
			}
		}
		all = append(all, r)
	}
	visit(0)
	if st.Reduce != nil {
		join := map[ir.ReduceKind]op.Op{ir.Sum: op.Add, ir.Max: op.Max, ir.Min: op.Min}[st.Reduce.Kind]
		value := reduced(rows, join)
		if p.shuffle != nil && st.Reduce.Kind == ir.Sum && st.Reduce.Scalar.Type.IsFloat() {
			values := valuesOf(rows)
			p.shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			value = treeOf(values, join)
		}
		for k, s := range p.b.Program.Scalars {
			if s == st.Reduce.Scalar {
				p.b.Scalars[k] = value
			}
		}
		return
	}
	for _, r := range all {
		p.memory(st.Array)[r.at] = r.v
	}
}

// neutral is what cells of another colour count as.
func neutral(r *ir.Reduce) op.Value {
	t := r.Scalar.Type
	switch {
	case r.Kind == ir.Sum:
		return op.Convert(t, op.Int(types.I32, 0))
	case t.IsFloat():
		return op.Float(t, math.Inf(map[ir.ReduceKind]int{ir.Max: -1, ir.Min: 1}[r.Kind]))
	case r.Kind == ir.Max:
		return op.Int(t, math.MinInt32)
	}
	return op.Int(t, math.MaxInt32)
}

func (p *plain) run(s *ir.Call, step int64, skip map[*ir.Grid]bool) {
	p.call, p.step, p.locals = s, step, map[*ir.Array]map[[3]int64]op.Value{}
	for _, st := range s.Body {
		if st.Array == nil || !skip[st.Array.Grid] {
			p.statement(st)
		}
	}
}

func (p *plain) ops(body []ir.Op, step int64) {
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			p.run(o.Call, step, nil)
		case *ir.Rotate:
			first := p.cells[o.Grids[0]]
			for k := 1; k < len(o.Grids); k++ {
				p.cells[o.Grids[k-1]] = p.cells[o.Grids[k]]
			}
			p.cells[o.Grids[len(o.Grids)-1]] = first
		case *ir.Iterate:
			limit := o.Max
			if o.Count != nil {
				limit = p.b.Eval(o.Count, step).I
			}
			for n := int64(0); n < limit; {
				p.ops(o.Body, n)
				n++
				if o.Until != nil && n%o.Check == 0 && p.b.Eval(o.Until, n).True() {
					break
				}
			}
		}
	}
}

// give fills the grids that are copied in.
func give(s *interp.State, seed uint64) map[*ir.Grid]bool {
	given := map[*ir.Grid]bool{}
	for k, g := range s.Program().Grids {
		if g.CopyIn || g.Constant {
			a := s.Grid(g.Name)
			copy(a.Data, gen.Input(a.Type, a.Len(), seed+uint64(k)))
			given[g] = true
		}
	}
	return given
}

// cellsOf lists the positions of a grid's cells in memory order.
func cellsOf(b *ir.Binding, g *ir.Grid) [][3]int64 {
	out := [][3]int64{{}}
	for d, dim := range g.Dims {
		e := b.Extent(dim)
		var next [][3]int64
		for _, at := range out {
			for x := e.Lo; x <= e.Hi; x++ {
				at[d] = x
				next = append(next, at)
			}
		}
		out = next
	}
	return out
}

func caseOf(t testing.TB, seed uint64) *gen.Case {
	t.Helper()
	c, err := gen.Make(seed, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if seed%2 == 1 {
		c.Program = c.Program.In(arith.Contract)
	}
	if err := ir.Verify(c.Program); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
	}
	return c
}

func bound(t testing.TB, p *ir.Program, set map[string]string) *ir.Binding {
	t.Helper()
	b, errs := p.Bind(set)
	if errs != nil {
		t.Fatal(errs[0].Message)
	}
	return b
}

func prepared(t testing.TB, b *ir.Binding, seed uint64, o interp.Options) *interp.State {
	t.Helper()
	s, err := interp.New(b, o)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	s.RunInitial(give(s, seed))
	return s
}

func TestRandomProgramsAgainstASecondExecutor(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		c := caseOf(t, seed)
		for _, set := range c.Sets[:min(3, len(c.Sets))] {
			b := bound(t, c.Program, set)
			fresh, err := interp.New(b, interp.Options{})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
			}
			given := give(fresh, seed)
			p := newPlain(b)
			p.load(fresh)
			fresh.RunInitial(given)
			if c.Program.Initial != nil {
				p.run(c.Program.Initial, 0, given)
			}
			run(t, fresh)
			p.ops(c.Program.Body, 0)
			for _, g := range c.Program.Grids {
				a := fresh.Grid(g.Name)
				for n, at := range cellsOf(b, g) {
					got, want := a.At(n), p.cells[g][at].AsFloat()
					if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
						t.Fatalf("seed %d, %v: %s%v is %v, want %v\n%s", seed, set, g.Name, at[:len(g.Dims)], got,
							want, c.Source)
					}
				}
			}
			for k, x := range c.Program.Scalars {
				if got, _ := fresh.Scalar(x); !got.Same(p.b.Scalars[k]) {
					t.Fatalf("seed %d, %v: %s is %v, want %v\n%s", seed, set, x.Name, got, p.b.Scalars[k], c.Source)
				}
			}
		}
	}
}

func sameData(a, b *interp.State) string {
	for _, g := range a.Program().Grids {
		if !bytes.Equal(a.Grid(g.Name).Data, b.Grid(g.Name).Data) {
			return g.Name
		}
	}
	return ""
}

// What a program computes does not depend on how its text was passed on, on
// written-out loops, on workers or on bounds.
func TestRandomProgramsComputeTheSameWhateverTheForm(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		c := caseOf(t, seed)
		set := c.Sets[min(4, len(c.Sets)-1)]
		b := bound(t, c.Program, set)
		want := prepared(t, b, seed, interp.Options{Workers: 1})
		run(t, want)
		reread, err := ir.ParseText(ir.Text(c.Program))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
		}
		for _, v := range []struct {
			name string
			p    *ir.Program
			o    interp.Options
		}{
			{"read back", reread, interp.Options{Workers: 3}},
			{"with loops for ping-pong calls", ir.PingPong(c.Program), interp.Options{}},
			{"with exact bounds", c.Program, interp.Options{Bounds: interp.Exact}},
			{"with bounds", c.Program, interp.Options{Bounds: interp.Unfused}},
			{"with fast bounds", c.Program, interp.Options{Bounds: interp.Fast}},
		} {
			got := prepared(t, bound(t, v.p, set), seed, v.o)
			run(t, got)
			if g := sameData(want, got); g != "" {
				t.Errorf("seed %d: %s differs %s\n%s", seed, g, v.name, c.Source)
			}
		}
	}
}
