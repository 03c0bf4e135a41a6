package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Product is two grids that a call reads as a product alone: wherever one is read, the other is a factor beside it, at
// the same point. One grid with the product would do in their place.
type Product struct {
	A, B string  // as the program calls them
	Part float64 // of the compulsory bytes of the call, that one of them is
}

// Products returns the pairs of grids that the call reads as products alone, and stores nothing to. No grid is in two
// of them.
func (s *CallFacts) Products() []Product {
	factors, reads := map[[2]*ir.Array]int{}, map[*ir.Array]int{}
	for _, st := range s.IR.Body {
		ir.Walk(st.Value, func(e ir.Expr) {
			if a, ok := e.(*ir.Access); ok {
				reads[a.Array]++
			}
		})
		eachProduct(st.Value, func(list []*ir.Access) {
			taken := map[*ir.Access]bool{}
			for i, a := range list {
				for _, b := range list[i+1:] {
					if !taken[a] && !taken[b] && a.Array != b.Array && slices.Equal(a.Index, b.Index) {
						taken[a], taken[b] = true, true
						factors[pairOf(s.IR, a.Array, b.Array)]++
					}
				}
			}
		})
	}
	var list []Product
	stored := func(a *ir.Array) bool {
		return slices.ContainsFunc(s.IR.Body,
			func(st *ir.Stmt) bool { return st.Array != nil && st.Array.Grid == a.Grid })
	}
	for i, a := range s.IR.Arrays {
		for _, b := range s.IR.Arrays[i+1:] {
			n := factors[[2]*ir.Array{a, b}]
			if n == 0 || n != reads[a] || n != reads[b] || a.Grid == nil || b.Grid == nil || a.Type != b.Type ||
				stored(a) || stored(b) {
				continue
			}
			p := Product{A: a.Grid.Name, B: b.Grid.Name}
			if s.Traffic.Compulsory > 0 {
				p.Part = min(1, float64(a.Type.Size())/s.Traffic.Compulsory)
			}
			list = append(list, p)
		}
	}
	return list
}

// pairOf puts two arrays of a call into its order.
func pairOf(s *ir.Call, a, b *ir.Array) [2]*ir.Array {
	if slices.Index(s.Arrays, a) > slices.Index(s.Arrays, b) {
		a, b = b, a
	}
	return [2]*ir.Array{a, b}
}

// eachProduct calls f with the accesses that are factors of each product of an expression. Those of a product within a
// product are its factors, too; the product that a fused multiply-add takes in is one.
func eachProduct(e ir.Expr, f func([]*ir.Access)) {
	within := map[ir.Expr]bool{} // factors of products further out
	ir.Walk(e, func(x ir.Expr) {
		var list []*ir.Access
		var gather func(x ir.Expr)
		gather = func(x ir.Expr) {
			switch x := x.(type) {
			case *ir.Access:
				list = append(list, x)
			case *ir.Binary:
				if x.Op == op.Mul {
					within[x] = true
					gather(x.X)
					gather(x.Y)
				}
			}
		}
		switch x := x.(type) {
		case *ir.Binary:
			if x.Op != op.Mul || within[x] {
				return
			}
			gather(x)
		case *ir.Fma:
			gather(x.X)
			gather(x.Y)
		default:
			return
		}
		if len(list) > 1 {
			f(list)
		}
	})
}
