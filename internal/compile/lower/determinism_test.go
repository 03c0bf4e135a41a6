package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// The same source gives the same kernels and the same text, however often.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	check := func(name string, fresh func() *ir.Binding) {
		for target, dialect := range map[lower.Target]*emit.Dialect{lower.CPU: emit.C, lower.GPU: emit.CUDA} {
			var kernels, text string
			for i := range 5 {
				b := fresh()
				m, err := lower.Program(b.Program, lower.Options{Target: target, Bound: b})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				k, s := moduleText(m), emit.Source(dialect, m)
				if i > 0 && (k != kernels || s != text) {
					t.Errorf("%s: two texts of one program\n%s\n%s", name, text, s)
				}
				kernels, text = k, s
			}
		}
	}
	for _, name := range names(t) {
		check(name, func() *ir.Binding { return bind(t, source(t, name), "") })
	}
	for seed := range uint64(40) {
		c, err := gen.Make(seed, gen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("seed %d", seed), func() *ir.Binding {
			p, _ := lang.Load(diag.NewSource("random.loom", c.Source))
			b, _ := p.Bind(c.Sets[0])
			return b
		})
	}
}
