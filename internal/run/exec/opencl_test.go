package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// openOpenCL opens a program on the first OpenCL device in strict arithmetic. It
// returns nil for a plan that fits no kernel, or asks what OpenCL has no words
// for.
func openOpenCL(t *testing.T, b *ir.Binding, plan schedule.Plan) *Remote {
	t.Helper()
	devices, err := opencl.Devices()
	if err != nil {
		t.Skip(err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := lower.Options{Target: lower.GPU, Bound: b, Plan: plan}
	_, o.Lacks = emit.OpenCL.On(nil)
	m, err := lower.Program(b.Program, o)
	if err != nil && plan.String() != "" {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	script, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range m.Kernels {
		if emit.OpenCL.Lacks(k) != nil {
			return nil
		}
	}
	for _, s := range script.Calls {
		for _, l := range s.Launches {
			if devices[0].Fits(script.Kernels[l.Kernel], l.Geometry) != nil {
				return nil
			}
		}
	}
	builder := &opencl.Builder{Arithmetic: arith.Strict, Cache: cache}
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
			r := initialised(t, openOpenCL(t, b, schedule.Plan{}))
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

// Nor does it depend on the plan.
func TestOpenCLPlansAgree(t *testing.T) {
	b := program(t, heat)
	ref := initialised(t, openReference(t, b))
	advanced(t, ref, Limit{})
	want := contents(t, ref, b.Program)
	rng := rand.New(rand.NewPCG(1, 1))
	ran := 0
	for _, f := range lower.Space(lower.GPU, b.Program.Axes).Families {
		counter := schedule.Space{Families: []schedule.Family{f}}.Counter()
		for range 100 {
			plan := schedule.Plan{Every: counter.Draw(rng)}
			r := openOpenCL(t, b, plan)
			if r == nil {
				continue
			}
			ran++
			initialised(t, r)
			advanced(t, r, Limit{})
			same(t, plan.String(), contents(t, r, b.Program), want)
			break
		}
	}
	if ran < 2 {
		t.Errorf("plans of %d families fit", ran)
	}
}

// What a device cannot do is said before anything is compiled.
func TestFitsOpenCL(t *testing.T) {
	b := program(t, heat)
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	fits := func(p opencl.Properties) error {
		return s.Fits(target.Of(&opencl.Kind, 0, p.General(), target.Options{}))
	}
	large := opencl.Properties{Name: "Large", Memory: 1 << 40, MaxThreads: 1024, MaxBlock: [3]int64{1024, 1024, 64},
		Local: 48 << 10}
	if err := fits(large); err != nil {
		t.Error(err)
	}
	few := large
	few.MaxThreads = 16
	if err := fits(few); verdict.Of(err) != verdict.Resources ||
		!strings.HasSuffix(err.Error(), " threads a block, and Large runs 16 at most") {
		t.Error(err)
	}
	small := large
	small.Memory = 100
	want := fmt.Sprintf("this needs %s of device memory, and opencl:0 (Large) has 100 bytes",
		memory.Size(s.DeviceBytes()))
	if err := fits(small); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	small.Unified = true
	if err := fits(small); err != nil {
		t.Error(err)
	}
}
