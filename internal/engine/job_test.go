package engine

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Plans that are no members of a space and plans that need more than the GPU
// has are refused for different reasons, both before anything is compiled.
func TestRefusalsBeforeCompiling(t *testing.T) {
	p, list := lang.Load(diag.NewSource("heat.loom", `
parameter L = 64, M = 64, N = 64;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
stencil heat (out, in) {
  out[k][j][i] = in[k][j][i] + in[k][j][i+1] + in[k+1][j][i] + in[k-1][j][i] + in[k][j-1][i];
}
heat (v, u);
copyout v;
`))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	b, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	hopper := cuda.Limits{
		Warp: 32, Threads: 1024, Block: [3]int64{1024, 1024, 64}, Grid: [3]int64{1<<31 - 1, 65535, 65535},
		Shared: 227 << 10, ThreadsOfMulti: 2048, SharedOfMulti: 228 << 10, RegistersOfMulti: 65536, BlocksOfMulti: 32,
	}
	small := hopper
	small.Shared, small.SharedOfMulti, small.ThreadsOfMulti, small.BlocksOfMulti = 64<<10, 64<<10, 1024, 16
	for _, c := range []struct {
		limits cuda.Limits
		plan   string
		reason verdict.Verdict
		want   string
	}{
		{hopper, "vec=3", verdict.Constraint, "plan: vec=3 fits no kernel: vec takes no value 3; it takes 1, 2, 4, 8"},
		{hopper, "block=1x4x16,shuffle=yes", verdict.Constraint,
			"plan: shuffle=yes fits no kernel: block=1x4x16,shuffle=yes: whole warps (neighbours in other lanes are " +
				"in the same row only if a row of threads is a whole number of warps of 32); the rest being as it is, " +
				"block=1x4x64|1x4x32|1x4x128|1x4x256|1x1x32|1x1x64|1x1x128|1x1x256|1x1x512|1x1x1024|1x2x32|1x2x64 and " +
				"244 more or shuffle=no would do"},
		{hopper, "family=planes,block=8x64,rows=2,vec=4,stages=1", verdict.OK, ""},
		{small, "family=planes,block=8x64,rows=2,vec=4,stages=1", verdict.Resources,
			"plan: the kernel heat takes 69632 bytes of shared memory a block, and a block has 65536; " +
				"a plan that fits is family=planes,block=8x32,rows=2,vec=4,stages=1"},
		{hopper, "family=planes,block=16x64,rows=8,vec=4,stages=3", verdict.Resources,
			"plan: the kernel heat takes 1056768 bytes of shared memory a block, and a block has 232448; " +
				"a plan that fits is family=planes,block=8x16,rows=8,vec=4,stages=3"},
	} {
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		gpu := cuda.GPU{Name: "G", Major: 9, Memory: 1 << 34, Multiprocessors: 64, Limits: c.limits}
		on := target.Of(&cuda.Kind, 0, gpu.Properties(), target.Options{})
		job := Job{Bound: b, Plan: plan, Device: &Device{Target: on}}
		_, err = job.Lower()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if verdict.Of(err) != c.reason || got != c.want {
			t.Errorf("%s: %v: %s\nwant %v: %s", c.plan, verdict.Of(err), got, c.reason, c.want)
		}
	}
}

// A plan from the store that fails gives way to the usual one.
func TestAlternativesToStored(t *testing.T) {
	b := bound(t, "parameter N = 100;\niterator i;\ndouble u[N], v[N];\ncopyin u; copyout v;\n"+
		"stencil s (out, in) { out[i] = in[i+1] + in[i-1]; }\ns (v, u);")
	stored, err := schedule.ParsePlan("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	device, err := Open(DeviceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	job := Job{Bound: b, Device: device}
	usual := job.PlanText()
	job.Plan = stored
	if list := job.Alternatives(); list != nil {
		t.Errorf("a plan that is not from the store gives way to %v", list)
	}
	job.Origin = Stored
	if list := job.Alternatives(); len(list) != 1 || list[0].String() != usual {
		t.Errorf("%v, want %s", list, usual)
	}
	job.Origin = Chosen
	if list := job.Alternatives(); list != nil {
		t.Errorf("the user's plan gives way to %v", list)
	}
}
