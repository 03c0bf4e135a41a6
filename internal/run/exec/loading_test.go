package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	capability "github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// loads has grids that rotate, of which some may be images, and others that all
// threads read together, which may be in constant memory: two calls of the
// stencil have different ones.
const loads = `
parameter N = 45;
iterator j, i;
double a[9,N], b[9,N], c[9,N], first[3], second[3], row[9];
float f[9,N];
int g[9,N];
boundary a, b, c : clamp on j, periodic on i;
initial {
  a[j][i] = 0.01*i + 0.1*j; f[j][i] = 0.5*i - j; g[j][i] = 3*i + j;
  first[i] = 0.25 + 0.125*i; second[i] = 0.5 - 0.0625*i; row[j] = 0.001*j;
}
stencil s (out, in, f, g, w, row) {
  out[j][i] = w[0]*in[j][i] + w[1]*(in[j][i-1] + in[j][i+1]) + w[2]*(in[j-1][i] + in[j+1][i]) + row[j]*f[j][i] + g[j][i];
}
iterate 9 { s (b, a, f, g, first, row); s (c, b, f, g, second, row); rotate (a, b, c); }
copyout a, b, c;
`

// loadingPlans load the grids of it in every way.
var loadingPlans = []string{
	"family=tile,vec=1,load=image",
	"family=tile,vec=2,load=image,sizes=literals",
	"family=tile,vec=4,load=plain,load_f=image,load_g=image",
	"family=tile,load_w=constant,load_row=constant",
	"family=tile,vec=2,rows=2,load=image,load_w=constant,load_row=plain",
	"family=tile,vec=4,load=image,load_w=constant,stages=1",
}

// However grids are loaded, a GPU gives the reference's bits: after rotations,
// in graphs and launch by launch, and again with other contents.
func TestGPULoading(t *testing.T) {
	gpus, err := cuda.GPUs()
	if err != nil {
		t.Skip(err)
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	b := program(t, loads)
	ref := initialised(t, openReference(t, b))
	advanced(t, ref, Limit{})
	want := contents(t, ref, b.Program)
	other := scaled(t, openReference(t, b))
	advanced(t, other, Limit{})
	second := contents(t, other, b.Program)
	for _, text := range loadingPlans {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b, Sized: true, NoInitial: true,
			Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		builder := &cuda.Builder{Compiler: compiler, Arch: gpus[0].Arch(), Arithmetic: arith.Strict, Dir: t.TempDir()}
		image, err := builder.Build(context.Background(), []byte(emit.Source(emit.CUDA, m)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, eager := range []int64{0, 7} {
			name := fmt.Sprintf("%s, eager %d", text, eager)
			r := initialised(t, openModule(t, m, b, Options{Image: image, eager: eager}))
			advanced(t, r, Limit{Leaves: 5})
			advanced(t, r, Limit{})
			same(t, name, contents(t, r, b.Program), want)
			start := r.(*Remote)
			if err := start.Restore(Place{}); err != nil {
				t.Fatal(err)
			}
			advanced(t, scaled(t, r), Limit{})
			same(t, name+", once more", contents(t, r, b.Program), second)
		}
	}
}

// So does an OpenCL device, as far as it has images: one without says so.
func TestOpenCLLoading(t *testing.T) {
	devices, err := opencl.Devices()
	if err != nil {
		t.Skip(err)
	}
	b := program(t, loads)
	ref := initialised(t, openReference(t, b))
	advanced(t, ref, Limit{})
	want := contents(t, ref, b.Program)
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	builder := &opencl.Builder{Arithmetic: arith.Strict, Cache: cache}
	for _, text := range []string{"family=tile,vec=2,load_w=constant,load_row=constant",
		"family=tile,vec=2,load=image"} {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, NoInitial: true, Plan: plan}
		_, o.Lacks = emit.OpenCL.On(nil)
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		images := slices.ContainsFunc(m.Kernels,
			func(k *kernel.Kernel) bool { return slices.Contains(emit.Needs(k), capability.Image) })
		image, err := builder.Build(context.Background(), []byte(emit.Source(emit.OpenCL, m)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		r, err := Open(context.Background(), m, b, Options{Device: opencl.ID(0), Image: image})
		if images && devices[0].Texels == 0 {
			if err == nil || !strings.Contains(err.Error(), "has no images of memory: load such grids another way") {
				t.Errorf("%s: %v", text, err)
			}
			o.Machine, o.Lacks = emit.OpenCL.On(devices[0].Machine())
			if _, err = lower.Plan(b.Program, o); err == nil || !strings.Contains(err.Error(), "load=image") {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		advanced(t, initialised(t, r), Limit{})
		same(t, text, contents(t, r, b.Program), want)
	}
}

// scaled gives a runner other contents of the grids that nothing writes.
func scaled(t *testing.T, r Runner) Runner {
	t.Helper()
	for _, name := range []string{"second", "row"} {
		cells, err := r.Grid(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range cells {
			cells[i] = 0
		}
		for at := 6; at < len(cells); at += 8 { // 0.75
			cells[at], cells[at+1] = 0xE8, 0x3F
		}
	}
	if err := r.Initialise([]string{"second", "row"}); err != nil {
		t.Fatal(err)
	}
	return r
}
