package transform

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// sources is what a value is computed from, through temps too.
type sources struct {
	accesses  []*ir.Access
	scalars   map[*ir.Scalar]bool
	temps     []*ir.Temp
	positions map[int]bool // by axis
}

// definitions returns the statements that assign temps.
func definitions(body []*ir.Stmt) map[*ir.Temp]*ir.Stmt {
	def := map[*ir.Temp]*ir.Stmt{}
	for _, st := range body {
		if st.Temp != nil {
			def[st.Temp] = st
		}
	}
	return def
}

// sourcesOf looks through an expression, its temps, and the values beyond the
// faces of the arrays that it reads.
func sourcesOf(e ir.Expr, def map[*ir.Temp]*ir.Stmt) sources {
	out := sources{scalars: map[*ir.Scalar]bool{}, positions: map[int]bool{}}
	seen := map[*ir.Temp]bool{}
	var visit func(e ir.Expr)
	visit = func(e ir.Expr) {
		ir.Walk(e, func(e ir.Expr) {
			switch e := e.(type) {
			case *ir.Access:
				out.accesses = append(out.accesses, e)
				for _, d := range e.Array.Dims {
					for _, f := range []ir.Boundary{d.Faces.Low, d.Faces.High} {
						if f.Value != nil {
							visit(f.Value)
						}
					}
				}
			case ir.ScalarRef:
				out.scalars[e.Scalar] = true
			case ir.Pos:
				out.positions[e.Axis] = true
			case ir.TempRef:
				if !seen[e.Temp] {
					seen[e.Temp] = true
					out.temps = append(out.temps, e.Temp)
					visit(def[e.Temp].Value)
				}
			}
		})
	}
	visit(e)
	return out
}

// reads reports whether an array is among the sources.
func (s sources) reads(a *ir.Array) bool {
	for _, acc := range s.accesses {
		if acc.Array == a {
			return true
		}
	}
	return false
}

// stays reports whether all reads of an array are of the cell itself.
func (s sources) stays(a *ir.Array) bool {
	for _, acc := range s.accesses {
		if acc.Array != a {
			continue
		}
		if a.HasBoundary() {
			return false
		}
		for d, ix := range acc.Index {
			if ix.Axis != a.Dims[d].Axis || ix.Offset != 0 {
				return false
			}
		}
	}
	return true
}

// lastUse returns the index of the last statement that needs what statement i
// computes, itself or through temps.
func lastUse(body []*ir.Stmt, i int) int {
	last := i
	made := map[*ir.Temp]bool{body[i].Temp: body[i].Temp != nil}
	for k := i + 1; k < len(body); k++ {
		ir.Walk(body[k].Value, func(e ir.Expr) {
			if r, ok := e.(ir.TempRef); ok && made[r.Temp] {
				last = k
			}
		})
		if last == k && body[k].Temp != nil {
			made[body[k].Temp] = true
		}
	}
	return last
}

// variations returns the axes on which each temp varies.
func variations(body []*ir.Stmt) map[*ir.Temp][]int {
	axes := map[*ir.Temp][]int{}
	for _, st := range body {
		if st.Temp != nil {
			axes[st.Temp] = ir.AxesOf(len(st.Domain), st.Value, func(t *ir.Temp) []int { return axes[t] })
		}
	}
	return axes
}
