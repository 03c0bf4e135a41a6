package emit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// library is what the templates are filled in with. The names of its fields
// are those that the templates use.
type library struct {
	module *kernel.Module
	opts   LibraryOptions

	Name   string  // prefix of the interface, name of files and targets
	Upper  string  // prefix of constants
	Module string  // Python module
	Class  string  // Python class
	Source foreign // the file's name
	Plan   foreign

	Sizes     []*librarySize
	Scalars   []*libraryScalar // in order of declaration
	Arguments []any            // of configure: *librarySize and *libraryScalar, in order of declaration
	Grids     []*libraryGrid   // the caller's in order of declaration, then the handle's own
	Loop      *ir.Iterate      // the body's only step, if it is an iterate

	Variants []*libraryVariant // none if there is nothing to pick from
	needs    map[*kernel.Scratch]variantSet

	*libraryCode // the text of the source's middle part

	scalars map[*ir.Scalar]*libraryScalar
	grids   map[*ir.Grid]*libraryGrid
	spans   []librarySpan
	spares  map[*kernel.Spare]*libraryGrid
}

// librarySize is a parameter of the program.
type librarySize struct {
	Name                      string // the source's
	C, Field, Python, Fortran string
	Default                   string // as mathematics; "" if it must be given
}

// libraryScalar is a scalar of the program.
type libraryScalar struct {
	scalar               *ir.Scalar
	Name                 string // the source's
	C, Field             string
	Python, Fortran      string
	GetFortran           string
	SetFortran           string
	Type                 types.Type
	Required             bool   // an argument of configure
	Result               bool   // the target of a reduction
	Value                string // of its first value, as mathematics; "" if none
	Word                 string // of its type in the stencil language
	CType, CTypes, FKind string
}

// libraryGrid is a grid of the program.
type libraryGrid struct {
	grid                *ir.Grid
	Index               int
	Name                string // the source's
	C, Field            string
	Python, Fortran     string
	IndexFortran        string
	GivenFortran        string
	Caller              bool
	Written             bool // the time loop writes or exchanges it
	Initialised         bool // the initial block writes it
	Rank                int
	Extents             []string // as mathematics
	ExtentsC            []string
	Positions           string // "u[k][j][i], k = 0..L-1, j = 0..M-1"
	Word                string
	CType, NumPy, FKind string
	CopyIn, CopyOut     bool
	Lead, Align         int64         // how it lies on a GPU
	Spare               *kernel.Spare // that it is in truth
	Only                string        // what has to hold for it to be needed
}

var (
	ctypesNames = map[types.Type]string{
		types.Bool: "c_bool", types.U8: "c_uint8", types.I32: "c_int32", types.F32: "c_float", types.F64: "c_double",
	}
	numpyNames = map[types.Type]string{
		types.Bool: "bool_", types.U8: "uint8", types.I32: "int32", types.F32: "float32", types.F64: "float64",
	}
	fortranArgs = map[types.Type]string{
		types.Bool: "logical(c_bool)", types.U8: "integer(c_int8_t)", types.I32: "integer(c_int32_t)",
		types.F32: "real(c_float)", types.F64: "real(c_double)",
	}
)

// maxLibraryGrids is how many arrays fit the set that init is given.
const maxLibraryGrids = 62

func newLibrary(m *kernel.Module, o LibraryOptions) (*library, error) {
	p := m.Program
	m = withSpannable(m)
	l := &library{
		module: m, opts: o, scalars: map[*ir.Scalar]*libraryScalar{}, grids: map[*ir.Grid]*libraryGrid{},
		needs: map[*kernel.Scratch]variantSet{}, spares: map[*kernel.Spare]*libraryGrid{},
	}
	name := o.Name
	if name == "" {
		name = p.Name
	}
	l.Name = libraryName(name)
	l.Upper = strings.ToUpper(l.Name)
	l.Module, l.Class = pythonModule(l.Name), pythonClass(l.Name)
	l.Source, l.Plan = foreign(o.Source), foreign(o.Plan)
	if l.Source == "" {
		l.Source = foreign(p.Name + ".loom")
	}
	if len(o.Variants) > 1 {
		if err := l.merge(o.Variants); err != nil {
			return nil, err
		}
		l.Plan = ""
	} else {
		for _, s := range m.Spans {
			l.spans = append(l.spans, librarySpan{s, -1})
		}
	}
	if len(p.Body) == 1 {
		if it, ok := p.Body[0].(*ir.Iterate); ok && !it.Sequence {
			l.Loop = it
		}
	}
	if err := l.checkFixed(); err != nil {
		return nil, err
	}
	l.members()
	if len(l.Grids) == 0 || len(l.CallerGrids()) == 0 && len(l.Scalars) == 0 {
		return nil, errors.New("nothing goes into the program or comes out of it, so it makes no library: " +
			"name grids in copyin and copyout")
	}
	if n := len(l.CallerGrids()); n > maxLibraryGrids {
		return nil, fmt.Errorf("the program has %d grids that are copied in or out; "+
			"the interface of a library has room for %d", n, maxLibraryGrids)
	}
	l.name()
	l.writes()
	code, err := l.code()
	if err != nil {
		return nil, err
	}
	l.libraryCode = code
	return l, nil
}

// fixed reports whether a scalar is a literal in the kernels.
func (l *library) fixed(s *ir.Scalar) bool {
	return l.opts.Bound != nil && s.Coefficient && !s.Reduced
}

// checkFixed refuses literals that are right for one size alone.
func (l *library) checkFixed() error {
	var sized func(e ir.Expr) bool
	sized = func(e ir.Expr) bool {
		found := false
		if e == nil {
			return false
		}
		ir.Walk(e, func(e ir.Expr) {
			switch e := e.(type) {
			case ir.ParamRef:
				found = true
			case ir.ScalarRef:
				found = found || sized(e.Scalar.Init)
			}
		})
		return found
	}
	for _, s := range l.module.Program.Scalars {
		if l.fixed(s) && sized(s.Init) {
			return fmt.Errorf("the coefficient %s depends on the sizes, so a library cannot hold it as a number: "+
				"lower the program without a binding", s.Name)
		}
	}
	return nil
}

// members lists what the interface is made of.
func (l *library) members() {
	p := l.module.Program
	for _, q := range p.Params {
		z := &librarySize{Name: q.Name}
		if q.Default != nil {
			z.Default = p.InfixExpr(q.Default)
		}
		l.Sizes = append(l.Sizes, z)
	}
	needed := neededScalars(p)
	for _, s := range p.Scalars {
		if l.fixed(s) || !needed[s] {
			continue
		}
		x := &libraryScalar{
			scalar: s, Name: s.Name, Type: s.Type, Result: s.Reduced, Word: s.Type.Word(),
			CType: C.Types[s.Type], CTypes: ctypesNames[s.Type], FKind: fortranArgs[s.Type],
		}
		if s.Init != nil {
			x.Value = p.InfixExpr(s.Init)
		}
		x.Required = s.Init == nil && !s.Reduced
		l.scalars[s] = x
		l.Scalars = append(l.Scalars, x)
	}
	used := l.usedGrids()
	caller := map[string]bool{}
	for _, name := range p.Arguments {
		caller[name] = true
		if i := p.Param(name); i >= 0 {
			l.Arguments = append(l.Arguments, l.Sizes[i])
		} else if s := p.Scalar(name); s != nil && l.scalars[s] != nil && l.scalars[s].Required {
			l.Arguments = append(l.Arguments, l.scalars[s])
		}
	}
	for _, mine := range []bool{false, true} {
		for _, g := range p.Grids {
			if caller[g.Name] == mine || mine && !used[g] {
				continue
			}
			l.grids[g] = l.newGrid(g, !mine)
		}
	}
	l.addSpares()
}

// newGrid adds memory for a grid to the library's.
func (l *library) newGrid(g *ir.Grid, caller bool) *libraryGrid {
	x := &libraryGrid{
		grid: g, Index: len(l.Grids), Name: g.Name, Caller: caller, Rank: len(g.Dims), Word: g.Type.Word(),
		CType: C.Memory[g.Type], NumPy: numpyNames[g.Type], FKind: fortranArgs[g.Type],
		CopyIn: g.CopyIn || g.Constant, CopyOut: g.CopyOut, Align: 1,
	}
	if lay, ok := l.module.Layouts[g]; ok {
		x.Lead, x.Align = lay.Lead, lay.Align
	}
	if g.Type == types.Bool {
		x.FKind = fortranArgs[types.U8]
	}
	for _, d := range g.Dims {
		x.Extents = append(x.Extents, d.Hi.Minus(d.Lo).Add(1).Text(l.module.Program.Params))
	}
	x.Positions = l.positions(g)
	l.Grids = append(l.Grids, x)
	return x
}

// usedGrids returns the grids that kernels work on or that exchange contents.
func (l *library) usedGrids() map[*ir.Grid]bool {
	used := map[*ir.Grid]bool{}
	for _, launch := range append(l.launches(), l.module.Calls[l.module.Program.Initial]...) {
		for _, a := range launch.Args {
			if a, ok := a.(kernel.GridArg); ok {
				used[a.Grid] = true
			}
		}
	}
	for _, s := range l.spans {
		for _, x := range s.Exchanges {
			used[x.Grid] = true
		}
	}
	for _, r := range rotations(l.module.Program.Body) {
		for _, g := range r.Grids {
			used[g] = true
		}
	}
	return used
}

// neededScalars returns the scalars that something reads, or that a reduction
// sets, with those that their first values are made of.
func neededScalars(p *ir.Program) map[*ir.Scalar]bool {
	needed := map[*ir.Scalar]bool{}
	var need func(s *ir.Scalar)
	need = func(s *ir.Scalar) {
		if needed[s] {
			return
		}
		needed[s] = true
		if s.Init == nil {
			return
		}
		ir.Walk(s.Init, func(e ir.Expr) {
			if r, ok := e.(ir.ScalarRef); ok {
				need(r.Scalar)
			}
		})
	}
	for _, s := range p.Scalars {
		if s.Used || s.Reduced {
			need(s)
		}
	}
	return needed
}

// positions says which index of a grid means which position.
func (l *library) positions(g *ir.Grid) string {
	p := l.module.Program
	text, ranges := g.Name, ""
	for n, d := range g.Dims {
		axis := fmt.Sprintf("n%d", n+1)
		if d.Axis >= 0 {
			axis = p.Axes[d.Axis]
		}
		lo := d.Lo.Text(p.Params)
		switch {
		case d.Lo.Equal(ir.Num(0)):
			text += "[" + axis + "]"
		case len(d.Lo.Terms) == 1 && d.Lo.Const == 0:
			text += "[" + axis + "-" + lo + "]"
		case d.Lo.IsConst():
			text += fmt.Sprintf("[%s%+d]", axis, -d.Lo.Const)
		default:
			text += fmt.Sprintf("[%s-(%s)]", axis, lo)
		}
		ranges += fmt.Sprintf(", %s = %s..%s", axis, lo, d.Hi.Text(p.Params))
	}
	return text + ranges
}

// name finds what everything is called in every language.
func (l *library) name() {
	p := l.module.Program
	params, fields, python := newNamespace(legalC), newNamespace(legalC), newNamespace(legalPython)
	params.reserve(l.Name)
	dummies, entities := newNamespace(legalFortran), newNamespace(legalFortran)
	for _, n := range []*namespace{dummies, entities} {
		n.fold, n.limit = true, 63
		n.reserve(l.Name)
	}
	dummies.reserve(strings.Fields(`handle value count given step status rank extents bytes threads text`)...)
	dummies.reserve(strings.Fields(`c_ptr c_int c_int8_t c_int32_t c_int64_t c_float c_double c_bool c_char`)...)
	for i, z := range l.Sizes {
		name := p.Params[i].Name
		z.C, z.Field, z.Python, z.Fortran = params.pick(name), fields.pick(name), python.pick(name), dummies.pick(name)
	}
	for _, s := range l.Scalars {
		s.C, s.Field, s.Python, s.Fortran = params.pick(s.Name), fields.pick(s.Name),
			python.pick(s.Name), dummies.pick(s.Name)
		s.GetFortran, s.SetFortran = entities.pick(l.Name+"_get_"+s.Name), entities.pick(l.Name+"_set_"+s.Name)
	}
	for _, g := range l.Grids {
		if g.Spare != nil {
			g.Field = fields.pick(identifier(g.Spare.Name))
			continue
		}
		g.C, g.Field, g.Python, g.Fortran = params.pick(g.Name), fields.pick(g.Name),
			python.pick(g.Name), dummies.pick(g.Name)
		g.IndexFortran, g.GivenFortran = entities.pick(l.Upper+"_GRID_"+g.Name), entities.pick(l.Upper+"_GIVEN_"+g.Name)
	}
}

// writes notes which grids the kernels write.
func (l *library) writes() {
	written := func(launches []*kernel.Launch, note func(*libraryGrid)) {
		for _, launch := range launches {
			for i, b := range launch.Kernel.Buffers {
				if a, ok := launch.Args[i].(kernel.GridArg); ok && b.Mode != kernel.In {
					note(l.grids[a.Grid])
				}
			}
		}
	}
	written(l.module.Calls[l.module.Program.Initial], func(g *libraryGrid) { g.Initialised = true })
	written(l.launches(), func(g *libraryGrid) { g.Written = true })
	for _, grids := range l.exchanged() {
		for _, g := range grids {
			g.Written = true
		}
	}
}

// rotations returns all rotations of a body, those inside loops included.
func rotations(body []ir.Op) []*ir.Rotate {
	var list []*ir.Rotate
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Rotate:
			list = append(list, o)
		case *ir.Iterate:
			list = append(list, rotations(o.Body)...)
		}
	}
	return list
}

// CallerGrids returns the grids of the interface.
func (l *library) CallerGrids() []*libraryGrid {
	n := 0
	for n < len(l.Grids) && l.Grids[n].Caller {
		n++
	}
	return l.Grids[:n]
}

// OwnGrids returns the grids that belong to the handle.
func (l *library) OwnGrids() []*libraryGrid { return l.Grids[len(l.CallerGrids()):] }

// HasDefaults reports whether any size has a value of its own.
func (l *library) HasDefaults() bool {
	for _, z := range l.Sizes {
		if z.Default != "" {
			return true
		}
	}
	return false
}

func (l *library) mode() arith.Mode { return l.module.Program.Arithmetic }

// Arithmetic is the mode's name.
func (l *library) Arithmetic() string { return l.mode().String() }

// Exact reports whether the mode fixes every bit.
func (l *library) Exact() bool { return l.mode().Exact() }

// Fuses reports whether the kernels have fused multiply-adds.
func (l *library) Fuses() bool { return l.mode() == arith.Contract }

// NeededFlags are the compiler's options without which results would be wrong.
func (l *library) NeededFlags() string {
	if l.Exact() {
		return "-fwrapv -ffp-contract=off"
	}
	return "-fwrapv"
}

// FastFlags are options that only make the code faster.
func (l *library) FastFlags() string {
	flags := "-fno-math-errno -fno-trapping-math"
	if !l.Exact() {
		flags += " -ffp-contract=fast -fno-signed-zeros -fassociative-math -freciprocal-math"
	}
	return flags
}
