package cli

import (
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// statistics describes a grid's contents. Cells that are not a number are
// counted and otherwise left out.
func statistics(g *ir.Grid, shape []int, cells []byte) gridResult {
	out := gridResult{Name: g.Name, Shape: shape, Min: math.Inf(1), Max: math.Inf(-1)}
	a := &gridio.Array{Type: g.Type, Shape: shape, Data: cells}
	n := int64(len(cells) / g.Type.Size())
	var sum float64
	for i := range int(n) {
		v := a.At(i)
		if v != v {
			out.NaNs++
			continue
		}
		out.Min, out.Max = min(out.Min, v), max(out.Max, v)
		sum += v
	}
	if n == out.NaNs {
		return gridResult{Name: g.Name, Shape: shape, NaNs: n}
	}
	out.Mean = sum / float64(n-out.NaNs)
	return out
}

// jsonNumber returns a value as JSON can hold it: what is no number as text.
func jsonNumber(v op.Value) any {
	if v.T.IsFloat() {
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return fmt.Sprint(v.F)
		}
		return v.F
	}
	return v.I
}
