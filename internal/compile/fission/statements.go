package fission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Cut is how the statements of a stencil are cut into parts, each of which is a stencil that is called before the next
// one. What a part computes for later ones, it leaves in grids: values of scalar locals, and the first terms of sums,
// which are the same to the bit, since a sum is computed from the left.
type Cut struct {
	Stencil string
	Values  []*StoredValue
	Parts   int // the last one is the stencil itself, with what is left

	body    *body
	names   []string                  // of the parts' stencils; the last is that of the stencil
	domains map[*lang.CallStep]string // of all statements of a call
	like    *lang.Ident               // the grid, as it is declared, whose shape the values' grids have
	cell    string                    // the index of the cell that is computed
	dims    string                    // of the grid, as it is declared
}

// StoredValue is the value of a scalar local, or of a sum that a statement assigns, in a grid.
type StoredValue struct {
	Name      string // of the grid
	Statement int    // of the body
	Type      string
	// Ends are how many terms of the sum are computed by the end of each part but the last. A value that has all its
	// terms there is whole: the statement reads it alone.
	Ends  []int
	terms []term
	x     lang.Expr
}

// term is a term of a sum: its place with the operator before it, and how many cells it reads.
type term struct {
	at     diag.Range
	loads  int
	before ir.Expr // the sum of those before it; nil for the first
}

// String returns the parts in a line.
//
// Example text:
//
//	flux: 2 parts, in grids x, 3 of 5 terms of out
func (c *Cut) String() string {
	var parts []string
	for _, v := range c.Values {
		text := c.body.statements[v.Statement].writes[0]
		if n := v.Ends[len(v.Ends)-1]; n < len(v.terms) {
			text = fmt.Sprintf("%d of %d terms of %s", n, len(v.terms), text)
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("%s: %d parts, in grids %s", c.Stencil, c.Parts, strings.Join(parts, ", "))
}

// fewestLoads is how many cells the values of a part read at least: less is not worth a grid in memory.
const fewestLoads = 4

// smallLocal is the part of the loads of a part, as one of so many, below which a scalar local is computed again where
// it is needed.
const smallLocal = 8

// Limit says how far statements are cut: into so many parts, or until the cells that a part's statements read fit in so
// many registers of a thread. One of them is 0. Of values that are shared across cells it says how many there are at
// most; 0 for all that are worth it.
type Limit struct{ Parts, Registers, Values int }

// MostParts bounds the parts of a stencil, and FewParts is how many it has where nothing is said.
const MostParts, FewParts = 16, 2

// parts returns how many parts statements become that read so many cells of a type.
func (l Limit) parts(loads int, t types.Type) int {
	if l.Registers == 0 {
		return l.Parts
	}
	needed := loads * max(1, t.Size()/4)
	return min(MostParts, (needed+l.Registers-1)/l.Registers)
}

// Statements cuts the statements of stencils of a file, which means a program: about as many cells are read in each
// part. Stencils stay whole that have grids of their own, reductions, or statements on different domains, and those
// whose values need what the stencil has assigned before.
func Statements(f *lang.File, p *ir.Program, l Limit) []*Cut {
	names := f.Names()
	var list []*Cut
	for _, item := range f.Items {
		def, ok := item.(*lang.StencilDef)
		if !ok {
			continue
		}
		c := &Cut{Stencil: def.Name.Name, body: newBody(def, calls(f, def.Name.Name))}
		if c.possible(f, p) && c.divide(p, l, names) {
			list = append(list, c)
		}
	}
	return list
}

// callsOf returns the calls of a stencil in a program.
func callsOf(p *ir.Program, stencil string) []*ir.Call {
	var list []*ir.Call
	for _, call := range p.Calls {
		if call.Stencil == stencil {
			list = append(list, call)
		}
	}
	return list
}

// possible reports whether the stencil's statements may be cut, and finds their domains and the shape of their grids.
func (c *Cut) possible(f *lang.File, p *ir.Program) bool {
	for _, st := range c.body.def.Body {
		switch st := st.(type) {
		case *lang.VarDecl:
			arrays := func(v *lang.Declarator) bool { return v.Dims != nil && v.Table == nil }
			if st.Domain != nil || slices.ContainsFunc(st.Vars, arrays) {
				return false
			}
		case *lang.Assignment:
			if st.Domain != nil || st.Color != nil {
				return false
			}
			if x, ok := st.Target.(*lang.IndexExpr); ok && c.cell == "" {
				c.cell = f.Source.Text[x.Name.Span().End:x.Span().End]
			}
		case *lang.Storage, *lang.AssignDirective:
		default:
			return false
		}
	}
	runs := callsOf(p, c.Stencil)
	if c.cell == "" || len(runs) == 0 || len(runs) != len(c.body.calls) {
		return false
	}
	c.domains = map[*lang.CallStep]string{}
	for n, run := range runs {
		domain := domainOf(p, run)
		if domain == "" {
			return false
		}
		c.domains[c.body.calls[n]] = domain
		if !c.shaped(f, run) {
			return false
		}
	}
	return true
}

// domainOf returns the domain of all statements of a call as text; "" if they have not one with all axes.
func domainOf(p *ir.Program, run *ir.Call) string {
	var box ir.Box
	for _, st := range run.Body {
		switch {
		case st.Temp != nil:
		case st.Array == nil || st.Color != nil || len(st.Axes) != len(p.Axes):
			return ""
		case box == nil:
			box = st.Domain
		case !box.Equal(st.Domain):
			return ""
		}
	}
	var ranges []string
	for _, r := range box {
		if len(r.Lo) != 1 || len(r.Hi) != 1 {
			return ""
		}
		ranges = append(ranges, r.Lo[0].Text(p.Params)+":"+r.Hi[0].Text(p.Params))
	}
	if len(ranges) == 0 {
		return ""
	}
	return "[" + strings.Join(ranges, ", ") + "]"
}

// shaped notes the shape of the grids that a call assigns, and reports whether it is that of the calls before.
func (c *Cut) shaped(f *lang.File, run *ir.Call) bool {
	for _, st := range run.Body {
		if st.Array == nil || st.Array.Grid == nil {
			continue
		}
		for _, item := range f.Items {
			d, ok := item.(*lang.VarDecl)
			if !ok {
				continue
			}
			for _, v := range d.Vars {
				if v.Name.Name != st.Array.Grid.Name {
					continue
				}
				dims := f.Source.Text[v.Name.Span().End:v.Span().End]
				if c.like == nil {
					c.like, c.dims = v.Name, dims
				}
				if c.dims != dims {
					return false
				}
			}
		}
	}
	return c.like != nil
}

// divide chooses the values that parts leave in grids, and reports whether there are any.
func (c *Cut) divide(p *ir.Program, l Limit, names map[string]bool) bool {
	run := callsOf(p, c.Stencil)[0]
	total, typ := 0, types.F32
	for _, st := range run.Body {
		total += len(loadsOf(st.Value))
		if st.Value.Type() == types.F64 {
			typ = types.F64
		}
	}
	c.Parts = l.parts(total, typ)
	if c.Parts < 2 {
		return false
	}
	least := max(fewestLoads, total/(smallLocal*c.Parts))
	var values []*StoredValue
	all := 0
	for n, st := range c.body.statements {
		v := c.value(run, n, st)
		if v == nil || c.body.locals[st.writes[0]] && v.loads() < least {
			continue
		}
		values = append(values, v)
		all += v.loads()
	}
	if c.Parts = min(c.Parts, all/fewestLoads); c.Parts < 2 {
		return false
	}
	each := float64(all) / float64(c.Parts)
	read := 0
	for _, v := range values {
		of := c.body.statements[v.Statement]
		for part := 1; part < c.Parts; part++ {
			end, sum := 0, read
			for i, t := range v.terms {
				if float64(sum)+float64(t.loads)/2 > float64(part)*each {
					break
				}
				sum += t.loads
				if i == len(v.terms)-1 || v.terms[i+1].cuttable() {
					end = i + 1
				}
			}
			if _, local := of.Stmt.(*lang.VarDecl); !local && end == len(v.terms) {
				end = v.mostBut() // the last term is added where the result is stored
			}
			v.Ends = append(v.Ends, end)
		}
		read += v.loads()
		if v.Ends[len(v.Ends)-1] > 0 {
			c.Values = append(c.Values, v)
		}
	}
	for part := 1; part < c.Parts; part++ {
		c.names = append(c.names, unused(fmt.Sprintf("%s_part%d", c.Stencil, part), names))
	}
	c.names = append(c.names, c.Stencil)
	for _, v := range c.Values {
		v.Name = unused(c.Stencil+"_"+c.body.statements[v.Statement].writes[0], names)
	}
	return len(c.Values) > 0
}

// cuttable reports whether a sum may be cut before the term. Where the first of two terms is a product, and the second
// none, the product is taken into the sum (ir.Program.In): it must not have a name.
func (t *term) cuttable() bool {
	if t.before == nil {
		return false
	}
	_, _, _, product := ir.Product(t.before)
	return !product
}

// loads counts the cells that the terms read.
func (v *StoredValue) loads() int {
	n := 0
	for _, t := range v.terms {
		n += t.loads
	}
	return n
}

// mostBut returns the largest number of terms, and not all, that the sum may be cut after.
func (v *StoredValue) mostBut() int {
	for n := len(v.terms) - 1; n > 0; n-- {
		if v.terms[n].cuttable() {
			return n
		}
	}
	return 0
}

// typeNames are the types of values in the language.
var typeNames = map[types.Type]string{types.F64: "double", types.F32: "float"}

// value returns what a statement computes as a value that parts may compute; nil if they may not.
func (c *Cut) value(run *ir.Call, n int, st *statement) *StoredValue {
	var x lang.Expr
	of := st.Span()
	switch s := st.Stmt.(type) {
	case *lang.VarDecl:
		if st.declares.Value == nil || st.declares.Table != nil || s.Type.Name != "double" && s.Type.Name != "float" ||
			c.assignedAgain(n) {
			return nil
		}
		x, of = st.declares.Value, st.declares.Span()
	case *lang.Assignment:
		if s.Op != lang.Assign && s.Op != lang.AddAssign && s.Op != lang.SubAssign || c.body.locals[st.writes[0]] {
			return nil
		}
		x = s.Value
	default:
		return nil
	}
	made := stmtAt(run, of)
	if made == nil || !made.Value.Type().IsFloat() {
		return nil
	}
	value := made.Value
	if s, ok := st.Stmt.(*lang.Assignment); ok && s.Op != lang.Assign {
		whole, ok := value.(*ir.Binary)
		if !ok {
			return nil
		}
		value = whole.Y
	}
	if !c.early(n, x) {
		return nil
	}
	v := &StoredValue{Statement: n, Type: typeNames[value.Type()], terms: termsOf(x, value), x: x}
	if _, isLocal := st.Stmt.(*lang.VarDecl); !isLocal && len(v.terms) < 2 {
		return nil
	}
	return v
}

// assignedAgain reports whether a local that a statement declares is assigned by another.
func (c *Cut) assignedAgain(n int) bool {
	for i, other := range c.body.statements {
		if i != n && slices.Contains(other.writes, c.body.statements[n].writes[0]) {
			return true
		}
	}
	return false
}

// stmtAt returns the statement of a call that stands at a place in the source, or in it.
func stmtAt(run *ir.Call, at diag.Range) *ir.Stmt {
	for _, st := range run.Body {
		if at.Start <= st.Range.Start && st.Range.End <= at.End {
			return st
		}
	}
	return nil
}

// early reports whether the value of a statement's expression is the same before all statements of the stencil: neither
// it nor a local that it needs reads what a statement before it assigns.
func (c *Cut) early(n int, x lang.Expr) bool {
	needed := c.needs(n, namesIn(x))
	for _, i := range append(needed, n) {
		reads := c.body.statements[i].reads
		if i == n {
			reads = namesIn(x)
		}
		for _, before := range c.body.statements[:i] {
			if c.body.conflict(&statement{reads: reads}, &statement{writes: before.writes}) {
				return false
			}
		}
	}
	return true
}

func namesIn(x lang.Expr) []string {
	var list []string
	lang.WalkNames(x, func(id *lang.Ident) { list = append(list, id.Name) })
	return list
}

// needs returns the statements before one that assign the locals of some names, and what these need.
func (c *Cut) needs(n int, names []string) []int {
	used := map[string]bool{}
	for _, name := range names {
		used[name] = true
	}
	var list []int
	for i, st := range slices.Backward(c.body.statements[:n]) {
		if !slices.ContainsFunc(st.writes, func(w string) bool { return c.body.locals[w] && used[w] }) {
			continue
		}
		list = append(list, i)
		for _, name := range st.reads {
			used[name] = true
		}
	}
	slices.Reverse(list)
	return list
}

// termsOf returns the terms of a sum, the first with no operator; one if it is no sum.
func termsOf(x lang.Expr, value ir.Expr) []term {
	sum, ok := x.(*lang.BinaryExpr)
	made, same := value.(*ir.Binary)
	plus := ok && same && sum.Op == lang.Plus && made.Op == op.Add
	minus := ok && same && sum.Op == lang.Minus && made.Op == op.Sub
	if !plus && !minus {
		return []term{{at: x.Span(), loads: len(loadsOf(value))}}
	}
	list := termsOf(sum.X, made.X)
	return append(list, term{diag.Range{Start: sum.X.Span().End, End: sum.Span().End}, len(loadsOf(made.Y)), made.X})
}

// loadsOf returns the cells that an expression reads, each once.
func loadsOf(x ir.Expr) map[string]bool {
	list := map[string]bool{}
	ir.Walk(x, func(x ir.Expr) {
		if a, ok := x.(*ir.Access); ok {
			list[fmt.Sprint(a.Array.Name, a.Index)] = true
		}
	})
	return list
}

// done returns how many terms of the value are computed before a part, which counts from 1.
func (v *StoredValue) done(part int) int {
	if part < 2 {
		return 0
	}
	return v.Ends[min(part-2, len(v.Ends)-1)]
}

// names returns the names in some of the terms.
func (v *StoredValue) names(from, to int) []string {
	var list []string
	lang.WalkNames(v.x, func(id *lang.Ident) {
		for _, t := range v.terms[from:to] {
			if t.at.Start <= id.Span().Start && id.Span().End <= t.at.End {
				list = append(list, id.Name)
			}
		}
	})
	return list
}
