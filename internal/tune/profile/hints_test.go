package profile

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// factsOf are those of a kernel of a call s with a configuration.
func factsOf(t *testing.T, config string, k Kernel) *Facts {
	t.Helper()
	space := lower.Space(lower.GPU, []string{"k", "j", "i"})
	if strings.HasPrefix(config, "family=loops") {
		space = lower.Space(lower.CPU, []string{"k", "j", "i"})
	}
	partial, err := schedule.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := space.Complete(partial)
	if err != nil {
		t.Fatal(err)
	}
	k.Part, k.Depth = "s[0:1]", max(1, k.Depth)
	if k.Depth > 1 {
		k.Part = "body[0:2]@4"
	}
	return &Facts{
		Kernel: &k, File: "s.loom", Config: c, Space: space, GPU: c.Family != "loops",
		Plan: schedule.Plan{Kernels: []schedule.Kernel{{Call: "s", To: 1, Depth: 1, Config: c}}},
	}
}

func fits(string) (bool, string) { return true, "" }

// Each rule gives its hint where it should, with the change that carries it out.
func TestRules(t *testing.T) {
	const planes, tile = "family=planes,stream=k", "family=tile"
	loop := func(f *Facts) { f.Loop, f.LoopIn = true, "body[0:2]" }
	for _, c := range []struct {
		name, config string
		kernel       Kernel
		more         func(f *Facts)
		codes        string
		change       string // of the first
	}{
		{"bound by the memory, in a loop", tile, Kernel{Class: BoundByDRAM}, loop, "H01", "body[0:2]@2{}"},
		{"four iterations already", tile, Kernel{Class: BoundByDRAM, Depth: 4}, loop, "H01",
			"body[0:2]@8{family=tile}"},
		{"a loop whose iterations cannot share a kernel", tile, Kernel{Class: BoundByDRAM, Loop: true}, nil, "H04",
			"float"},
		{"bound by the first cache", planes, Kernel{Class: BoundByL1}, nil, "H02", "stages=2"},
		{"likewise, staged already", planes + ",stages=2", Kernel{Class: BoundByL1}, nil, "", ""},
		{"bound by the memory, though staged", planes + ",stages=2", Kernel{Class: BoundByDRAM}, nil, "H03 H04",
			"stages=0"},
		{"calls that may be joined", tile, Kernel{Class: BoundByDRAM},
			func(f *Facts) { f.Split = []string{"maxfuse"} }, "H04 H05", ""},
		{"bound by shared memory", planes + ",stages=2,rows=2", Kernel{Class: BoundByShared}, nil, "H06", "rows=4"},
		{"compute-bound, staged and unrolled", planes + ",stages=2,unroll=4", Kernel{Class: ComputeBound}, nil,
			"H07 H08 H09", "unroll=0"},
		{"compute-bound, plain", tile + ",cse=yes,sizes=literals", Kernel{Class: ComputeBound}, nil, "H08",
			"--fp fast"},
		{"compute-bound, and fast", tile + ",cse=yes,sizes=literals", Kernel{Class: ComputeBound},
			func(f *Facts) { f.Fast = true }, "", ""},
		{"registers that are spilled by an unrolled loop", planes + ",unroll=4", Kernel{Class: BoundByL2,
			Resources: Resources{Registers: 255, Spills: 80}},
			func(f *Facts) { f.Split = []string{"trivial", "recompute"} }, "H02 H10 H11", ""},
		{"all registers, and nothing to split", planes + ",vec=1,rows=1", Kernel{Class: ComputeBound,
			Resources: Resources{Registers: 255}}, func(f *Facts) { f.Fast = true }, "H09", ""},
		{"waiting", planes, Kernel{Class: LatencyBound, Resources: Resources{Registers: 200, Occupancy: 0.25}}, nil,
			"H12",
			"registers=168"},
		{"waiting, with threads enough", planes, Kernel{Class: LatencyBound}, nil, "H12", "prefetch=1"},
		{"a processor's cache", "family=loops", Kernel{Class: BoundByL2}, nil, "H13", "block=0x64x0"},
		{"nothing told", tile, Kernel{Class: NotTold}, nil, "", ""},
		{"all registers, and statements to cut", planes + ",vec=1,rows=1", Kernel{Class: LatencyBound,
			Resources: Resources{Registers: 255}}, func(f *Facts) { f.Split = []string{"trivial", "statements"} },
			"H11 H12", "--only statements"},
		{"grids that are read as a product", tile, Kernel{Class: BoundByDRAM},
			func(f *Facts) { loop(f); f.Products = []analysis.Product{{A: "mu", B: "lam", Part: 0.25}} }, "H01 H14",
			""},
		{"likewise, bound by arithmetic", tile + ",cse=yes,sizes=literals", Kernel{Class: ComputeBound},
			func(f *Facts) { f.Products = []analysis.Product{{A: "mu", B: "lam", Part: 0.25}} }, "H08", ""},
		{"several calls that may share a kernel", tile, Kernel{Class: BoundByDRAM},
			func(f *Facts) { f.Together = &Together{"sequence[0:2]", 2, 64, 24} }, "H04 H15", ""},
		{"likewise, without gain", tile, Kernel{Class: BoundByDRAM},
			func(f *Facts) { f.Together = &Together{"sequence[0:2]", 2, 64, 64} }, "H04", ""},
		{"a pragma", tile, Kernel{Class: LatencyBound}, func(f *Facts) { f.Fixed = []string{"block (32,16)"} },
			"H12 H16", ""},
		{"sums in another order than that of planes", planes + ",vec=1,rows=1", Kernel{Class: LatencyBound,
			Resources: Resources{Registers: 255, Spills: 96}},
			func(f *Facts) { f.Sorted = []string{"v[k][j][i] = u[k-1][j][i] + u[k+1][j][i]"} }, "H12 H17", ""},
		{"likewise, with registers enough", planes, Kernel{Class: LatencyBound, Resources: Resources{Registers: 128}},
			func(f *Facts) { f.Sorted = []string{"v[k][j][i] = u[k-1][j][i] + u[k+1][j][i]"} }, "H12", ""},
		{"values that several cells need", tile + ",cse=yes,sizes=literals", Kernel{Class: ComputeBound},
			func(f *Facts) { f.Fast, f.Split = true, []string{"cire"} }, "H18", "--only cire"},
		{"likewise, bound by the memory", tile, Kernel{Class: BoundByDRAM},
			func(f *Facts) { f.Split = []string{"cire"} }, "H04", ""},
		{"values that neighbours leave", tile, Kernel{Class: BoundByDRAM, Levels: []Level{{Level: DRAM, Share: 0.7}}},
			func(f *Facts) { f.Split = []string{"inline"} }, "H04 H19", ""},
		{"likewise, waiting", planes, Kernel{Class: LatencyBound}, func(f *Facts) { f.Split = []string{"inline"} },
			"H12 H19", "prefetch=1"},
		{"likewise, and the memory is full", tile,
			Kernel{Class: BoundByDRAM, Levels: []Level{{Level: DRAM, Share: 0.9}}},
			func(f *Facts) { f.Split = []string{"inline"} }, "H04", ""},
		{"likewise, in theory", tile, Kernel{Class: BoundByDRAM}, func(f *Facts) { f.Split = []string{"inline"} },
			"H04", ""},
	} {
		f := factsOf(t, c.config, c.kernel)
		if c.more != nil {
			c.more(f)
		}
		if f.Kernel.Depth > 1 {
			f.Plan.Kernels[0].Call, f.Plan.Kernels[0].To, f.Plan.Kernels[0].Depth = "body", 2, int(f.Kernel.Depth)
		}
		list := Advise(f, fits)
		var codes []string
		for _, h := range list {
			codes = append(codes, h.Code)
			if h.Text == "" || h.Evidence == "" || h.Predicted == "" {
				t.Errorf("%s: %+v says too little", c.name, h)
			}
			if p := h.Change.Plan; p != "" {
				if _, err := schedule.ParsePlan(p); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			} else if h.Change.Option+h.Change.Command+h.Change.Edit == "" {
				t.Errorf("%s: %s changes nothing", c.name, h.Code)
			}
		}
		if got := strings.Join(codes, " "); got != c.codes {
			t.Errorf("%s: %s, not %s", c.name, got, c.codes)
			continue
		}
		if c.change != "" {
			x := list[0].Change
			if !strings.Contains(x.Plan+x.Option+x.Command+x.Edit, c.change) {
				t.Errorf("%s: %+v has no %s", c.name, x, c.change)
			}
		}
	}
}

// Codes are told apart, and in order.
func TestCodes(t *testing.T) {
	var codes []string
	for _, r := range rules {
		codes = append(codes, r.code)
	}
	if !slices.IsSorted(codes) || len(slices.Compact(slices.Clone(codes))) != len(codes) {
		t.Errorf("%v", codes)
	}
}

// The gain is that of the variant without the cost, and of more iterations in a kernel what is left of the memory's
// part. Where there is no such variant, the hint says so.
func TestPredictedGain(t *testing.T) {
	f := factsOf(t, "family=tile", Kernel{Class: BoundByDRAM, Seconds: 1,
		Variants: []Variant{faster(kernel.WithoutDRAM, 2)}})
	f.Loop, f.LoopIn = true, "body[0:2]"
	f.share()
	if h := Advise(f, fits); len(h) != 1 || h[0].Gain < 1.333 || h[0].Gain > 1.334 {
		t.Errorf("half of the time twice as fast is not 4/3: %+v", h)
	}
	f = factsOf(t, "family=planes", Kernel{Class: BoundByL1, Seconds: 1,
		Variants: []Variant{faster(kernel.WithoutL1, 1.5)}})
	if h := Advise(f, fits); len(h) != 1 || h[0].Gain != 1.5 || !strings.Contains(h[0].Predicted, "at the most") {
		t.Errorf("%+v", h)
	}
	f = factsOf(t, "family=planes,unroll=4,cse=yes,sizes=literals", Kernel{Class: ComputeBound, Seconds: 1})
	if h := Advise(f, fits); len(h) == 0 || h[0].Gain != 0 || !strings.Contains(h[0].Predicted, "not known") {
		t.Errorf("%+v", h)
	}
}

// What is saved of the memory's bytes is the gain where nothing else is changed: half of a time that is all of memory's
// is twice as fast.
func TestFewerBytes(t *testing.T) {
	f := factsOf(t, "family=tile", Kernel{Class: BoundByDRAM, Seconds: 1,
		Variants: []Variant{faster(kernel.WithoutDRAM, 2)}})
	f.Together = &Together{"sequence[0:2]", 2, 64, 32}
	f.Products = []analysis.Product{{A: "mu", B: "lam", Part: 0.25}}
	f.Split = []string{"maxfuse"}
	f.share()
	gains := map[string]float64{}
	for _, h := range Advise(f, fits) {
		gains[h.Code] = h.Gain
	}
	for code, want := range map[string]float64{"H04": 2, "H05": 1 / 0.75, "H14": 1 / 0.875, "H15": 1 / 0.75} {
		if math.Abs(gains[code]-want) > 1e-12 {
			t.Errorf("%s: %g, not %g", code, gains[code], want)
		}
	}
}

// Before anything is measured the roofline tells the class and the gain, and hints say so. Rules that need a
// configuration give nothing.
func TestInTheory(t *testing.T) {
	for _, c := range []struct {
		bound    *analysis.Bound
		class    Class
		codes    string
		predicts float64 // the first
	}{
		{nil, NotTold, "", 0},
		{&analysis.Bound{Memory: 4, Arithmetic: 1, GStencils: 0.25}, BoundByDRAM, "H01", 1 / (1 - 0.75/2)},
		{&analysis.Bound{Memory: 4, Arithmetic: 0, GStencils: 0.25}, BoundByDRAM, "H01", 0},
		{&analysis.Bound{Memory: 4, Arithmetic: 1, GStencils: 0.25, FitsIn: "L2"}, NotTold, "", 0},
		{&analysis.Bound{Memory: 1, Arithmetic: 3, GStencils: 0.33}, ComputeBound, "H08", 3},
	} {
		k := InTheory(&analysis.CallFacts{Name: "s", Bound: c.bound}, true)
		f := &Facts{Kernel: k, Theory: true, GPU: true, LoopIn: "body[0:2]"}
		f.Loop = true
		var codes []string
		list := Advise(f, fits)
		for _, h := range list {
			codes = append(codes, h.Code)
			if h.Gain > 0 && !strings.HasSuffix(h.Predicted, "in theory, nothing was measured") {
				t.Errorf("%+v", h)
			}
		}
		if k.Class != c.class || strings.Join(codes, " ") != c.codes ||
			len(list) > 0 && math.Abs(list[0].Gain-c.predicts) > 1e-12 {
			t.Errorf("%+v: %s, %+v", c.bound, k.Class, list)
		}
	}
	// Many values at a point are more than a thread has registers.
	array := &analysis.ArrayFacts{IR: &ir.Array{Type: types.F64}}
	k := InTheory(&analysis.CallFacts{Name: "s", Loads: 150, Arrays: []*analysis.ArrayFacts{array}}, true)
	f := &Facts{Kernel: k, Theory: true, GPU: true, Split: []string{"trivial"}, Statements: 30, Values: 150}
	if h := Advise(f, fits); len(h) != 1 || h[0].Code != "H11" || h[0].Gain != 0 ||
		h[0].Evidence != "30 statements read 150 values a point, which are 300 registers of a thread; it has 255" {
		t.Errorf("%+v", h)
	}
	k = InTheory(&analysis.CallFacts{Loads: 150, Arrays: []*analysis.ArrayFacts{array}}, false)
	if k.Resources.Registers != 0 {
		t.Errorf("a processor has %d registers", k.Resources.Registers)
	}
}

// A change that cannot be had gives way to the next one; what the source forbids is told with the hint.
func TestChecks(t *testing.T) {
	f := factsOf(t, "family=planes", Kernel{Class: BoundByL1})
	h := Advise(f, func(plan string) (bool, string) { return strings.Contains(plan, "stages=1"), "" })
	if len(h) != 1 || !strings.Contains(h[0].Change.Plan, "stages=1") || h[0].Forbidden != "" {
		t.Errorf("%+v", h)
	}
	const pragma = "the source fixes nothing in shared memory"
	h = Advise(f, func(string) (bool, string) { return false, pragma })
	if len(h) != 1 || h[0].Forbidden != pragma || !strings.Contains(h[0].Change.Plan, "stages=2") {
		t.Errorf("%+v", h)
	}
	if h = Advise(f, func(string) (bool, string) { return false, "" }); len(h) != 0 {
		t.Errorf("a change that cannot be had is given: %+v", h)
	}
}
