package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What follows is what libraries for GPUs have of their own: a CUDA source is
// C++ and holds its kernels, one for OpenCL is C and holds them as text.

// GPU reports whether kernels run on a GPU.
func (l *library) GPU() bool { return l.opts.Dialect != nil && l.opts.Dialect != C }

// CUDA reports whether the source is CUDA C++.
func (l *library) CUDA() bool { return l.opts.Dialect == CUDA }

// dialect is what the kernels are printed in.
func (l *library) dialect() *Dialect {
	if !l.GPU() {
		return C
	}
	d := *l.opts.Dialect
	if l.CUDA() {
		head := d.Head
		d.Head = func(k *kernel.Kernel) string { return "static " + strings.TrimPrefix(head(k), "extern \"C\" ") }
		d.Constants = "static " + d.Constants
	}
	return &d
}

// SourceFile is the name of the file with the code.
func (l *library) SourceFile() string {
	if l.CUDA() {
		return l.Name + ".cu"
	}
	return l.Name + ".c"
}

func (l *library) sourceTemplate() string {
	if l.GPU() {
		return "source.gpu.tmpl"
	}
	return "source.c.tmpl"
}

// DeviceWord is what the text calls the device.
func (l *library) DeviceWord() string {
	if l.CUDA() {
		return "GPU"
	}
	return "device"
}

// MemoryType is the type of a place that holds elements, where a kernel finds
// them.
func (l *library) MemoryType(ctype string) string {
	if l.GPU() && !l.CUDA() {
		return "cl_mem "
	}
	return ctype + " *"
}

// AnyMemory is that of a place that holds elements of any type.
func (l *library) AnyMemory() string { return l.MemoryType("void") }

// memoryCast makes any memory that of a grid, where the language asks for it.
func (l *library) memoryCast(g *libraryGrid) string {
	if l.CUDA() {
		return "(" + g.CType + " *)"
	}
	return ""
}

// Padded reports whether the rows of any grid are padded on the device.
func (l *library) Padded() bool {
	return slices.ContainsFunc(l.Grids, func(g *libraryGrid) bool { return g.Lead > 0 || g.Align > 1 })
}

// KernelFlags are nvcc's options for the kernels.
func (l *library) KernelFlags() string {
	if l.Exact() {
		return "--fmad=false"
	}
	return "--fmad=true"
}

// NeededFlagList are the host compiler's options one by one.
func (l *library) NeededFlagList() []string { return strings.Fields(l.NeededFlags()) }

// ArraysParam, HomeParam, ArraysArg and ArraysGiven hand the caller's arrays
// from function to function, if there are any.
func (l *library) ArraysParam() string { return l.ifArrays(", const gl_arrays *arrays") }

// HomeParam is the parameter of what brings contents back.
func (l *library) HomeParam() string { return l.ifArrays(", const gl_arrays *home") }

// ArraysArg is an argument that is a parameter.
func (l *library) ArraysArg() string { return l.ifArrays(", arrays") }

// ArraysGiven is an argument that is a variable.
func (l *library) ArraysGiven() string { return l.ifArrays(", &arrays") }

func (l *library) ifArrays(text string) string {
	if len(l.CallerGrids()) == 0 {
		return ""
	}
	return text
}

// WrittenSet is the set of the caller's grids that the time loop changes.
func (l *library) WrittenSet() string {
	var list []string
	for _, g := range l.CallerGrids() {
		if g.Written {
			list = append(list, l.Upper+"_GIVEN_"+g.Name)
		}
	}
	if list == nil {
		return "0"
	}
	return strings.Join(list, " | ")
}

// side is where arrays are: each has its functions.
type side struct {
	Suffix string
	Device bool
}

// Sides are the sides that the caller's arrays may be on.
func (l *library) Sides() []side {
	if !l.GPU() || len(l.CallerGrids()) == 0 {
		return []side{{}}
	}
	return []side{{}, {"_device", true}}
}

// SideParams are the parameters of init, iterate or run for one side.
func (l *library) SideParams(first string, init, device bool) string {
	list := []string{l.Name + " *handle"}
	if first != "" {
		list = append(list, first)
	}
	for _, g := range l.CallerGrids() {
		ctype := g.CType
		if device && !l.CUDA() {
			ctype = "void" // a cl_mem
		}
		if !init && !g.Written && !(device && !l.CUDA()) {
			ctype = "const " + ctype
		}
		list = append(list, ctype+" *"+g.C)
	}
	return strings.Join(list, ", ")
}

// gpu finishes the code: the kernels as the compiler gets them and the
// functions of the host, whose names differ from those of the kernels.
func (h *host) gpu(k *printer, names []string) {
	h.KernelNames = names
	h.HostHelpers = strings.ReplaceAll(h.helperDefs(), "gl_", hostPrefix)
	if h.lib.CUDA() {
		return
	}
	text := h.Kernels
	if strings.Contains(text, k.Types[types.F64]) {
		text = k.Double + "\n" + text
	}
	if h.lib.Exact() {
		text = "#pragma OPENCL FP_CONTRACT OFF\n" + text
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		h.KernelLines += "    " + quoteC(line+"\n") + ",\n"
	}
}

const hostPrefix = "gl_host_"

// results prints the line that reads reduced scalars, if a text needs them.
func (h *host) results(text string) {
	if !h.lib.GPU() {
		return
	}
	for _, x := range h.lib.Results() {
		if usesWord(text, "h->scalar."+x.Field) {
			h.line("gl_results(h);")
			return
		}
	}
}

// launchGPU prints the launch of a kernel.
func (h *host) launchGPU(launch *kernel.Launch, step string) {
	k := launch.Kernel
	var args []string
	add := func(t types.Type, memory bool, text string) {
		if h.lib.CUDA() {
			args = append(args, text)
			return
		}
		name, size := t.String(), "sizeof("+C.Memory[t]+")"
		switch {
		case memory:
			name, size = "memory", "sizeof(cl_mem)"
		case t == types.Bool:
			name = "u8"
		}
		args = append(args, fmt.Sprintf("{ %s, { .%s = %s } }", size, name, text))
	}
	h.nameScalars(launch, step) // which tensor maps are made with, too
	for i, a := range launch.Args {
		if i < len(k.Buffers) {
			b, place, bytes := k.Buffers[i], "", ""
			switch a := a.(type) {
			case kernel.GridArg:
				g := h.lib.grids[a.Grid]
				place, bytes = "g->"+g.Field, fmt.Sprintf("h->room[%d]", g.Index)
			case kernel.SpareArg:
				g := h.lib.spares[a.Spare]
				place, bytes = "g->"+g.Field, fmt.Sprintf("h->room[%d]", g.Index)
			case kernel.ScratchArg:
				place = h.printer.names[a.Scratch]
				bytes = fmt.Sprintf("gl_times(%s, sizeof(%s))", h.cells(a.Scratch.Cells), C.Memory[a.Scratch.Elem])
			case kernel.CellArg:
				place = "h->cell." + h.lib.scalars[a.Scalar].Field
			default:
				panic(fmt.Sprintf("emit: a library has no %T", a))
			}
			switch {
			case h.lib.dialect().outside(b):
				h.constant(ConstantSymbol(kernelFunction(k), b.Name), place)
			case b.Space == kernel.Image:
				add(b.Elem, true, imageCall(b, place, bytes))
			case b.Space == kernel.TensorMap:
				add(b.Elem, true, h.tensorCall(b, place))
			default:
				add(b.Elem, true, place)
			}
			continue
		}
		if v := k.Scalars[i-len(k.Buffers)]; refersTo(k, v) {
			add(v.Type, false, h.printer.names[v])
		}
	}
	name := kernelFunction(k)
	h.line("{")
	h.indent++
	size := h.geometry(k)
	lead := strings.Repeat("    ", h.indent)
	if h.lib.CUDA() {
		fmt.Fprintf(&h.out, "%sgl_launch(h, %s, %s, blocks, threads, %d, %t, %s);\n",
			lead, quoteC(k.Name), name, size.shared, size.together, strings.Join(args, ", "))
	} else {
		fmt.Fprintf(&h.out, "%sconst gl_argument args[] = { %s };\n", lead, strings.Join(args, ", "))
		fmt.Fprintf(&h.out, "%sgl_launch(h, GL_%s, blocks, threads, args, %d);\n", lead, name, len(args))
	}
	h.indent--
	h.line("}")
}

// nameScalars has the scalars of a launch spelled as what they are bound to.
func (h *host) nameScalars(launch *kernel.Launch, step string) {
	for i, v := range launch.Kernel.Scalars {
		h.printer.names[v] = h.scalarArgument(launch.Args[len(launch.Kernel.Buffers)+i], step)
	}
}

// geometry prints the blocks and threads of a kernel.
func (h *host) geometry(k *kernel.Kernel) launchSize {
	size := sizeOf(k)
	grid := size.grid()
	numbers := func(of func(int) kernel.Expr) string {
		var list []string
		for i := range 3 {
			list = append(list, h.expr(of(i)))
		}
		return strings.Join(list, ", ")
	}
	h.line("const int64_t blocks[3] = { %s };", numbers(func(i int) kernel.Expr { return grid[i] }))
	h.line("const int64_t threads[3] = { %s };", numbers(func(i int) kernel.Expr { return size.threads[i].expr() }))
	return size
}

// scalarArgument spells what a scalar is bound to.
func (h *host) scalarArgument(a kernel.Arg, step string) string {
	switch a := a.(type) {
	case kernel.ScalarArg:
		return h.printer.names[h.scalars[a.Scalar]]
	case kernel.SizeArg:
		return h.printer.names[h.sizes[a.Param]]
	case kernel.StepArg:
		return step
	case kernel.RoundsArg:
		return roundsName
	}
	panic(fmt.Sprintf("emit: a library has no %T", a))
}

func (l *library) buildTemplate() string {
	if l.GPU() {
		return "CMakeLists.gpu.txt.tmpl"
	}
	return "CMakeLists.txt.tmpl"
}
