package fission

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// mostRecomputed is how far from its own cells a kernel may well compute values again, if no statement of it reads
// further than that (Rawat et al. 2019, section VI-B).
const mostRecomputed = 4

// Recompute splits stencils of a file, which means a program, so that no part computes values again further than 4
// cells from those that it stores, or than its statements read. Within that, parts are as large as their order allows.
// Stencils that remain whole are not in the list.
func Recompute(f *lang.File, p *ir.Program) []*Split {
	names := f.Names()
	var list []*Split
	for _, item := range f.Items {
		def, ok := item.(*lang.StencilDef)
		if !ok {
			continue
		}
		b := newBody(def, calls(f, def.Name.Name))
		var parts []*Part
		for _, part := range b.parts() {
			if n := len(parts); n > 0 {
				joined := b.part(slices.Concat(parts[n-1].Outputs, part.Outputs))
				if again, order := b.recomputed(p, joined); again <= max(mostRecomputed, order) {
					parts[n-1] = joined
					continue
				}
			}
			parts = append(parts, part)
		}
		if s := b.split(parts, names); len(s.Parts) > 1 {
			list = append(list, s)
		}
	}
	return list
}

// recomputed returns how far from the cells that a part stores it computes values that it reads itself, in cells along
// an axis, and how far its statements read; the largest in all calls of the stencil.
func (b *body) recomputed(p *ir.Program, part *Part) (again, order int64) {
	var places []diag.Range
	for _, i := range part.Statements {
		places = append(places, b.statements[i].Span())
	}
	for _, call := range p.Calls {
		if call.Stencil != b.def.Name.Name {
			continue
		}
		first := map[*ir.Array]int{} // where arrays are first assigned
		var of []*ir.Stmt
		for _, st := range call.Body {
			within := func(r diag.Range) bool { return r.Start <= st.Range.Start && st.Range.End <= r.End }
			if !slices.ContainsFunc(places, within) {
				continue
			}
			if _, ok := first[st.Array]; st.Array != nil && !ok {
				first[st.Array] = len(of)
			}
			of = append(of, st)
		}
		far, farTemps := map[*ir.Array]int64{}, map[*ir.Temp]int64{}
		for i, st := range slices.Backward(of) {
			base, used := far[st.Array]
			if st.Temp != nil {
				base, used = farTemps[st.Temp]
			}
			if own := st.Temp != nil || st.Array != nil && st.Array.Local; own && !used {
				continue // another part needs it
			}
			ir.Walk(st.Value, func(x ir.Expr) {
				switch x := x.(type) {
				case ir.TempRef:
					farTemps[x.Temp] = max(farTemps[x.Temp], base)
				case *ir.Access:
					reach := int64(0)
					for _, ix := range x.Index {
						if ix.Axis >= 0 {
							reach = max(reach, ix.Offset, -ix.Offset)
						}
					}
					order = max(order, reach)
					if at, ok := first[x.Array]; ok && at < i {
						far[x.Array] = max(far[x.Array], base+reach)
						again = max(again, far[x.Array])
					}
				}
			})
		}
	}
	return again, order
}
