package interp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// rowOf is the values of a row, the first at position lo.
type rowOf struct {
	lo     int64
	values []op.Value
}

// appendRow adds the value at a position, which follows those of earlier calls.
func appendRow(rows []rowOf, axes []int, pos []int64, v op.Value) []rowOf {
	x := int64(0)
	if len(axes) > 0 {
		x = pos[axes[len(axes)-1]]
	}
	if last := len(rows) - 1; last >= 0 && x > rows[last].lo {
		rows[last].values = append(rows[last].values, v)
		return rows
	}
	return append(rows, rowOf{x, []op.Value{v}})
}

func valuesOf(rows []rowOf) []op.Value {
	var out []op.Value
	for _, r := range rows {
		out = append(out, r.values...)
	}
	return out
}

// reduced is ir.Reduce's tree as its comment states it, with values that change
// nothing where there are none.
func reduced(rows []rowOf, join op.Op) op.Value {
	t := rows[0].values[0].T
	none := map[op.Op]op.Value{op.Add: op.Unary(op.Neg, op.Convert(t, op.Int(types.I32, 0)))}[join]
	if t.IsFloat() && join != op.Add {
		none = op.Float(t, math.Inf(map[op.Op]int{op.Max: -1, op.Min: 1}[join]))
	}
	var segments []op.Value
	for _, r := range rows {
		first := int64(math.Floor(float64(r.lo) / 32))
		last := int64(math.Floor(float64(r.lo+int64(len(r.values))-1) / 32))
		for s := first; s <= last; s++ {
			var places []op.Value
			for x := 32 * s; x < 32*s+32; x++ {
				v := none
				switch i := x - r.lo; {
				case i >= 0 && i < int64(len(r.values)):
					v = r.values[i]
				case !t.IsFloat() && join != op.Add: // any of the row's values, which is idempotent
					v = r.values[max(32*s, r.lo)-r.lo]
				}
				places = append(places, v)
			}
			segments = append(segments, halved(places, join))
		}
	}
	return treeOf(segments, join)
}

// halved combines a power of two of values, the first half with the second.
func halved(v []op.Value, join op.Op) op.Value {
	for len(v) > 1 {
		half := len(v) / 2
		next := make([]op.Value, half)
		for l := range next {
			next[l] = op.Binary(join, v[l], v[l+half])
		}
		v = next
	}
	return v[0]
}

// treeOf combines values over the binary tree.
func treeOf(v []op.Value, join op.Op) op.Value {
	if len(v) == 1 {
		return v[0]
	}
	half := 1
	for 2*half < len(v) {
		half *= 2
	}
	return op.Binary(join, treeOf(v[:half], join), treeOf(v[half:], join))
}

var reductions = map[string]op.Op{"sum": op.Add, "max": op.Max, "min": op.Min}

// Reductions take the order that ir.Reduce describes, in every mode but fast
// without a bound, wherever a domain starts, and with zeros of either sign and NaN.
func TestReductionTree(t *testing.T) {
	lengths := []int{1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 1031, 2053}
	for i, n := range lengths {
		for _, rows := range [][]int{{}, {1}, {3}, {2, 5}} {
			for _, color := range []string{"", "(color 3 1 1)"} {
				for _, special := range []string{"", "zeros", "nan"} {
					lo := []int64{0, 1, -1, 5, 31, 32, -33, 40}[(i+len(rows)+len(special))%8]
					reductionCase(t, n, lo, rows, color, special, i)
				}
			}
		}
	}
	reductionCase(t, 70001, 3, nil, "", "", 0)
}

func reductionCase(t *testing.T, n int, lo int64, outer []int, color, special string, turn int) {
	axes := []string{"k", "j", "i"}[2-len(outer):]
	var dims, domain strings.Builder
	count := 1
	for d, axis := range axes {
		from, to := int64(2*d-1), int64(0)
		if d == len(axes)-1 {
			from, to = lo, lo+int64(n)-1
			count *= n
		} else {
			to = from + int64(outer[d]) - 1
			count *= outer[d]
		}
		fmt.Fprintf(&dims, " (dim %s %d %d)", axis, from, to)
		fmt.Fprintf(&domain, " (%s (lo %d) (hi %d))", axis, from, to)
	}
	if color != "" {
		color = "(color 3 1" + strings.Repeat(" 0", len(axes)-1) + " 1)"
	}
	elem := []string{"f32", "f64"}[turn%2]
	kinds := []string{"sum", "max", "min"}
	var scalars, reduces strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&scalars, "(scalar %s %s reduced)", k, elem)
		fmt.Fprintf(&reduces, "(reduce %s %s (over %s) (domain%s) %s (load u %s))", k, k, strings.Join(axes, " "),
			&domain, color, strings.Join(axes, " "))
	}
	text := fmt.Sprintf("(program p (axes %s) %s (grid u %s%s) (stage s (array u read (grid u)) %s) (body (run s)))",
		strings.Join(axes, " "), &scalars, elem, &dims, &reduces)
	mode := []interp.Mode{interp.NoBounds, interp.Exact, interp.Unfused}[turn%3]
	s := start(t, text, "", interp.Options{Bounds: mode, Workers: 1 + turn%3})
	of := map[string]types.Type{"f32": types.F32, "f64": types.F64}[elem]
	for cell := range count {
		v := math.Sin(float64(cell)) * math.Exp(float64(cell%40))
		switch {
		case special == "zeros":
			v = math.Copysign(0, float64(cell%7)-0.5)
			if turn%2 == 0 {
				v = math.Copysign(0, -1)
			}
		case special == "nan" && cell == count*2/3:
			v = math.NaN()
		}
		s.Grid("u").Set(cell, v)
	}
	run(t, s)
	for _, k := range kinds {
		join := reductions[k]
		none := map[string]op.Value{"sum": op.Float(of, 0), "max": op.Float(of, math.Inf(-1)),
			"min": op.Float(of, math.Inf(1))}[k]
		want := reduced(rowsOf(s, count, n, lo, of, color, none), join)
		got, bound := s.Scalar(bindScalar(s, k))
		if !got.Same(want) {
			t.Errorf("%d cells from %d in %v rows %s %s, %s, mode %d: the %s is %v, want %v", n, lo, outer, color,
				special, elem, mode, k, got, want)
		}
		if mode != interp.NoBounds && bound != 0 {
			t.Errorf("mode %d: the %s has the bound %g", mode, k, bound)
		}
	}
}

// rowsOf returns a grid's rows of n cells, with none for those of another colour.
func rowsOf(s *interp.State, count, n int, lo int64, of types.Type, color string, none op.Value) []rowOf {
	var rows []rowOf
	for cell := range count {
		v := op.Float(of, s.Grid("u").At(cell))
		if color != "" && (lo+int64(cell%n)+99)%3 != 1 {
			v = none
		}
		if cell%n == 0 {
			rows = append(rows, rowOf{lo: lo})
		}
		rows[len(rows)-1].values = append(rows[len(rows)-1].values, v)
	}
	return rows
}
