package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// openGPU opens a program on the first GPU in strict arithmetic.
func openGPU(t *testing.T, b *ir.Binding) *Remote {
	t.Helper()
	gpus, err := cuda.GPUs()
	if err != nil {
		t.Skip(err)
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Strict: true, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	builder := &cuda.Builder{Compiler: compiler, Arch: gpus[0].Arch(), Arithmetic: toolchain.Strict, Dir: t.TempDir()}
	image, err := builder.Build(context.Background(), []byte(emit.Source(emit.CUDA, m)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(context.Background(), m, b, Options{Device: cuda.ID(0), Image: image})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A GPU gives the reference's bits, whatever the pieces that it goes in.
func TestGPUAgrees(t *testing.T) {
	for _, test := range programs {
		b := program(t, test.text)
		ref := initialised(t, openReference(t, b))
		p := advanced(t, ref, Limit{})
		want := contents(t, ref, b.Program)
		for _, limit := range []Limit{{}, {Leaves: 3}, {Iterations: 2}} {
			r := initialised(t, openGPU(t, b))
			var q Progress
			for !q.Finished {
				q = advanced(t, r, limit)
			}
			if q.Iterations != p.Iterations || q.Leaves != p.Leaves || q.Points != p.Points {
				t.Errorf("%s: ends with %+v, the reference with %+v", test.name, q, p)
			}
			same(t, fmt.Sprintf("%s %+v", test.name, limit), contents(t, r, b.Program), want)
		}
	}
}
