package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// callBuilder makes a call of a stencil's body with its formals bound, or of the
// initial blocks.
type callBuilder struct {
	c    *checker
	info *stencilInfo
	step *CallStep // nil for an initial block
	box  ir.Box    // the call's domain, or nil
	env  *env
	call *ir.Call

	grids   map[*ir.Grid]*ir.Array
	formals []*ir.Array // in the order of the formals
	globals []*ir.Array // that the body names itself, by first use
	locals  []*ir.Array
	fixed   map[*ir.Array]bool // one iterator a dimension, whatever the access
	taken   map[string]bool    // names of arrays and temps

	reads      map[*ir.Access]diag.Range // where the accesses stand
	vary       map[*ir.Temp][]int        // axes on which a temp varies
	values     map[*ir.Temp]ir.Expr      // what temps are assigned
	olds       map[*ir.Array]*ir.Array   // copies that keep old values
	readBox    map[*ir.Array]ir.Box      // a local grid's box when it was first read through a boundary
	boundaries *boundaryRules
	intoGrid   bool                    // the statement assigns to a grid
	tempReads  map[*ir.Temp]*tempReads // of scalar locals, once they were asked for
}

// key names the ir.Call that a call in the source needs: calls with equal keys share it.
func (b *boundCall) key(s *CallStep, box ir.Box, p *ir.Program) string {
	var k strings.Builder
	k.WriteString(b.info.def.Name.Name)
	for i, a := range b.args {
		k.WriteString(", ")
		if _, ok := a.(*argSym); ok {
			k.WriteString(exprText(s.Args[i]))
		} else {
			k.WriteString(s.Args[i].(*Ident).Name)
		}
	}
	for _, r := range box {
		fmt.Fprintf(&k, " %s:%s", r.Lo[0].Text(p.Params), r.Hi[0].Text(p.Params))
	}
	return k.String()
}

func (c *checker) newCallBuilder(info *stencilInfo, call *ir.Call, l level) *callBuilder {
	s := &callBuilder{
		c: c, info: info, call: call, env: c.newEnv(l),
		grids: make(map[*ir.Grid]*ir.Array), fixed: make(map[*ir.Array]bool), taken: make(map[string]bool),
		reads: make(map[*ir.Access]diag.Range), vary: make(map[*ir.Temp][]int), values: make(map[*ir.Temp]ir.Expr),
		olds:    make(map[*ir.Array]*ir.Array),
		readBox: make(map[*ir.Array]ir.Box),
	}
	s.env.builder = s
	s.boundaries = &boundaryRules{c: c, env: s.uniformEnv(), set: make(map[*ir.Boundary]diag.Range)}
	return s
}

// makeCall binds a stencil's formals and lowers its body; nil after a report.
func (c *checker) makeCall(step *CallStep, b *boundCall, box ir.Box) *ir.Call {
	def := b.info.def
	before := c.diags.Count(diag.Error)
	call := &ir.Call{
		Name: c.callName(def.Name.Name), Stencil: def.Name.Name, Range: def.Name.Span(), Hints: c.hints(def.Pragma),
	}
	s := c.newCallBuilder(b.info, call, atCells)
	s.step, s.box = step, box
	for i, f := range def.Formals {
		name := f.Name.Name
		if b.info.formals[name] != f {
			continue
		}
		switch a := b.args[i].(type) {
		case *gridSym:
			arr := s.array(a, name)
			arr.InOut = arr.InOut || f.InOut
			if !slices.Contains(s.formals, arr) {
				s.formals = append(s.formals, arr)
			}
			s.env.names[name] = &arraySym{array: arr, broken: a.broken}
		default:
			s.env.names[name] = a
		}
	}
	s.boundaries.env = s.uniformEnv()
	if len(b.info.body) > maxStatements {
		return nil
	}
	s.body(b.info.body)
	s.reducedArguments(b)
	if c.damaged || c.diags.Count(diag.Error) > before {
		return nil
	}
	s.finish()
	return call
}

func (c *checker) callName(name string) string {
	n := 1
	if name == "initial" && len(c.initials) > 0 {
		n++ // the initial block's call
	}
	for _, s := range c.prog.Calls {
		if s.Stencil == name {
			n++
		}
	}
	if n == 1 {
		return name
	}
	return name + "." + strconv.Itoa(n)
}

// initial makes the call of the file's initial blocks.
func (c *checker) initial() {
	if len(c.initials) == 0 {
		return
	}
	before := c.diags.Count(diag.Error)
	call := &ir.Call{Name: "initial", Stencil: "initial", Hints: ir.Hints{Stream: -1}}
	s := c.newCallBuilder(nil, call, atInitial)
	for _, info := range c.initials {
		if len(info.body) > maxStatements {
			return
		}
		s.info = info
		s.env.names = make(map[string]symbol)
		s.body(info.body)
	}
	if c.damaged || c.diags.Count(diag.Error) > before {
		return
	}
	s.finish()
	c.prog.Initial = call
}

// uniformEnv returns a scope for values inside the body that do not vary over
// cells: the formals and tables known so far.
func (s *callBuilder) uniformEnv() *env {
	u := s.c.newEnv(atSteps)
	for _, name := range sortedNames(s.env.names) {
		u.names[name] = s.env.names[name]
	}
	return u
}

// finish puts the arrays that are used into the call.
func (s *callBuilder) finish() {
	s.clipToBoxes()
	s.keepTemps()
	for _, list := range [][]*ir.Array{s.formals, s.globals, s.locals} {
		for _, a := range list {
			if a.Read || a.Written {
				s.call.Arrays = append(s.call.Arrays, a)
			}
		}
	}
}

// unique returns name, or name.2, name.3 and so on if it is taken.
func (s *callBuilder) unique(name string) string {
	out := name
	for n := 2; s.taken[out]; n++ {
		out = name + "." + strconv.Itoa(n)
	}
	s.taken[out] = true
	return out
}

// array returns the call's view of a grid. The first name it goes by stays.
func (s *callBuilder) array(g *gridSym, name string) *ir.Array {
	if a, ok := s.grids[g.grid]; ok {
		return a
	}
	a := &ir.Array{Name: s.unique(name), Type: g.grid.Type, Dims: slices.Clone(g.grid.Dims), Grid: g.grid}
	s.grids[g.grid] = a
	s.fixed[a] = g.axes.fixed
	return a
}

// arrayNamed returns the array that a name of the body stands for, or nil.
func (s *callBuilder) arrayNamed(name string) *ir.Array {
	switch sym := s.env.lookup(name).(type) {
	case *arraySym:
		return sym.array
	case *gridSym:
		_, known := s.grids[sym.grid]
		a := s.array(sym, name)
		if !known {
			s.globals = append(s.globals, a)
		}
		return a
	}
	return nil
}

func (s *callBuilder) body(list []Stmt) {
	for _, st := range list {
		s.c.reset()
		switch st := st.(type) {
		case *VarDecl:
			s.declare(st)
		case *Assignment:
			s.assign(st)
		case *Reduction:
			s.reduce(st)
		case *BoundaryDecl, *Storage, *AssignDirective:
			// Boundaries are applied where the grids are declared, hints below.
		}
	}
	for _, st := range list {
		switch st := st.(type) {
		case *Storage:
			s.storage(st)
		case *AssignDirective:
			for _, g := range st.Groups {
				s.storage(g)
			}
		case *BoundaryDecl:
			s.checkBoundary(st)
		}
	}
}

// declare enters the locals of a declaration.
func (s *callBuilder) declare(d *VarDecl) {
	t, _ := types.FromWord(d.Type.Name)
	for _, v := range d.Vars {
		name := v.Name.Name
		switch {
		case s.info.locals[name] != v:
			// Reported when the stencil was looked at.
		case v.Table != nil:
			table := &tableSym{name: name, typ: t, env: s.uniformEnv(), decl: v}
			s.c.tableValue(table)
			table.check()
			s.env.names[name] = table
		case len(v.Dims) > 0:
			s.declareGrid(t, v)
		default:
			sym := &tempSym{name: name, typ: t}
			if v.Value == nil {
				s.env.names[name] = sym
				continue
			}
			// The value is read before the name is known.
			temp := s.temp(sym, v.Value, d.Domain, v.Span())
			s.env.names[name] = sym
			sym.now = temp
		}
	}
}

func (s *callBuilder) declareGrid(t types.Type, v *Declarator) {
	dims, ok := s.env.dims(v)
	if v.Value != nil {
		s.c.diags.Errorf(v.Value.Span(), "a local grid takes its values from assignments")
		ok = false
	}
	name := v.Name.Name
	a := &ir.Array{Name: s.unique(name), Type: t, Dims: dims, Local: true}
	use := newAxisUse(len(dims))
	use.fixed = true
	for _, x := range s.info.indexed[name] {
		use.add(s.c, x)
	}
	if ok {
		var axes []int
		axes, ok = use.settle(s.c, v.Name)
		for d, axis := range axes {
			a.Dims[d].Axis = axis
		}
	}
	s.env.names[name] = &arraySym{array: a, broken: !ok}
	if !ok {
		return
	}
	s.fixed[a] = true
	s.locals = append(s.locals, a)
	for _, st := range s.info.body {
		b, ok := st.(*BoundaryDecl)
		if !ok {
			continue
		}
		for _, id := range b.Grids {
			if id.Name == name {
				s.boundaries.apply(id, t, a.Dims, b.Rules)
			}
		}
	}
}

// checkBoundary reports boundaries inside a body that are of no local grid.
func (s *callBuilder) checkBoundary(d *BoundaryDecl) {
	for _, id := range d.Grids {
		if v := s.info.locals[id.Name]; v != nil {
			if len(v.Dims) == 0 || v.Table != nil {
				s.c.diags.Errorf(id.Span(), "boundary names grids, and %q is %s", id.Name, s.env.lookup(id.Name).kind())
			}
			continue
		}
		if s.env.lookup(id.Name) != nil {
			s.c.diags.Errorf(id.Span(), "%q is not a local grid of this stencil", id.Name).
				Hintf("the boundary of a grid is declared outside the stencils, beside the grid")
		}
	}
}

// reducedArguments reports arguments whose value would change under way,
// because the call reduces into a scalar that they are made of.
func (s *callBuilder) reducedArguments(b *boundCall) {
	for _, st := range s.call.Body {
		if st.Reduce == nil {
			continue
		}
		target := st.Reduce.Scalar
		for i, f := range b.info.def.Formals {
			arg, ok := b.args[i].(*argSym)
			if !ok || b.info.bare[f.Name.Name] == nil || s.reduceTarget(f.Name.Name, target) {
				continue
			}
			WalkNames(arg.expr, func(id *Ident) {
				if g, ok := s.c.globals[id.Name].(*scalarSym); ok && g.scalar == target {
					s.c.diags.Errorf(id.Span(), "stencil %s reduces into %q, so its argument %q would change under way",
						b.info.def.Name.Name, id.Name, f.Name.Name).
						Notef(st.Range, "the reduction stands here")
				}
			})
		}
	}
}

// reduceTarget reports whether the body reduces into target by that name.
func (s *callBuilder) reduceTarget(name string, target *ir.Scalar) bool {
	for _, st := range s.info.body {
		if r, ok := st.(*Reduction); ok && r.Target.Name == name {
			return s.scalarNamed(r.Target) == target
		}
	}
	return false
}

// scalarNamed returns the scalar of the program that a name stands for, nil if
// it is none.
func (s *callBuilder) scalarNamed(id *Ident) *ir.Scalar {
	sym := s.env.lookup(id.Name)
	if arg, ok := sym.(*argSym); ok {
		inner, ok := unparen(arg.expr).(*Ident)
		if !ok {
			return nil
		}
		sym = s.c.globals[inner.Name]
	}
	if g, ok := sym.(*scalarSym); ok {
		return g.scalar
	}
	return nil
}
