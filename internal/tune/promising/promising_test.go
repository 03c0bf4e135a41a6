package promising

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// Each class has one rule, and the rules are the paper's.
func TestRules(t *testing.T) {
	seen := map[Class]bool{}
	for _, r := range Rules {
		if seen[r.Class] || r.Why == "" || For(r.Class) != r {
			t.Errorf("%+v", r)
		}
		seen[r.Class] = true
	}
	for _, c := range []struct {
		class   Class
		unroll  int64
		deeper  bool
		staging Staging
	}{
		{Bandwidth, 8, true, Either}, {Compute, 4, false, Direct}, {Latency, 8, false, Either},
		{Unknown, 0, true, Either}, {"other", 0, true, Either},
		{profile.BoundByDRAM, 8, true, Either}, {profile.BoundByL2, 8, true, Either},
		{profile.BoundByL1, 8, true, Staged}, {profile.BoundByShared, 8, true, Either},
		{profile.ComputeBound, 4, false, Direct}, {profile.LatencyBound, 8, false, Either},
		{profile.NotTold, 0, true, Either},
	} {
		if r := For(c.class); r.Unroll != c.unroll || r.Deeper != c.deeper || r.Staging != c.staging {
			t.Errorf("%s: %+v", c.class, r)
		}
		if c.class.Bandwidth() && !For(c.class).Deeper {
			t.Errorf("%s: deeper kernels share what is loaded", c.class)
		}
	}
}

// What was measured restricts copies to shared memory, too: none where arithmetic binds, and none but kernels with them
// where the first cache does.
func TestKeepMeasured(t *testing.T) {
	axes := []string{"k", "j", "i"}
	all := lower.Space(lower.GPU, axes)
	for _, c := range []struct {
		class          Class
		depth          int64
		staged, direct bool
	}{
		{profile.BoundByDRAM, 1, true, true}, {profile.BoundByL2, 1, true, true}, {profile.BoundByL1, 1, true, false},
		{profile.BoundByShared, 1, true, true}, {profile.ComputeBound, 1, false, true},
		{profile.LatencyBound, 1, true, true}, {profile.NotTold, 1, true, true}, {profile.ComputeBound, 2, true, true},
	} {
		less := For(c.class).KeepMeasured(all, axes, c.depth)
		for text, want := range map[string]bool{
			"family=planes,stream=k,block=8x32,rows=1,vec=1,stages=2": c.staged,
			"family=planes,stream=k,block=8x32,rows=1,vec=1,stages=0": c.direct,
			"family=cells,block=8x32":                                 c.direct,
		} {
			partial, err := schedule.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := all.Complete(partial); err != nil {
				t.Fatal(err)
			}
			if _, err := less.Complete(partial); (err == nil) != want {
				t.Errorf("%s, depth %d, %s: %v", c.class, c.depth, text, err)
			}
		}
	}
	loops := lower.Space(lower.CPU, axes)
	if less := For(profile.BoundByL1).KeepMeasured(loops, axes, 1); less.Count().Cmp(loops.Count()) != 0 {
		t.Errorf("%v loops of %v", less.Count(), loops.Count())
	}
}

// A class in theory is where the intensity lies on the roofline.
func TestInTheory(t *testing.T) {
	for _, c := range []struct {
		bound *analysis.Bound
		want  Class
	}{
		{nil, Unknown}, {&analysis.Bound{}, Unknown},
		{&analysis.Bound{Memory: 2, Arithmetic: 1, GStencils: 0.5}, Bandwidth},
		{&analysis.Bound{Memory: 1, Arithmetic: 2, GStencils: 0.5}, Compute},
		{&analysis.Bound{Memory: 1, Arithmetic: 1, GStencils: 1}, Compute}, // at the ridge
	} {
		if got := InTheory(&analysis.CallFacts{Bound: c.bound}); got != c.want {
			t.Errorf("%+v is %s, not %s", c.bound, got, c.want)
		}
	}
}

// What the cost model says binds a kernel is bandwidth, arithmetic or waiting.
func TestOfModel(t *testing.T) {
	for class, want := range map[costmodel.Class]Class{
		costmodel.Memory: Bandwidth, costmodel.Shared: Bandwidth,
		costmodel.Arithmetic: Compute, costmodel.Issue: Compute,
		costmodel.Waiting: Latency, costmodel.Launching: Latency, costmodel.Execution: Unknown, "": Unknown,
	} {
		if got := OfModel(class); got != want {
			t.Errorf("%q is %s, not %s", class, got, want)
		}
	}
}

// A rule leaves the configurations whose threads have as few cells along each axis as it says.
func TestKeep(t *testing.T) {
	axes := []string{"k", "j", "i"}
	all := lower.Space(lower.GPU, axes)
	for _, c := range []struct {
		text             string
		bandwidth, bound bool
	}{
		{"family=tile,block=1x4x32,vec=2,rows=4x2,repeat=1x1x1", true, true},
		{"family=tile,block=1x4x32,vec=2,rows=8x2,repeat=1x1x1", true, false},
		{"family=tile,block=1x4x32,vec=2,rows=1x2,repeat=1x4x1", true, false},
		{"family=tile,block=1x4x32,vec=1,rows=1x4,repeat=1x4x1", false, false},
		{"family=tile,block=1x4x32,vec=4,rows=1x1,repeat=1x1x4", false, false},
		{"family=tile,block=1x2x64,vec=2,rows=1x1,repeat=1x1x1", true, true},
		{"family=planes,stream=k,block=8x32,rows=4,vec=2,chunk=32", true, true},
		{"family=planes,stream=k,block=8x32,rows=8,vec=2,chunk=32", true, false},
		{"family=cells,block=8x32", true, true},
	} {
		partial, err := schedule.ParseConfig(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.Complete(partial); err != nil {
			t.Fatal(err)
		}
		for class, want := range map[Class]bool{Bandwidth: c.bandwidth, Compute: c.bound, Unknown: true} {
			_, err := For(class).Keep(all, axes).Complete(partial)
			if (err == nil) != want {
				t.Errorf("%s kernel, %s: %v", class, c.text, err)
			}
		}
	}
	count := func(c Class) float64 {
		n, _ := For(c).Keep(all, axes).Count().Float64()
		return n
	}
	if b, c, u := count(Bandwidth), count(Compute), count(Unknown); !(c < b && b < u && c > 0) {
		t.Errorf("%g, %g and %g configurations", b, c, u)
	}
	loops := lower.Space(lower.CPU, axes)
	if less := For(Compute).Keep(loops, axes); less.Count().Cmp(loops.Count()) != 0 {
		t.Errorf("%v loops of %v", less.Count(), loops.Count())
	}
}
