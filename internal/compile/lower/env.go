package lower

import (
	"cmp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// env collects the arguments that a kernel turns out to need while its body
// is built, and orders them at the end.
type env struct {
	program *ir.Program
	bound   *ir.Binding
	baked   bool // sizes are literals
	sizes   map[int]*kernel.Var
	scalars map[*ir.Scalar]*kernel.Var
	step    *kernel.Var
	rounds  *kernel.Var
	buffers []*binding
	taken   map[string]bool // names of arguments and of the source's words
}

// binding is a buffer argument with what it is bound to. Order sorts them:
// arrays as the call lists them, then scratch, then reduced scalars.
type binding struct {
	buffer *kernel.Buffer
	arg    kernel.Arg
	order  int
	reads  bool
	writes bool
}

const (
	orderScratch = 1 << 20
	orderCell    = 1 << 21
)

func newEnv(p *ir.Program, bound *ir.Binding) *env {
	e := &env{
		program: p,
		bound:   bound,
		sizes:   map[int]*kernel.Var{},
		scalars: map[*ir.Scalar]*kernel.Var{},
		taken:   map[string]bool{},
	}
	for _, q := range p.Params {
		e.taken[q.Name] = true
	}
	for _, s := range p.Scalars {
		e.taken[s.Name] = true
	}
	for _, a := range p.Axes {
		e.taken[a] = true
	}
	return e
}

// fresh returns name, or a variant of it that no word of the source takes.
func (e *env) fresh(name string) string {
	for e.taken[name] {
		name += "_"
	}
	return name
}

// size returns a parameter's value as an I64.
func (e *env) size(param int) kernel.Expr {
	if e.baked {
		return kernel.I(e.bound.Params[param])
	}
	v, ok := e.sizes[param]
	if !ok {
		v = kernel.NewVar(e.program.Params[param].Name, types.I64)
		e.sizes[param] = v
	}
	return kernel.V(v)
}

func (e *env) affine(a ir.Affine) kernel.Expr { return affine(a, e.size) }

// affine returns a's value as an I64, given the parameters'.
func affine(a ir.Affine, size func(int) kernel.Expr) kernel.Expr {
	var sum kernel.Expr
	for _, t := range a.Terms {
		x := kernel.Mul(size(t.Param), kernel.I(t.Coef))
		if sum == nil {
			sum = x
		} else {
			sum = kernel.Add(sum, x)
		}
	}
	if sum == nil {
		return kernel.I(a.Const)
	}
	return kernel.Add(sum, kernel.I(a.Const))
}

// low returns max(bounds...), or missing if there are none.
func (e *env) low(bounds []ir.Affine, missing kernel.Expr) kernel.Expr {
	return e.tightest(bounds, missing, kernel.Max)
}

// high returns min(bounds...), or missing if there are none.
func (e *env) high(bounds []ir.Affine, missing kernel.Expr) kernel.Expr {
	return e.tightest(bounds, missing, kernel.Min)
}

func (e *env) tightest(bounds []ir.Affine, missing kernel.Expr, pick func(x, y kernel.Expr) kernel.Expr) kernel.Expr {
	if len(bounds) == 0 {
		return missing
	}
	x := e.affine(bounds[0])
	for _, a := range bounds[1:] {
		x = pick(x, e.affine(a))
	}
	return x
}

// buffer returns the kernel's buffer for arg, made on first use.
func (e *env) buffer(arg kernel.Arg, order int, name string, elem types.Type, cells func() kernel.Expr) *binding {
	for _, b := range e.buffers {
		if b.arg == arg {
			return b
		}
	}
	b := &binding{
		buffer: &kernel.Buffer{Name: name, Elem: elem, Space: kernel.Global, Cells: cells()},
		arg:    arg,
		order:  order,
	}
	if s, ok := arg.(special); ok {
		b.buffer.Space, b.buffer.Texel = s.space, s.texel
	}
	e.buffers = append(e.buffers, b)
	return b
}

// scalar returns a scalar's value: a literal for a coefficient, an element of
// memory for the result of a reduction, else an argument.
func (e *env) scalar(s *ir.Scalar) kernel.Expr {
	switch {
	case s.Reduced:
		b := e.cell(s)
		b.reads = true
		return &kernel.Load{Buffer: b.buffer, Index: kernel.I(0)}
	case s.Coefficient && e.bound != nil:
		return kernel.L(e.bound.Scalar(s))
	}
	v, ok := e.scalars[s]
	if !ok {
		v = kernel.NewVar(s.Name, s.Type)
		e.scalars[s] = v
	}
	return kernel.V(v)
}

// cell returns the one-element buffer of a reduced scalar.
func (e *env) cell(s *ir.Scalar) *binding {
	order := orderCell + slices.Index(e.program.Scalars, s)
	return e.buffer(kernel.CellArg{Scalar: s}, order, s.Name, s.Type, func() kernel.Expr { return kernel.I(1) })
}

func (e *env) stepVar() kernel.Expr {
	if e.step == nil {
		e.step = kernel.NewVar(e.fresh("step"), types.I32)
	}
	return kernel.V(e.step)
}

// roundsVar is how many rounds a launch has.
func (e *env) roundsVar() kernel.Expr {
	if e.rounds == nil {
		e.rounds = kernel.NewVar(e.fresh("rounds"), types.I32)
	}
	return kernel.V(e.rounds)
}

// finish gives the kernel its arguments, in a fixed order, and returns what
// they are bound to.
func (e *env) finish(k *kernel.Kernel) []kernel.Arg {
	var args []kernel.Arg
	slices.SortStableFunc(e.buffers, func(x, y *binding) int { return cmp.Compare(x.order, y.order) })
	for _, b := range e.buffers {
		switch {
		case b.reads && b.writes:
			b.buffer.Mode = kernel.InOut
		case b.writes:
			b.buffer.Mode = kernel.Out
		}
		k.Buffers = append(k.Buffers, b.buffer)
		if s, ok := b.arg.(special); ok {
			b.arg = s.Arg
		}
		args = append(args, b.arg)
	}
	for i := range e.program.Params {
		if v, ok := e.sizes[i]; ok {
			k.Scalars = append(k.Scalars, v)
			args = append(args, kernel.SizeArg{Param: i})
		}
	}
	for _, s := range e.program.Scalars {
		if v, ok := e.scalars[s]; ok {
			k.Scalars = append(k.Scalars, v)
			args = append(args, kernel.ScalarArg{Scalar: s})
		}
	}
	if e.step != nil {
		k.Scalars = append(k.Scalars, e.step)
		args = append(args, kernel.StepArg{})
	}
	if e.rounds != nil {
		k.Scalars = append(k.Scalars, e.rounds)
		args = append(args, kernel.RoundsArg{})
	}
	return args
}
