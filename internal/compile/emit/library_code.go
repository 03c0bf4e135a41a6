package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// libraryCode is the part of a library's source that differs from program to
// program by more than names.
type libraryCode struct {
	Kernels     string // with the functions that they call
	KernelLines string // the same, as lines of C strings
	KernelNames []string
	HostHelpers string // functions that the host calls
	Settle      string // body of the function that computes scalars
	Checks      string // lines of the function that looks at sizes
	Calls       string // functions that launch a call's kernels
	Initial     string // body of the function that runs the initial block
	Once        string // body of the function that runs the loop's body once
	Program     string // body of the function that runs the whole program
	OnceDoc     string
	Restore     string // lines that give rotated contents back
	Scratch     []libraryScratch
	Teams       bool // the plan fixes the number of threads of some kernels
	Exchange    bool // Restore exchanges
	Images      bool // kernels read memory as images
	Tensors     bool // kernels read memory by tensor maps
	Constants   []libraryConstant
	Delicate    []libraryDelicate // kernels that are not trusted without a look
}

// libraryScratch is memory that the handle owns besides grids; Only is what has
// to hold for it to be needed.
type libraryScratch struct{ Field, CType, Cells, Only string }

func (l *library) code() (*libraryCode, error) {
	k := newPrinter(l.dialect())
	k.anyTeam = true
	var names []string
	for _, kn := range l.module.Kernels {
		if err := k.Lacks(kn); err != nil {
			return nil, err
		}
		k.line("")
		own := *kn
		own.Name = kernelFunction(kn)
		own.Scalars = slices.DeleteFunc(slices.Clone(kn.Scalars), func(v *kernel.Var) bool { return !refersTo(kn, v) })
		names = append(names, own.Name)
		k.kernel(&own)
	}
	h := newHost(l, k.helpers)
	h.Images = slices.ContainsFunc(l.module.Kernels, func(k *kernel.Kernel) bool {
		return slices.Contains(Needs(k), machine.Image)
	})
	h.Tensors = slices.ContainsFunc(l.module.Kernels, func(k *kernel.Kernel) bool {
		return slices.Contains(Needs(k), machine.TensorCopy)
	})
	h.Teams = slices.ContainsFunc(l.module.Kernels, func(k *kernel.Kernel) bool { return kernelThreads(k.Body) > 0 })
	h.extents()
	h.Scratch = l.scratch(h)
	h.Delicate = l.delicate()
	h.Settle = h.body(func() { h.settle() })
	h.Checks = h.body(func() { h.checks() })
	for _, s := range l.module.Program.Calls {
		h.Calls += h.callFunction(s)
	}
	h.Calls += h.spanFunctions(l.module.Program.Body)
	if s := l.module.Program.Initial; s != nil {
		h.Initial = h.body(func() { h.initial(s) })
	}
	once := l.once()
	h.OnceDoc = sayOps(once)
	h.Once = h.body(func() { h.ops(once, 0, "step") })
	h.Program = h.body(func() { h.program() })
	h.Restore = h.body(func() { h.restore(once) })
	if h.err != nil {
		return nil, h.err
	}
	h.Kernels = k.helperDefs() + k.out.String()
	if l.GPU() {
		h.gpu(k, names)
	}
	return &h.libraryCode, nil
}

func kernelFunction(k *kernel.Kernel) string { return identifier(k.Name) + "_kernel" }

// refersTo reports whether a kernel's body needs a scalar argument. Some say no
// more than how large a buffer is.
func refersTo(k *kernel.Kernel, v *kernel.Var) bool {
	found := false
	kernel.WalkStmts(k.Body, nil, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if r, ok := e.(*kernel.Ref); ok && r.Var == v {
				found = true
			}
		})
	})
	return found
}

// once is what iterate repeats.
func (l *library) once() []ir.Op {
	if l.Loop != nil {
		return l.Loop.Body
	}
	return l.module.Program.Body
}

// host prints the code around the kernels. It names what lies in the handle,
// h, and the present memory of the grids, g.
type host struct {
	*printer
	libraryCode
	lib     *library
	sizes   []*kernel.Var
	scalars map[*ir.Scalar]*kernel.Var // present values
	starts  map[*ir.Scalar]*kernel.Var // values at the start
	step    *kernel.Var
	calls   map[*ir.Call]string // calls, with %s for the step

	together map[*ir.Iterate]string // the function that carries out its spans

	names *namespace
	err   error
}

func newHost(l *library, helpers map[string]bool) *host {
	h := &host{
		printer: newPrinter(C), lib: l,
		scalars: map[*ir.Scalar]*kernel.Var{}, starts: map[*ir.Scalar]*kernel.Var{},
		step: kernel.NewVar("step", types.I32), calls: map[*ir.Call]string{},
		together: map[*ir.Iterate]string{},
		names:    newNamespace(identifier),
	}
	h.helpers = helpers
	if l.GPU() { // the host has its own
		h.helpers, h.prefix = map[string]bool{}, hostPrefix
	}
	h.printer.names = map[any]string{}
	h.used = map[string]int{}
	for _, z := range l.Sizes {
		v := kernel.NewVar(z.Field, types.I64)
		h.sizes = append(h.sizes, v)
		h.printer.names[v] = "h->size." + z.Field
	}
	for _, x := range l.Scalars {
		v := kernel.NewVar(x.Field, x.Type)
		h.scalars[x.scalar], h.starts[x.scalar] = v, v
		h.printer.names[v] = "h->scalar." + x.Field
		if x.Result {
			s := kernel.NewVar(x.Field, x.Type)
			h.starts[x.scalar] = s
			h.printer.names[s] = "h->start." + x.Field
		}
	}
	return h
}

// body returns what f prints, as the body of a function.
func (h *host) body(f func()) string {
	h.indent = 1
	f()
	h.indent = 0
	return h.take()
}

func (h *host) take() string {
	text := h.out.String()
	h.out.Reset()
	return text
}

// uniform turns a uniform expression into one of the kernel IR, with scalars
// as present says.
func (h *host) uniform(e ir.Expr, present map[*ir.Scalar]*kernel.Var) kernel.Expr {
	sub := func(e ir.Expr) kernel.Expr { return h.uniform(e, present) }
	switch e := e.(type) {
	case ir.Const:
		return kernel.L(e.Value)
	case ir.ParamRef:
		return kernel.Conv(types.I32, kernel.V(h.sizes[e.Param]))
	case ir.ScalarRef:
		if h.lib.fixed(e.Scalar) {
			return kernel.L(h.lib.opts.Bound.Scalar(e.Scalar))
		}
		return kernel.V(present[e.Scalar])
	case ir.StepRef:
		return kernel.V(h.step)
	case *ir.Unary:
		return kernel.Un(e.Op, sub(e.X))
	case *ir.Binary:
		return kernel.Bin(e.Op, sub(e.X), sub(e.Y))
	case *ir.Select:
		return kernel.Sel(sub(e.Cond), sub(e.X), sub(e.Y))
	case *ir.Cast:
		return kernel.Conv(e.To, sub(e.X))
	case *ir.FuncCall:
		args := make([]kernel.Expr, len(e.Args))
		for i, a := range e.Args {
			args[i] = sub(a)
		}
		return &kernel.FuncCall{Func: e.Func, Args: args}
	case *ir.PowInt:
		return power(sub(e.X), e.N)
	}
	panic(fmt.Sprintf("emit: %T is not uniform", e))
}

// power multiplies in op.PowInt's order.
func power(x kernel.Expr, n int) kernel.Expr {
	one := kernel.L(op.Convert(x.Type(), op.Int(types.I32, 1)))
	if n == 0 {
		return one
	}
	p := x
	for range max(n, -n) - 1 {
		p = kernel.Mul(p, x)
	}
	if n < 0 {
		return kernel.Bin(op.Div, one, p)
	}
	return p
}

// value prints a uniform expression at the present state, where step is the
// text of the step.
func (h *host) value(e ir.Expr, step string) string {
	h.printer.names[h.step] = step
	return h.expr(h.uniform(e, h.scalars))
}

// affine returns a's value as an I64.
func (h *host) affine(a ir.Affine) kernel.Expr {
	var sum kernel.Expr = kernel.I(0)
	for _, t := range a.Terms {
		sum = kernel.Add(sum, kernel.Mul(kernel.V(h.sizes[t.Param]), kernel.I(t.Coef)))
	}
	return kernel.Add(sum, kernel.I(a.Const))
}

// extreme prints the tightest of several bounds.
func (h *host) extreme(bounds []ir.Affine, pick func(x, y kernel.Expr) kernel.Expr) string {
	x := h.affine(bounds[0])
	for _, a := range bounds[1:] {
		x = pick(x, h.affine(a))
	}
	return h.expr(x)
}

// settle gives scalars their values, each after those it depends on.
func (h *host) settle() {
	done := map[*ir.Scalar]bool{}
	var visit func(s *ir.Scalar)
	visit = func(s *ir.Scalar) {
		x := h.lib.scalars[s]
		if done[s] || x == nil {
			return
		}
		done[s] = true
		value := "0"
		if s.Init != nil {
			ir.Walk(s.Init, func(e ir.Expr) {
				if r, ok := e.(ir.ScalarRef); ok {
					visit(r.Scalar)
				}
			})
			value = h.expr(h.uniform(s.Init, h.starts))
		}
		if x.Required {
			return
		}
		h.line("if (!h->set.%s)", x.Field)
		h.indent++
		h.line("%s = %s;", h.printer.names[h.starts[s]], value)
		h.indent--
	}
	for _, x := range h.lib.Scalars {
		visit(x.scalar)
	}
}

// scratch lists the memory that the handle owns besides grids.
func (l *library) scratch(h *host) []libraryScratch {
	var list []libraryScratch
	for _, sc := range l.module.Scratch {
		for i, v := range sc.Sizes {
			h.printer.names[v] = "h->size." + l.Sizes[sc.Params[i]].Field
		}
		list = append(list, libraryScratch{
			Field: h.scratchField(sc), CType: C.Memory[sc.Elem], Cells: h.cells(sc.Cells), Only: l.onlyFor(l.needs[sc]),
		})
	}
	return list
}

func (h *host) scratchField(sc *kernel.Scratch) string {
	if name, ok := h.printer.names[sc]; ok {
		return strings.TrimPrefix(name, "h->scratch.")
	}
	name := h.names.pick(legalC(identifier(sc.Name)))
	h.printer.names[sc] = "h->scratch." + name
	return name
}

// cells prints a number of cells so that it cannot overflow: products are
// taken by a function that saturates.
func (h *host) cells(e kernel.Expr) string {
	if b, ok := e.(*kernel.Binary); ok {
		x, y := h.cells(b.X), h.cells(b.Y)
		switch b.Op {
		case op.Mul:
			return fmt.Sprintf("gl_times(%s, %s)", x, y)
		case op.Add, op.Sub:
			if _, product := b.Y.(*kernel.Binary); product {
				y = "(" + y + ")"
			}
			return fmt.Sprintf("%s %s %s", x, b.Op.Sign(), y)
		case op.Div:
			return fmt.Sprintf("(%s) / %s", x, h.operand(b.Y, op.Div.Prec()+1))
		}
	}
	return h.expr(e)
}
