package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Source prints a module's kernels as one file. For C, every kernel NAME also
// gets an exported function gl_NAME(void **args), whose args point at the
// arguments in order: at a pointer for a buffer, at the value for a scalar.
func Source(d *Dialect, m *kernel.Module) string {
	p := newPrinter(d)
	for _, k := range m.Kernels {
		p.line("")
		p.kernel(k)
		if d.Parallel {
			p.entry(k)
		}
	}
	var b strings.Builder
	b.WriteString(d.Prelude)
	if strings.Contains(p.out.String(), d.Types[types.F64]) {
		b.WriteString(d.Double)
	}
	if defs := p.helperDefs(); defs != "" {
		b.WriteString("\n" + defs)
	}
	b.WriteString(p.out.String())
	return b.String()
}

// entry prints the function through which a loaded kernel is called.
func (p *printer) entry(k *kernel.Kernel) {
	var args []string
	for i, b := range k.Buffers {
		constant := ""
		if b.Mode == kernel.In {
			constant = "const "
		}
		args = append(args, fmt.Sprintf("*(%s%s **)args[%d]", constant, p.Memory[b.Elem], i))
	}
	for i, v := range k.Scalars {
		args = append(args, fmt.Sprintf("*(%s *)args[%d]", p.Memory[v.Type], len(k.Buffers)+i))
	}
	p.line("")
	p.line("void %s(void **args)", EntryName(k))
	p.line("{")
	p.indent++
	p.line("%s(%s);", p.legal(k.Name), strings.Join(args, ", "))
	p.indent--
	p.line("}")
}

// EntryName is the symbol of a kernel's entry function.
func EntryName(k *kernel.Kernel) string { return "gl_" + k.Name }

// Symbol is the symbol of a kernel's own function, for launches that need no
// entry.
func (d *Dialect) Symbol(kernel string) string { return d.legal(kernel) }
