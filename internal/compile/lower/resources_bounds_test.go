package lower_test

import (
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Kernels that load far more than a thread's registers hold say that one block a multiprocessor is enough, unless the
// plan has asked for something. Others leave it to the compiler.
func TestCrowdedKernelsNeedOneBlock(t *testing.T) {
	for _, c := range []struct {
		example, plan string
		want          int
	}{
		{"rhs4sgcurv", "family=cells", 1},
		{"rhs4sgcurv", "family=tile,block=1x1x64,registers=168", 0},
		{"addsgd6", "family=cells", 0},
		{"hypterm", "family=planes,block=4x32,rows=6,stages=1", 1},
		{"hypterm", "family=planes,block=4x32,rows=1,stages=1,registers=255", 0},
		{"wave", "family=cells", 0},
	} {
		source, err := examples.FS.ReadFile(c.example + ".loom")
		if err != nil {
			t.Fatal(err)
		}
		b, list := load(t, c.example, string(source)).In(arith.Contract).Bind(nil)
		if list.HasErrors() {
			t.Fatal(list)
		}
		m, err := lower.Program(b.Program, lower.Options{
			Target: lower.GPU, Bound: b, NoInitial: true, Plan: plan(t, c.plan),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Kernels[0].MinBlocks; got != c.want {
			t.Errorf("%s, %s: %d blocks, not %d", c.example, c.plan, got, c.want)
		}
	}
}
