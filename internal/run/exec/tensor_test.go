package exec

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// reach has grids that change places, whose rows are padded.
const reach = `
parameter L = 7, M = 19, N = 45;
iterator k, j, i;
double a[L,M,N], b[L,M,N];
initial { a[k][j][i] = 0.01*i + 0.1*j - 0.03*k*i; b[k][j][i] = 0.02*i - 0.2*j + k; }
stencil s (out, in) {
  out[k][j][i] = 0.4*in[k][j][i] + 0.2*in[k-1][j][i] - 0.1*in[k+1][j-3][i] + 0.3*in[k][j+2][i-1] + 0.1*in[k][j][i+2];
}
iterate 9 { s (b, a); swap (b, a); }
copyout a, b;
`

// A GPU that reads grids by tensor maps gives the reference's bits, launch by launch and in graphs: each grid has a map
// of its own, that changes places with it.
func TestGPUTensorMaps(t *testing.T) {
	gpus, err := cuda.GPUs()
	if err != nil {
		t.Skip(err)
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	b := program(t, reach)
	ref := initialised(t, openReference(t, b))
	advanced(t, ref, Limit{})
	want := contents(t, ref, b.Program)
	for _, text := range []string{
		"block=4x16,rows=2,vec=2,chunk=4,stages=1,sizes=literals",
		"block=2x64,rows=4,vec=4,chunk=0,stages=2,sizes=arguments",
		"block=4x32,rows=1,vec=1,chunk=0,prefetch=1,stages=2,refetch=no,sizes=arguments",
	} {
		plan, err := schedule.ParsePlan("family=planes,stream=k,copy=tensor," + text)
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
			r := initialised(t, openModule(t, m, b, Options{Image: image, eager: eager}))
			args := r.(*Remote).script.Calls[0].Launches[0].Args
			if !slices.ContainsFunc(args, func(a Arg) bool { return a.Tensor.Axes == 3 }) {
				t.Errorf("%s: no argument is a tensor map", text)
			}
			advanced(t, r, Limit{Leaves: 5})
			advanced(t, r, Limit{})
			same(t, fmt.Sprintf("%s, eager %d", text, eager), contents(t, r, b.Program), want)
		}
	}
}
