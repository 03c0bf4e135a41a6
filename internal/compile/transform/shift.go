package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// offset is a displacement of cells, by axis of the program.
type offset []int64

func (o offset) zero() bool { return !slices.ContainsFunc(o, func(d int64) bool { return d != 0 }) }

// on returns the displacement along some axes, and none along the others.
func (o offset) on(axes []int) offset {
	out := make(offset, len(o))
	for _, a := range axes {
		out[a] = o[a]
	}
	return out
}

// suffix spells a displacement in a name: jm1_ip2.
func (o offset) suffix(axes []string) string {
	var parts []string
	for a, d := range o {
		switch {
		case d > 0:
			parts = append(parts, fmt.Sprintf("%sp%d", axes[a], d))
		case d < 0:
			parts = append(parts, fmt.Sprintf("%sm%d", axes[a], -d))
		}
	}
	return strings.Join(parts, "_")
}

// shift returns an expression whose value at a cell is that of e at the cell
// displaced by o. Temps are replaced by what temp returns for them.
func shift(e ir.Expr, o offset, temp func(*ir.Temp) ir.Expr) ir.Expr {
	if o.zero() {
		return e
	}
	return ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		switch e := e.(type) {
		case *ir.Access:
			moved := &ir.Access{Array: e.Array}
			for _, ix := range e.Index {
				if ix.Axis >= 0 {
					ix.Offset += o[ix.Axis]
				}
				moved.Index = append(moved.Index, ix)
			}
			return moved
		case ir.Pos:
			switch d := o[e.Axis]; {
			case d > 0:
				return &ir.Binary{Op: op.Add, X: e, Y: ir.Const{Value: op.Int(types.I32, d)}}
			case d < 0:
				return &ir.Binary{Op: op.Sub, X: e, Y: ir.Const{Value: op.Int(types.I32, -d)}}
			}
		case ir.TempRef:
			return temp(e.Temp)
		}
		return e
	})
}

// shiftBox returns where a value is defined that is displaced by o.
func shiftBox(b ir.Box, o offset) ir.Box {
	out := make(ir.Box, len(b))
	for axis, r := range b {
		out[axis] = r.Shift(-o[axis])
	}
	return out
}

// sizeOf counts the nodes of all expressions of a body.
func sizeOf(body []*ir.Stmt) int {
	n := 0
	for _, st := range body {
		ir.Walk(st.Value, func(ir.Expr) { n++ })
	}
	return n
}

// Substituted returns an expression with the values of local grids in the place of their reads; value returns nil for
// arrays that stay. Values have nothing left to inline.
func Substituted(e ir.Expr, value func(*ir.Array) ir.Expr) ir.Expr {
	return ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		acc, ok := e.(*ir.Access)
		if !ok {
			return e
		}
		x := value(acc.Array)
		if x == nil {
			return e
		}
		var at offset
		for _, ix := range acc.Index {
			for len(at) <= ix.Axis {
				at = append(at, 0)
			}
			at[ix.Axis] = ix.Offset
		}
		return shift(x, at, keepTemp)
	})
}
