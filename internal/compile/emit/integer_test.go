package emit_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

var (
	wide    = regexp.MustCompile(`(?m)^\s+(add|sub|mul|mad|shl|shr|and|or|min|max|setp|selp|cvt|div|rem|neg)\.[a-z0-9.]*[sub]64\b`)
	product = regexp.MustCompile(`(?m)^\s+(mul|mad)\.lo\.[su]64\b`)
)

// The passes for GPUs leave no 64-bit product, and at most two thirds of
// the other arithmetic on 64 bits.
func TestGPUPassesSaveIntegers(t *testing.T) {
	needClang(t)
	for _, name := range []string{"star7", "box27"} {
		p := loadFile(t, "../../tune/eval/bench/cases/"+name+".loom", strings.NewReplacer())
		bound, list := p.Bind(nil)
		if list.HasErrors() {
			t.Fatal(list)
		}
		var counts [2]int
		for i := range counts {
			m, err := lower.Program(p, lower.Options{Target: lower.GPU, Bound: bound})
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				allPasses(m, bound)
			}
			code := ptx(t, emit.Source(emit.CUDA, m))
			counts[i] = len(wide.FindAllString(code, -1))
			if n := len(product.FindAllString(code, -1)); i > 0 && n > 0 {
				t.Errorf("%s: %d products of 64 bits", name, n)
			}
		}
		if 3*counts[1] > 2*counts[0] {
			t.Errorf("%s: %d instructions on 64 bits, %d without the passes", name, counts[1], counts[0])
		}
		t.Logf("%s: %d instructions on 64 bits, %d without the passes", name, counts[1], counts[0])
	}
}

// allPasses applies all passes to kernels of known sizes, each of which has one
// launch.
func allPasses(m *kernel.Module, bound *ir.Binding) {
	for i, l := range m.Calls[m.Program.Calls[0]] {
		known := kernel.Ranges{}
		for j, v := range l.Kernel.Scalars {
			if a, ok := l.Args[len(l.Kernel.Buffers)+j].(kernel.SizeArg); ok {
				known[v] = kernel.Exactly(bound.Params[a.Param])
			}
		}
		l.Kernel = kernel.Apply(l.Kernel, kernel.Asked{Indexing: true, Known: true, Arguments: known}, nil)
		m.Kernels[i] = l.Kernel
	}
}
