package lang

import (
	"path"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Options are the rules that a file is checked by.
type Options struct {
	// Ancestor asks for the rules of .idsl files: an undeclared name in
	// copyin, an unused formal and an update in place at an offset are
	// warnings, the last with the meaning that old values are read.
	Ancestor bool
}

// OptionsFor returns the rules for a file of that name.
func OptionsFor(name string) Options {
	return Options{Ancestor: strings.HasSuffix(name, ".idsl")}
}

// Load parses and checks a source text, by the rules for its name.
func Load(src *diag.Source) (*ir.Program, diag.List) {
	f, diags := Parse(src)
	prog, more := Check(f, OptionsFor(src.Name))
	diags = append(diags, more...)
	diags.Sort()
	return prog, diags
}

// Check gives a file its meaning. The program is nil if the list, which is
// sorted, holds an error. Of a file with syntax errors there is no program, and
// only what cannot come of a missing part is an error.
func Check(f *File, opts Options) (*ir.Program, diag.List) {
	c := &checker{
		opts:     opts,
		damaged:  f.damaged,
		doubtful: f.doubtful,
		prog:     &ir.Program{Name: programName(f.Source.Name)},
		globals:  make(map[string]symbol),
		stencils: make(map[string]*stencilInfo),
		bound:    make(map[*CallStep]*boundCall),
		calls:    make(map[string]*ir.Call),
	}
	c.sizes = c.newEnv(atSizes)
	c.global = c.newEnv(atStart)
	c.between = c.newEnv(atSteps)
	c.check(f)
	if c.damaged {
		c.diags = slices.DeleteFunc(c.diags, func(d *diag.Diagnostic) bool { return d.Severity != diag.Error })
		c.diags.Sort()
		return nil, c.diags
	}
	c.warnPardoned()
	if !c.diags.HasErrors() {
		c.checkDefaults()
	}
	c.diags.Sort()
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return c.prog, c.diags
}

// programName is a name of one line that can be shown, whatever the file is called.
func programName(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	return diag.Line(strings.TrimSuffix(base, path.Ext(base)))
}

// checker holds what is known of one file.
type checker struct {
	opts  Options
	diags diag.List
	prog  *ir.Program

	damaged  bool            // parts of the file are missing
	doubtful map[string]bool // names that a missing part may have declared

	globals  map[string]symbol
	order    []symbol // the globals in order of declaration
	sizes    *env     // scope of the values of parameters
	global   *env     // scope of the values of scalars, tables and boundaries
	between  *env     // scope of arguments, counts and conditions
	stencils map[string]*stencilInfo
	initials []*stencilInfo
	bound    map[*CallStep]*boundCall // that can be made
	calls    map[string]*ir.Call      // by stencil, arguments and domain

	rotations []*RotateStep
	results   []*Ident // scalars that copyout names

	pardoned [pardons]pardoned

	unknown int // names that stand for nothing, so far

	total int   // expressions made
	size  int   // those of the current statement
	terms int64 // terms of its sums
}

// reset begins the count of what a statement grows to.
func (c *checker) reset() { c.size, c.terms = 0, 0 }

// check runs the passes. Declarations may stand in any order, so each pass
// goes through the whole file before the next begins.
func (c *checker) check(f *File) {
	c.declare(f) // names, types and shapes
	c.values()   // initial values of parameters, scalars and tables
	if !c.haveIterators(f) {
		return
	}
	c.defineAll(f)  // names inside stencils, and what is indexed how
	c.bindAll(f)    // calls: arity and the kinds of arguments
	c.inferAxes()   // which iterator runs along which dimension
	c.boundaries(f) // conditions on the grids' faces
	c.attributes(f) // copyin, copyout and the like
	c.prog.Body = c.steps(f)
	c.arguments()
}

// haveIterators reports that a program with grids to run over has no
// iterators; nothing else can be said of its stencils then.
func (c *checker) haveIterators(f *File) bool {
	if c.rank() > 0 {
		return true
	}
	for _, it := range f.Items {
		at := it.Span()
		switch it := it.(type) {
		case *StencilDef:
			at = it.Name.Span()
		case *InitialDef:
		default:
			continue
		}
		c.lack(at, "no iterator is declared").Hintf("name one for every dimension, outermost first: iterator k, j, i;")
		return false
	}
	return true
}

// lack reports that something is not there, unless a missing part may hold it.
func (c *checker) lack(at diag.Range, format string, args ...any) *diag.Diagnostic {
	if c.damaged {
		return new(diag.Diagnostic) // shown to nobody
	}
	return c.diags.Errorf(at, format, args...)
}

// itemsOf returns the file's items of one kind, in order.
func itemsOf[T Item](f *File) []T {
	var list []T
	for _, it := range f.Items {
		if t, ok := it.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// arguments lists the names of the program's interface in declaration order.
func (c *checker) arguments() {
	for _, s := range c.prog.Scalars {
		if s.Used && s.Init == nil && !s.Reduced {
			s.Argument = true
		}
	}
	c.conditions(c.prog.Body)
	for _, id := range c.results {
		if s := c.globals[id.Name].(*scalarSym); !s.scalar.Reduced {
			c.lack(id.Span(), "copyout names %q, but no reduction gives it a value", id.Name)
		}
	}
	for _, s := range c.order {
		switch s := s.(type) {
		case *paramSym:
			c.prog.Arguments = append(c.prog.Arguments, s.name)
		case *scalarSym:
			if s.scalar.Argument || s.scalar.CopyOut {
				c.prog.Arguments = append(c.prog.Arguments, s.scalar.Name)
			}
		case *gridSym:
			if g := s.grid; g.CopyIn || g.CopyOut || g.Constant {
				c.prog.Arguments = append(c.prog.Arguments, g.Name)
			}
		}
	}
}

// conditions warns of loops until something that nothing changes.
func (c *checker) conditions(body []ir.Op) {
	for _, o := range body {
		it, ok := o.(*ir.Iterate)
		if !ok {
			continue
		}
		c.conditions(it.Body)
		if it.Until == nil {
			continue
		}
		changes := false
		ir.Walk(it.Until, func(e ir.Expr) {
			switch e := e.(type) {
			case ir.StepRef:
				changes = true
			case ir.ScalarRef:
				changes = changes || e.Scalar.Reduced
			}
		})
		if !changes {
			c.diags.Warnf(it.Range, "nothing changes the condition of this loop").
				Hintf("let it depend on step or on the result of a reduction")
		}
	}
}

// checkDefaults evaluates the sizes if every parameter has a default, so that
// sizes and domains that cannot be are found before the program is run.
func (c *checker) checkDefaults() {
	for _, p := range c.prog.Params {
		if p.Default == nil {
			return
		}
	}
	set := make(map[string]string)
	for _, s := range c.prog.Scalars {
		if s.Init == nil {
			set[s.Name] = zeroText(s.Type)
		}
	}
	_, errs := c.prog.Bind(set)
	c.diags = append(c.diags, errs...)
}

func zeroText(t types.Type) string {
	if t == types.Bool {
		return "false"
	}
	return "0"
}

// axisNames lists iterators for a message: "k, j, i".
func (c *checker) axisNames() string { return strings.Join(c.prog.Axes, ", ") }

func (c *checker) rank() int { return len(c.prog.Axes) }

// sortedNames returns a map's keys in order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
