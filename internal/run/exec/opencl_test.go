package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// openOpenCL opens a program on the first OpenCL device in strict arithmetic.
func openOpenCL(t *testing.T, b *ir.Binding) *Remote {
	t.Helper()
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Strict: true, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	builder := &opencl.Builder{Arithmetic: toolchain.Strict, Cache: cache}
	image, err := builder.Build(context.Background(), []byte(emit.Source(emit.OpenCL, m)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(context.Background(), m, b, Options{Device: opencl.ID(0), Image: image})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// An OpenCL device gives the reference's bits, whatever the pieces that it goes
// in.
func TestOpenCLAgrees(t *testing.T) {
	for _, test := range programs {
		b := program(t, test.text)
		ref := initialised(t, openReference(t, b))
		p := advanced(t, ref, Limit{})
		want := contents(t, ref, b.Program)
		for _, limit := range []Limit{{}, {Leaves: 3}} {
			r := initialised(t, openOpenCL(t, b))
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
