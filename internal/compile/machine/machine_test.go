package machine

import (
	"math"
	"strings"
	"testing"
)

func TestBuiltins(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "a100 cpu h200 p100" {
		t.Errorf("names: %s", got)
	}
	for _, name := range Names() {
		if _, err := Builtin(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Builtin("h300")
	if err == nil || err.Error() != "no machine is called h300; there are a100, cpu, h200, p100" {
		t.Errorf("h300: %v", err)
	}
}

func must(t *testing.T, name string) *Machine {
	t.Helper()
	m, err := Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The H200's copy bound is known from its measurement: 263 billion points a
// second at two doubles a point. The P100's ratios are those that the ARTEMIS
// paper states.
func TestFigures(t *testing.T) {
	h := must(t, "h200")
	if g := h.Memory.Bandwidth / 16; math.Round(g) != 263 {
		t.Errorf("h200 copy bound %v", g)
	}
	if c := h.Inner(); c == nil || c.Name != "L1" || math.Abs(c.Bandwidth-132*128*1.98) > 1 {
		t.Errorf("h200 inner cache %+v", c)
	}
	cpu := must(t, "cpu")
	for _, c := range []struct {
		m     *Machine
		bytes int64
		want  string
	}{
		{h, 1, "L2"}, {h, 60 << 20, "L2"}, {h, 60<<20 + 1, ""},
		{cpu, 64 << 10, "L1"}, {cpu, 64<<10 + 1, "L2"}, {cpu, 2<<20 + 1, "L3"}, {cpu, 16<<20 + 1, ""},
	} {
		got := ""
		if l := c.m.Holding(c.bytes); l != nil {
			got = l.Name
		}
		if got != c.want {
			t.Errorf("%s holds %d bytes in %q, not %q", c.m.Name, c.bytes, got, c.want)
		}
	}
	if d := h.Dialect("cuda"); d == nil || !d.Can(BulkCopy) || d.Can(OpenMP) {
		t.Errorf("h200 cuda %+v", d)
	}
	if d := h.Dialect("opencl"); d == nil || d.SharedPerBlock != 48<<10 || h.Dialect("c") != nil {
		t.Errorf("h200 opencl %+v", d)
	}
	p := must(t, "p100")
	for _, c := range []struct {
		name       string
		gbs, ratio float64
	}{
		{"dram", p.Memory.Bandwidth, 6.42},
		{"texture", p.Inner().Bandwidth, 2.35},
		{"shared", p.GPU.SharedBandwidth, 0.49},
	} {
		if r := p.Peak.F64 / c.gbs; math.Abs(r-c.ratio) > 0.005 {
			t.Errorf("p100 %s: %.3f flops a byte, the paper says %v", c.name, r, c.ratio)
		}
	}
	if c := (&Machine{Caches: []Cache{{Name: "L1"}}}).Inner(); c != nil {
		t.Errorf("a cache without a bandwidth is taken for one: %+v", c)
	}
}

const good = `{"name": "m", "kind": "cpu", "source": "a test", "units": 2, "clock_ghz": 2,
"peak": {"f32_gflops": 4, "f64_gflops": 2},
"memory": {"bytes": 100, "gb_per_s": 10},
"caches": [],
"cpu": {"vector_bits": 128, "threads_per_core": 1},
"dialects": [{"name": "c", "has": ["f64"]}]}`

func TestParseErrors(t *testing.T) {
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	gpu := `"gpu": {"warp": 32, "registers_per_unit": 100, "registers_per_thread": 255, "shared_bytes_per_unit": 10, "shared_bytes_per_block": 20,
		"threads_per_block": 64, "threads_per_unit": 32, "blocks_per_unit": 1, "max_block": [1, 1, 0], "max_grid": [1, -1, 1]}`
	for _, c := range []struct {
		name, old, new string
		want           string
	}{
		{"empty", good, "", "line 1: the description ends too early"},
		{"cut off", `"has": ["f64"]}]}`, `"has": ["f64"]}`, "line 6: the description ends too early"},
		{"comma", `"units": 2,`, `"units": 2`, "line 1: invalid character '\"' after object key:value pair"},
		{"two", `"has": ["f64"]}]}`, `"has": ["f64"]}]} {}`, "line 6: something follows the machine's closing brace"},
		{"type", `"units": 2`, `"units": "two"`, "line 1: units is given a string; it has to be a whole number"},
		{"nested type", `"gb_per_s": 10`, `"gb_per_s": []`, "line 3: memory.gb_per_s is given an array; it has to be a number"},
		{"fraction", `"units": 2`, `"units": 2.5`, "line 1: units is given a number; it has to be a whole number"},
		{"misspelt", `"threads_per_core"`, `"thread_per_core"`, "a machine has no field thread_per_core; did you mean threads_per_core?"},
		{"unknown", `"caches"`, `"wheels"`, "a machine has no field wheels"},
		{"missing", `"name": "m", `, ``, "name is missing"},
		{"several", `"units": 2, "clock_ghz": 2`, `"units": -1`, "units is -1; it has to be above 0\nclock_ghz is missing or 0; it has to be above 0"},
		{"kind", `"kind": "cpu"`, `"kind": "tpu"`, `kind is "tpu"; it is cpu or gpu`},
		{"limits", `"kind": "cpu"`, `"kind": "gpu"`, "cpu stands in the description of a gpu\ngpu is missing: a gpu has limits"},
		{"no cpu", `"cpu": {"vector_bits": 128, "threads_per_core": 1},`, ``, "cpu is missing: a cpu has vector_bits and threads_per_core"},
		{"cache", `"caches": []`, `"caches": [{"name": "L1", "bytes": 0, "per_unit": true, "gb_per_s": -1}]`,
			"caches[0].bytes is missing or 0; it has to be above 0\ncaches[0].gb_per_s is -1; it cannot be below 0"},
		{"no dialects", `"dialects": [{"name": "c", "has": ["f64"]}]`, `"dialects": []`, "dialects is missing: name at least one of c, cuda, opencl"},
		{"dialect", `"name": "c"`, `"name": "basic"`, `dialects[0].name is "basic"; it is one of c, cuda, opencl`},
		{"capability", `["f64"]`, `["f46", "telepathy"]`, "dialects[0] has no capability f46; did you mean f64?\n" +
			"dialects[0] has no capability telepathy; there are f64, fma, shared, shuffle, constant, read-only, image, vector, openmp, async-copy, bulk-copy, tensor-copy, mbarrier, cluster, grid-barrier"},
		{"gpu limits", `"cpu": {"vector_bits": 128, "threads_per_core": 1}`, gpu, "gpu stands in the description of a cpu\ncpu is missing: a cpu has vector_bits and threads_per_core"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		_, err := Parse([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
	bad := strings.NewReplacer(`"kind": "cpu"`, `"kind": "gpu"`, `"cpu": {"vector_bits": 128, "threads_per_core": 1}`, gpu).Replace(good)
	want := `gpu.max_grid along y is -1; it has to be above 0
gpu.max_block along z is missing or 0; it has to be above 0
gpu.shared_bytes_per_block is 20, more than gpu.shared_bytes_per_unit, which is 10
gpu.threads_per_block is 64, more than gpu.threads_per_unit, which is 32
gpu.registers_per_thread is 255, more than gpu.registers_per_unit, which is 100`
	if _, err := Parse([]byte(bad)); err == nil || err.Error() != want {
		t.Errorf("limits:\n got %v\nwant %s", err, want)
	}
}

// What a driver tells of a device stays, and a description adds how fast it is.
func TestDescribed(t *testing.T) {
	h := must(t, "h200")
	driver := &Machine{Name: h.Name, Kind: KindGPU, Units: 7, GPU: &GPU{Warp: 32}}
	d := Described(driver)
	if d == nil || d.Units != 7 || d.GPU.Warp != 32 || d.Peak != h.Peak || d.Memory != h.Memory ||
		d.GPU.SharedBandwidth != h.GPU.SharedBandwidth || driver.GPU.SharedBandwidth != 0 {
		t.Errorf("%+v", d)
	}
	for _, m := range []*Machine{nil, {Name: "NVIDIA H300", Kind: KindGPU}, {Name: h.Name, Kind: KindCPU}} {
		if d := Described(m); d != nil {
			t.Errorf("%+v of %+v", d, m)
		}
	}
}

// Threads are those of a CPU's cores; another machine, or none, has none of that kind.
func TestThreads(t *testing.T) {
	for want, m := range map[int]*Machine{
		8: {Units: 4, CPU: &CPU{ThreadsPerCore: 2}}, 3: {Units: 3, CPU: &CPU{}}, 0: {Units: 132, GPU: &GPU{}},
	} {
		if got := m.Threads(); got != want {
			t.Errorf("%+v has %d threads, not %d", m, got, want)
		}
	}
	if n := (*Machine)(nil).Threads(); n != 0 {
		t.Errorf("no machine has %d", n)
	}
}
