package interp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// sloppy is a device that uses all the freedom that a mode of arithmetic
// gives, each time as chance will have it.
type sloppy struct {
	*plain
	*rand.Rand
	mode interp.Mode
}

func newSloppy(b *ir.Binding, mode interp.Mode, seed uint64) *sloppy {
	d := &sloppy{newPlain(b), rand.New(rand.NewPCG(seed, uint64(mode))), mode}
	d.another = d.value
	if mode == interp.Fast {
		d.shuffle = d.Shuffle
	}
	return d
}

func (d *sloppy) value(e ir.Expr, pos []int64) (op.Value, bool) {
	if !e.Type().IsFloat() {
		return op.Value{}, false
	}
	switch e := e.(type) {
	case *ir.FuncCall:
		if e.Func.ULP() > 0 {
			return d.inexact(e, pos), true
		}
	case *ir.Fma:
		if d.mode == interp.Unfused && d.IntN(2) == 0 {
			x := op.Binary(op.Mul, d.plain.value(e.X, pos), d.plain.value(e.Y, pos))
			return op.Binary(op.Add, x, d.plain.value(e.Z, pos)), true
		}
	case *ir.Binary:
		switch {
		case d.mode != interp.Fast || e.Op == op.Min || e.Op == op.Max:
		case d.IntN(4) > 0:
			return d.rearranged(e, pos), true
		case e.Op == op.Add || e.Op == op.Sub:
			return d.fused(e, pos)
		}
	case *ir.PowInt:
		if d.mode == interp.Fast && e.N > 0 {
			return d.product(repeat(e.X, e.N), pos), true
		}
	}
	return op.Value{}, false
}

// inexact is a function that is off by as much as it may.
func (d *sloppy) inexact(e *ir.FuncCall, pos []int64) op.Value {
	var args []op.Value
	for _, a := range e.Args {
		args = append(args, d.plain.value(a, pos))
	}
	v := op.Call(e.Func, args...)
	if v.F-v.F != 0 {
		return v
	}
	for range d.IntN(e.Func.ULP()) {
		v = next(v, d.IntN(2) == 0)
	}
	return v
}

func next(v op.Value, up bool) op.Value {
	to := math.Inf(-1)
	if up {
		to = math.Inf(1)
	}
	if v.T == types.F32 {
		v.F = float64(math.Nextafter32(float32(v.F), float32(to)))
	} else {
		v.F = math.Nextafter(v.F, to)
	}
	return v
}

// fused computes x*y + z with one rounding, half of the time.
func (d *sloppy) fused(e *ir.Binary, pos []int64) (op.Value, bool) {
	x, y, sign := e.X, e.Y, 1.0
	if e.Op == op.Sub {
		sign = -1
	}
	m, ok := d.seen(x).(*ir.Binary)
	first := ok && m.Op == op.Mul
	if !first {
		m, ok = d.seen(y).(*ir.Binary)
		ok = ok && m.Op == op.Mul
	}
	if !ok || d.IntN(2) == 0 {
		return op.Value{}, false
	}
	a, b := d.plain.value(m.X, pos).F, d.plain.value(m.Y, pos).F
	if first {
		return op.Float(e.Type(), math.FMA(a, b, sign*d.plain.value(y, pos).F)), true
	}
	return op.Float(e.Type(), math.FMA(sign*a, b, d.plain.value(x, pos).F)), true
}

// seen looks through a temp to its value, as a compiler does.
func (d *sloppy) seen(e ir.Expr) ir.Expr {
	for {
		t, ok := e.(ir.TempRef)
		if !ok {
			return e
		}
		for _, st := range d.call.Body {
			if st.Temp == t.Temp {
				e = st.Value
			}
		}
	}
}

type term struct {
	e      ir.Expr
	negate bool
}

// rearranged takes a sum's terms, or a product's factors, in any order.
func (d *sloppy) rearranged(e *ir.Binary, pos []int64) op.Value {
	if e.Op == op.Mul || e.Op == op.Div {
		return d.product(d.factors(e, false, nil), pos)
	}
	var values []op.Value
	for _, t := range d.terms(e, false, nil) {
		v := d.plain.value(t.e, pos)
		if t.negate {
			v.F = -v.F
		}
		values = append(values, v)
	}
	return d.combine(op.Add, values)
}

func (d *sloppy) terms(e ir.Expr, negate bool, out []term) []term {
	switch x := d.seen(e).(type) {
	case *ir.Binary:
		if x.Op == op.Add || x.Op == op.Sub {
			out = d.terms(x.X, negate, out)
			return d.terms(x.Y, negate != (x.Op == op.Sub), out)
		}
	case *ir.Unary:
		return d.terms(x.X, !negate, out)
	}
	return append(out, term{e, negate})
}

// factors marks those that divide as negated.
func (d *sloppy) factors(e ir.Expr, below bool, out []term) []term {
	if x, ok := d.seen(e).(*ir.Binary); ok && (x.Op == op.Mul || x.Op == op.Div && !below) {
		out = d.factors(x.X, below, out)
		return d.factors(x.Y, below != (x.Op == op.Div), out)
	}
	return append(out, term{e, below})
}

func repeat(e ir.Expr, n int) []term {
	out := make([]term, n)
	for i := range out {
		out[i] = term{e: e}
	}
	return out
}

func (d *sloppy) product(factors []term, pos []int64) op.Value {
	var values []op.Value
	for _, t := range factors {
		v := d.plain.value(t.e, pos)
		if t.negate {
			v = op.Float(v.T, 1/v.F)
			if d.IntN(2) == 0 {
				v = next(v, true)
			}
		}
		values = append(values, v)
	}
	return d.combine(op.Mul, values)
}

// combine joins values in a random tree.
func (d *sloppy) combine(o op.Op, v []op.Value) op.Value {
	for len(v) > 1 {
		i := d.IntN(len(v))
		v[0], v[i] = v[i], v[0]
		j := 1 + d.IntN(len(v)-1)
		v[1], v[j] = v[j], v[1]
		v[1] = op.Binary(o, v[0], v[1])
		v = v[1:]
	}
	return v[0]
}

// A device that makes use of a mode's freedom stays within the bounds.
func TestBoundsHold(t *testing.T) {
	finite, inexact := 0, 0
	for seed := *firstSeed; seed < *firstSeed+*seeds/2; seed++ {
		c := caseOf(t, seed)
		for _, mode := range []interp.Mode{interp.Exact, interp.Unfused, interp.Fast} {
			set := c.Sets[min(1, len(c.Sets)-1)]
			b := bound(t, c.Program, set)
			switch mode {
			case interp.Unfused:
				b = b.In(arith.Contract)
			case interp.Fast:
				b = b.In(arith.Fast)
			}
			s, err := interp.New(b, interp.Options{Bounds: mode})
			if err != nil {
				t.Fatal(err)
			}
			given := give(s, seed)
			d := newSloppy(b, mode, seed)
			d.load(s)
			s.RunInitial(given)
			if c.Program.Initial != nil {
				d.run(c.Program.Initial, 0, given)
			}
			run(t, s)
			d.ops(c.Program.Body, 0)
			for _, g := range c.Program.Grids {
				a := s.Grid(g.Name)
				for n, at := range cellsOf(b, g) {
					want := 0.0
					if v, ok := d.cells[g][at]; ok {
						want = v.AsFloat()
					}
					r, limit := a.At(n), a.Bound[n]
					switch {
					case limit != limit || limit < 0:
						t.Fatalf("seed %d, mode %d: the bound of %s%v is %v", seed, mode, g.Name, at, limit)
					case r != r && want != want:
					case !(math.Abs(r-want) <= limit) && !math.IsInf(limit, 1):
						t.Fatalf(
							"seed %d, mode %d, %v: %s%v is %v and a device has %v, %g apart, with the bound %g\n%s",
							seed, mode, set, g.Name, at[:len(g.Dims)], r, want, math.Abs(r-want), limit, c.Source)
					}
					if r != want {
						inexact++
					}
					if !math.IsInf(limit, 1) {
						finite++
					}
				}
			}
		}
	}
	if inexact < 100 || finite < 1000 {
		t.Errorf("%d cells differ and %d bounds are finite: the test shows little", inexact, finite)
	}
}

func bounds(s *interp.State, name string) []float64 { return s.Grid(name).Bound }

func TestBoundsByHand(t *testing.T) {
	const u = 0x1p-53
	for _, c := range []struct {
		value  string
		mode   interp.Mode
		lo, hi float64
	}{
		// u is 0.1 and 0.3: operations on exact values are exact, in every mode but
		// the one that rearranges.
		{"(add (load u i) (load u i+1))", interp.Exact, 0, 0},
		{"(add (load u i) (load u i+1))", interp.Unfused, 0, 0},
		{"(add (load u i) (load u i+1))", interp.Fast, 2 * 0.4 * u, 2.1 * 0.4 * u},
		{"(mul (load u i) (load u i+1))", interp.Exact, 0, 0},
		{"(mul (load u i) (load u i+1))", interp.Unfused, 0, 0},
		// A fused product may be rounded before it is added: its rounding and two of
		// the sum. One by a power of two is exact.
		{"(fma (load u i+1) (load u i+1) (load u i))", interp.Exact, 0, 0},
		{"(fma (load u i+1) (load u i+1) (load u i))", interp.Unfused, 2 * 0.19 * u, 2 * 0.29 * u},
		{"(fma (load u i+1) (f64 0.5) (load u i))", interp.Unfused, 0, 0},
		{"(div (load u i) (load u i+1))", interp.Unfused, 0, 0},
		{"(call sqrt (load u i))", interp.Unfused, 0, 0},
		{"(call exp (load u i))", interp.Exact, 8 * u, 20 * u},
		{"(call abs (neg (load u i)))", interp.Unfused, 0, 0},
		{"(select (lt (load u i) (f64 0.2)) (f64 1) (f64 2))", interp.Unfused, 0, 0},
		// Not decided: (x*x - 0.01 < 0) at x = 0.1, so both outcomes are possible.
		{"(select (lt (fma (load u i) (load u i) (f64 -0.010000000000000002)) (f64 0)) (f64 1) (f64 5))",
			interp.Unfused, 4, 4.0001},
		{"(call floor (fma (load u i) (f64 10) (f64 0)))", interp.Unfused, 0, 1.001},
		// A pole within reach.
		{"(div (f64 1) (fma (load u i) (load u i) (f64 -0.010000000000000002)))", interp.Unfused, math.Inf(1),
			math.Inf(1)},
		// A product that overflows where it is rounded.
		{"(fma (f64 1e200) (f64 1e200) (f64 -Inf))", interp.Unfused, math.Inf(1), math.Inf(1)},
	} {
		s := start(t, line("(high clamp)", c.value, "0", "0"), "N=2", interp.Options{Bounds: c.mode})
		fillGrid(s, "u", 0.1, 0.3)
		run(t, s)
		if b := bounds(s, "out")[0]; !(b >= c.lo && b <= c.hi) {
			t.Errorf("mode %d: %s is bounded by %g, want %g to %g", c.mode, c.value, b, c.lo, c.hi)
		}
	}
}

// A cast to int that the bounds cannot decide is off by one, and an iterate
// that cannot be decided makes everything doubtful.
func TestUndecided(t *testing.T) {
	s := start(t, `(program p (axes i) (arithmetic contract)
	  (scalar r f64 reduced used)
	  (grid u f64 (dim i 0 0)) (grid n i32 (dim i 0 0)) (grid b bool (dim i 0 0))
	  (stage s (array u read (grid u)) (array n written (grid n)) (array b written (grid b))
	    (set n (over i) (domain (i (lo 0) (hi 0))) (cast i32 (mul (f64 100) (fma (load u i) (load u i) (f64 -0)))))
	    (set b (over i) (domain (i (lo 0) (hi 0))) (ge (fma (load u i) (load u i) (f64 -0)) (f64 0.010000000000000002)))
	    (reduce sum r (over i) (domain (i (lo 0) (hi 0))) (fma (load u i) (load u i) (f64 -0))))
	  (body (run s) (until (ge (scalar r) (f64 0.010000000000000002)) (check 1) (max 5) (run s))))`, "", interp.Options{Bounds: interp.Unfused})
	fillGrid(s, "u", 0.1)
	var c ir.Cursor
	s.Step(&c)
	if n, b := bounds(s, "n")[0], bounds(s, "b")[0]; n != 1 || b != 1 || s.Undecided() {
		t.Errorf("the bounds are %v and %v, undecided: %t", n, b, s.Undecided())
	}
	run(t, s)
	if n := bounds(s, "n")[0]; !math.IsInf(n, 1) || !s.Undecided() {
		t.Errorf("the bound is %v, undecided: %t", n, s.Undecided())
	}
	s.ClearBounds()
	s.Execute(ir.Leaf{Op: &ir.Run{Call: s.Program().Calls[0]}})
	if n := bounds(s, "n")[0]; n != 1 || s.Undecided() {
		t.Errorf("cleared, the bound is %v, undecided: %t", n, s.Undecided())
	}
}

func TestClearBounds(t *testing.T) {
	s := start(t, line("", "(fma (load u i) (f64 0.3) (f64 0.1))", "0", "N-1"), "N=3",
		interp.Options{Bounds: interp.Unfused})
	fillGrid(s, "u", 0.1, 0.7)
	run(t, s)
	first := bounds(s, "out")[0]
	s.ClearBounds()
	if b := bounds(s, "out")[0]; first == 0 || b != 0 {
		t.Errorf("the bound was %g and is %g", first, b)
	}
	run(t, s)
	if b := bounds(s, "out")[0]; b != first {
		t.Errorf("the bound of one step is %g, then %g", first, b)
	}
}
