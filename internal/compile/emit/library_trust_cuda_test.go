package emit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Libraries for CUDA look at kernels that read images or copy in bulk as they are
// configured, which is before anything is launched, and at no others.
func TestLibraryTrusts(t *testing.T) {
	needClang(t)
	p, diags := lang.Load(diag.NewSource("heat.loom", `
parameter N, M, L;
iterator k, j, i;
double u[N,M,L], next[N,M,L], most;
boundary u, next : periodic;
copyin u; copyout u, most;
stencil heat (out, in) { out[k][j][i] = in[k][j][i] + 0.125*(in[k][j][i+1] + in[k][j][i-1] + in[k+1][j][i] - 3*in[k][j][i]); }
stencil measure () { reduce max most = u[k][j][i]; }
iterate 3 { heat (next, u); swap (next, u); measure (); }`))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const planes = "family=planes,stream=k,block=4x32,vec=2,chunk=4,stages=1,copy="
	for _, c := range []struct {
		dialect     *emit.Dialect
		plan        string
		does, looks []string // what the kernels say, and the library does
	}{
		{emit.CUDA, "heat[0:1]@1{family=tile,vec=2,load=image}", []string{"tex1Dfetch<int4>("},
			[]string{`gl_trust(h, "heat", heat_kernel, "load=plain");`}},
		{emit.CUDA, "family=tile,vec=2,load=image", []string{"tex1Dfetch<int4>("}, []string{
			`gl_trust(h, "heat", heat_kernel, "load=plain");`, `gl_trust(h, "measure", measure_kernel, "load=plain");`,
		}},
		{emit.CUDA, planes + "tensor", []string{"cp.async.bulk.tensor."},
			[]string{`gl_trust(h, "heat", heat_kernel, "copy=async");`}},
		{emit.CUDA, planes + "async", []string{"cp.async.cg."}, nil},
		{emit.CUDA, "", nil, nil},
		{emit.OpenCL, "family=tile,vec=2,load=image", []string{"image1d_buffer_t"}, nil},
	} {
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		o := lower.Options{Target: lower.GPU, Plan: plan}
		_, o.Lacks = c.dialect.On(nil)
		m, err := lower.Program(p, o)
		if err != nil {
			t.Fatal(err)
		}
		files, err := emit.Library(m, emit.LibraryOptions{Dialect: c.dialect})
		if err != nil {
			t.Fatal(err)
		}
		source := files[slices.IndexFunc(files, func(f emit.File) bool {
			return f.Name == "heat.cu" || f.Name == "heat.c"
		})].Text
		for _, text := range c.does {
			if !strings.Contains(source, text) {
				t.Errorf("%s: the kernels have no %s", c.plan, text)
			}
		}
		before, configure, _ := strings.Cut(source, "static int gl_configure(")
		configure, after, _ := strings.Cut(configure, "\n}\n")
		var looks []string
		for line := range strings.Lines(configure) {
			if _, call, ok := strings.Cut(line, "if (!status) status = gl_trust("); ok {
				looks = append(looks, "gl_trust("+strings.TrimSpace(call))
			}
		}
		if !slices.Equal(looks, c.looks) {
			t.Errorf("%s: configure looks %q, want %q", c.plan, looks, c.looks)
		}
		if got := strings.Contains(before, "cudaFuncGetAttributes(&a, kernel)"); got != (c.looks != nil) ||
			strings.Contains(after, "gl_trust") {
			t.Errorf("%s: the runtime is asked: %v", c.plan, got)
		}
		if c.dialect == emit.CUDA {
			if code := ptx(t, kernelsOf(source)); !strings.Contains(code, ".entry heat_kernel(") {
				t.Errorf("%s: there is no kernel heat_kernel", c.plan)
			}
		}
	}
}
