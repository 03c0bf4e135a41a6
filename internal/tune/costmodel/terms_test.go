package costmodel_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// Each term is what one resource of an H200 takes.
func TestTerms(t *testing.T) {
	m := h200(t)
	base := costmodel.Work{Blocks: 132, Threads: 256, Taken: lower.Estimate{Threads: 256, Registers: 255}}
	for _, c := range []struct {
		change func(w *costmodel.Work)
		useful float64
		known  costmodel.Known
		want   string
		class  costmodel.Class
	}{
		{func(w *costmodel.Work) { w.Loaded, w.Stored = 4208e6*0.9, 4208e6*0.9 }, 0.5, costmodel.Known{},
			"1502 us: memory 1.00", costmodel.Memory},
		{func(w *costmodel.Work) { w.Issue = 67000e9 / 64 * 1e-3 }, 1, costmodel.Known{}, "1178 us: issue slots 1.00",
			costmodel.Issue},
		{func(w *costmodel.Work) { w.Issue, w.Double = 17000e9/32*1e-3, 17000e9/32*1e-3 }, 1, costmodel.Known{},
			"1349 us: issue slots 0.44, arithmetic 0.99", costmodel.Arithmetic},
		{func(w *costmodel.Work) { w.Shared = 33454e6 }, 1, costmodel.Known{}, "1113 us: shared memory 1.00",
			costmodel.Shared},
		{func(w *costmodel.Work) { w.Hot = 33454e3 }, 1, costmodel.Known{Spills: 1000}, "1113 us: shared memory 1.00",
			costmodel.Shared},
		{func(w *costmodel.Work) { w.Barriers = 132 * 1000 }, 1, costmodel.Known{}, "52 us: waiting 0.96, launch 0.04",
			costmodel.Waiting},
		{func(w *costmodel.Work) { w.Waits = 10 }, 1, costmodel.Known{}, "37 us: waiting 0.95, launch 0.05",
			costmodel.Waiting},
		{func(*costmodel.Work) {}, 1, costmodel.Known{}, "2 us: launch 1.00", costmodel.Launching},
		// 133 blocks take two rounds, and one where a multiprocessor holds two: the compiler took fewer registers.
		{func(w *costmodel.Work) { w.Blocks, w.Shared = 133, 33454e6 }, 1, costmodel.Known{},
			"2208 us: shared memory 0.50, last wave 1.98", costmodel.Shared},
		{func(w *costmodel.Work) { w.Blocks, w.Shared = 264, 33454e6 }, 1, costmodel.Known{Registers: 128},
			"1113 us: shared memory 1.00", costmodel.Shared},
		// Twice 1.9 times what a thread can have; once a compiler has told that nothing spills, that is past.
		{func(w *costmodel.Work) { w.Shared, w.Taken.Registers = 33454e6, 969 }, 1, costmodel.Known{},
			"2224 us: shared memory 0.50, register pressure 2.00", costmodel.Shared},
		{func(w *costmodel.Work) { w.Shared, w.Taken.Registers = 33454e6, 969 }, 1, costmodel.Known{Registers: 255},
			"1113 us: shared memory 1.00", costmodel.Shared},
	} {
		w := base
		c.change(&w)
		terms := costmodel.NewTerms(&w, c.useful, m, c.known)
		if got := terms.String(); got != c.want {
			t.Errorf("%+v: %s, not %s", w, got, c.want)
		}
		if class, _ := terms.Largest(); class != c.class {
			t.Errorf("%s: %s, not %s", terms, class, c.class)
		}
	}
}

// What binds a kernel changes with its depth.
func TestBottleneck(t *testing.T) {
	for _, c := range []struct{ name, dtype, grid, plan, want string }{
		{"star5", "double", "16384x16384", "body[0:2]@2{family=pipe,block=4x32,cells=4,chunk=128}", "memory"},
		{"star5", "double", "16384x16384", "body[0:2]@16{family=pipe,block=4x32,cells=4,chunk=512}", "arithmetic"},
		{"star5", "float", "16384x16384", "body[0:2]@2{family=pipe,block=4x32,cells=4,chunk=128}", "memory"},
		{"star5", "float", "16384x16384", "body[0:2]@16{family=pipe,block=4x32,cells=4,chunk=512}", "issue slots"},
		{"box27", "float", "512x512x512", "body[0:2]@2{family=pipe,block=16x32,cells=5x2,chunk=128}", "issue slots"},
		{"star7", "float", "20x20x20", "body[0:2]@2{family=overlap,block=32,tile=4x4x16}", "launch"},
	} {
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		var analyst costmodel.Analyst = model(t, load(t, c.name, c.dtype, c.grid), false)
		class, e, err := analyst.Bottleneck(plan)
		if err != nil || string(class) != c.want {
			t.Errorf("%s %s %s: %s (%s), not %s; %v", c.name, c.dtype, c.plan, class, e.Terms, c.want, err)
		}
		if !(e.Useful > 0 && e.Useful <= 1) || e.Predicted <= 0 {
			t.Errorf("%s: %+v", c.plan, e)
		}
	}
}

// What cannot be predicted says why.
func TestUnknown(t *testing.T) {
	b := load(t, "star5", "float", "64x64")
	none, err := model(t, b, false), error(nil)
	for _, c := range []struct{ plan, want string }{
		{"block=32", "no kernel of several iterations"},
		{"body[0:2]@2{family=tensor}", "tensor"},
	} {
		plan, failed := schedule.ParsePlan(c.plan)
		if failed != nil {
			t.Fatal(failed)
		}
		if _, _, err := none.Bottleneck(plan); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.plan, err)
		}
	}
	for _, c := range []struct {
		target   lower.Target
		hardware *machine.Machine
		want     string
	}{
		{lower.CPU, h200(t), "the cost model is of GPUs"},
		{lower.GPU, nil, "of the device are is not known"},
		{lower.GPU, &machine.Machine{Name: "pocl", Kind: machine.KindGPU, GPU: &machine.GPU{Warp: 32}}, "of pocl are"},
	} {
		if _, err = costmodel.New(b, lower.Options{Target: c.target}, c.hardware); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.hardware, err)
		}
	}
}
