package transform

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// sources is what a value is computed from, through temps too.
type sources struct {
	accesses []*ir.Access
	scalars  map[*ir.Scalar]bool
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
	out := sources{scalars: map[*ir.Scalar]bool{}}
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
			case ir.TempRef:
				if !seen[e.Temp] {
					seen[e.Temp] = true
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

// mentions reports whether an expression itself reads a temp.
func mentions(e ir.Expr, t *ir.Temp) bool {
	found := false
	ir.Walk(e, func(e ir.Expr) {
		r, ok := e.(ir.TempRef)
		found = found || ok && r.Temp == t
	})
	return found
}

// lastUse returns the index of the last statement that needs what statement i
// computes; for a temp that is one which reads it, perhaps through others.
func lastUse(body []*ir.Stmt, i int) int {
	last := i
	if t := body[i].Temp; t != nil {
		for k := i + 1; k < len(body); k++ {
			if mentions(body[k].Value, t) {
				last = max(last, lastUse(body, k))
			}
		}
	}
	return last
}

// varies returns the axes on which a temp varies.
func varies(t *ir.Temp, def map[*ir.Temp]*ir.Stmt) []int {
	return ir.AxesOf(len(t.Box), def[t].Value, func(u *ir.Temp) []int { return varies(u, def) })
}
