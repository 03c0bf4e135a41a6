package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
)

func TestSpatial(t *testing.T) {
	pretend(t)
	t.Run("sweep", testSweep)
	t.Run("rivals", testRivals)
	t.Run("site", testSite)
	t.Run("host", testHost)
	t.Run("counters", testSpatialCounters)
	t.Run("refusals", testSpatialRefusals)
	t.Run("compile", testCompile)
}

func smallSpatial() SpatialOptions {
	return SpatialOptions{
		Set:     map[string]string{"L": "9", "M": "12", "N": "75"},
		Batches: 5, Batch: time.Microsecond, Jobs: 2, Commit: "abc", Log: io.Discard,
	}
}

func testSweep(t *testing.T) {
	o := smallSpatial()
	o.Cases, o.DTypes = []string{"star7"}, []string{"float"}
	o.Plans = []string{"family=cells,block=8x32", "family=tile,vec=4", "family=cells,block=7x7", "family=cells"}
	var log strings.Builder
	o.Log = &log
	rows, err := Sweep(context.Background(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if len(rows) != 4 {
		t.Fatalf("%+v", rows)
	}
	var refused []string
	for _, r := range rows {
		if r.Refused != "" {
			refused = append(refused, r.Plan+": "+r.Refused)
			continue
		}
		if r.Case != "star7" || r.DType != "float" || r.Grid != "9x12x75" || !r.Final || r.Batches != 5 ||
			r.Registers != 32 ||
			!(r.GStencils > 0 && r.Interval[0] <= r.Interval[1] &&
				r.CopyGBs == max(r.CopyDriverGBs, r.CopyKernelGBs)) ||
			math.Abs(r.FractionOfCopy*r.CopyGBs-r.GStencils*r.BytesPerPoint) > 1e-9*r.CopyGBs || r.BytesPerPoint < 8 ||
			r.BytesPerPoint > 11 || r.CellsChecked != 9*12*75 || r.CompileSeconds <= 0 ||
			!slices.Equal(r.Launched, []string{"star7"}) || r.Device != "Pretended GPU" || r.Commit != "abc" {
			t.Errorf("%+v", r)
		}
	}
	slices.Sort(refused)
	if len(refused) != 2 || !strings.HasPrefix(refused[0], "family=cells,block=7x7: plan: ") ||
		!strings.HasSuffix(refused[1], "plan: the code of family=cells,block=8x32") {
		t.Errorf("%q", refused)
	}
}

func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python")
	}
	return path
}

// A rival in turn with the finalists, one that computes something else, and
// one that dies.
func testRivals(t *testing.T) {
	o := smallSpatial()
	o.Set = map[string]string{"M": "12", "N": "21"}
	o.Cases, o.DTypes, o.Plans = []string{"hotspot"}, nil, []string{"family=tile,vec=4"}
	plain, err := filepath.Abs("../../../../bench/rivals/plain.py")
	if err != nil {
		t.Fatal(err)
	}
	zeros := `import json; print(json.dumps({"values": [0]*16, "tried": 1}), flush=True); input()`
	o.Rivals = []Rival{
		{"plain", []string{python(t), plain}},
		{"zeros", []string{python(t), "-c", zeros}},
		{"dead", []string{python(t), "-c", "import sys; sys.exit('no GPU here')"}},
	}
	given := RivalBatch{Rival: "given", Case: "hotspot", DType: "float", Grid: "12x21"}.from([]float64{1e6, 2e6, 1e6,
		1e6, 1e6})
	other := given
	other.Grid = "13x21"
	o.Given = []RivalBatch{given, other}
	rows, err := Spatial(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0].Rivals) != 4 {
		t.Fatalf("%+v", rows)
	}
	r := rows[0]
	if v := r.Rivals[0]; v.Failed != "" || v.Variant != "plain" || len(v.Samples) != 5 || !(v.GStencils > 0) ||
		v.Tried != 1 {
		t.Errorf("%+v", v)
	}
	if v := r.Rivals[1]; !strings.HasPrefix(v.Failed, "it computes something else: 0 where we have 0.") {
		t.Errorf("%+v", v)
	}
	if v := r.Rivals[2]; v.Failed != "it ended; it said: no GPU here" {
		t.Errorf("%+v", v)
	}
	if r.BestRival != "given" || r.BestRivalG != 1e6 || !r.Apart || r.RatioToRival != r.GStencils/1e6 ||
		r.RatioWanted > 1.25 || r.Strict == 0 || r.StrictRefused != "" {
		t.Errorf("%+v", r)
	}
	var table strings.Builder
	WriteSpatial(&table, rows)
	if !strings.Contains(table.String(), " given ") ||
		!strings.Contains(table.String(), "hotspot float: dead: it ended; it said: no GPU here\n") {
		t.Error(table.String())
	}
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	var fields []map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(
		"case dtype grid plan gstencils interval copy_gbs fraction_of_copy best_rival best_rival_gstencils " +
			"ratio_to_best_rival intervals_apart registers spills shared compile_seconds device driver commit") {
		if _, ok := fields[0][name]; !ok {
			t.Errorf("the row has no %s", name)
		}
	}
}

// A single wrong cell is found wherever it is, and so is a wrong sum.
func testSite(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	s, info, err := open(context.Background(), dev, openRequest{Case: "himeno", DType: "float",
		Set: map[string]string{"L": "5", "M": "6", "N": "70"}})
	if err != nil {
		t.Fatal(err)
	}
	if info.Grid != "5x6x70" || info.Points != 3*4*68 || info.Bytes < 56 || info.Bytes > 63 || info.Arch != 90 ||
		info.Cells != 2*19*23*37 {
		t.Errorf("%+v", info)
	}
	text, err := source(s.bound, plainPlan, arith.Contract)
	if err != nil {
		t.Fatal(err)
	}
	code, err := s.compiler.Compile(text, info.Arch, arith.Contract)
	if err != nil {
		t.Fatal(err)
	}
	try := func() error {
		_, err := s.try(attempt{Plan: plainPlan, Code: code, Rule: rule{Batches: 1, Least: time.Microsecond}})
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	want := s.want[output(s.bound.Program)]
	for name, at := range map[string]int64{"first": 0, "last": 5*6*70 - 1, "inside": (2*6+3)*70 + 33} {
		var old [4]byte
		if err := want.Read(4*at, old[:]); err != nil {
			t.Fatal(err)
		}
		if err := want.Write(4*at, []byte{0, 0, 0x80, 0x40}); err != nil { // 4
			t.Fatal(err)
		}
		err := try()
		f := failureOf(err)
		if f == nil || !f.Wrong || f.Lost || !strings.Contains(f.Text, "the first of 1 wrong cells, on 5x6x70") ||
			!strings.Contains(f.Text, "the reference has 4;") {
			t.Errorf("%s: %v", name, err)
		}
		if err := want.Write(4*at, old[:]); err != nil {
			t.Fatal(err)
		}
	}
	for q, v := range s.scalars {
		v.F *= 1.001
		s.scalars[q] = v
	}
	if f := failureOf(try()); f == nil || !f.Wrong || !strings.HasPrefix(f.Text, "gosa on 5x6x70") {
		t.Error(f)
	}
	// Strict code, bit for bit: the plain kernels equal themselves.
	if n, err := s.strict(plainPlan); err != nil || n < 5*6*70 {
		t.Errorf("%d cells: %v", n, err)
	}
}

func testSpatialRefusals(t *testing.T) {
	for _, test := range []struct {
		change func(*SpatialOptions)
		want   string
	}{
		{func(o *SpatialOptions) { o.Cases = []string{"star9"} },
			"bench spatial: there is no case star9; there is star7, star13, star25, box27, star5, box9, box25, wave, " +
				"himeno, grayscott, hotspot, hdiff"},
		{func(o *SpatialOptions) { o.DTypes = []string{"half"} },
			"bench spatial: no case has the type half: there is double and float"},
		{func(o *SpatialOptions) { o.Cases, o.DTypes = []string{"wave"}, []string{"double"} },
			"bench spatial: no case of wave is in double"},
		{func(o *SpatialOptions) { o.Cases, o.Ordinal = []string{"wave"}, 3 },
			"wave float: there is no GPU cuda:3: the driver shows 1 GPU, from cuda:0 on"},
		{func(o *SpatialOptions) { o.Cases, o.Set = []string{"wave"}, nil },
			"wave float: the GPU has 1.0 GiB of free memory, and this needs 4.4 GiB: choose smaller sizes"},
		{func(o *SpatialOptions) { o.Cases, o.Plans = []string{"wave"}, []string{"family=cells,block=7x7"} },
			"wave float: no plan gave a kernel that works"},
	} {
		o := smallSpatial()
		test.change(&o)
		if _, err := Spatial(context.Background(), o); err == nil || err.Error() != test.want {
			t.Errorf("%v\nwant %s", err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Spatial(ctx, smallSpatial()); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Error(err)
	}
}

func testCompile(t *testing.T) {
	file := PlanFile{}
	for _, c := range spatialCases {
		file[c.name] = map[string][]string{c.dtype: {plainPlan}}
	}
	r, err := Compile(context.Background(), CompileOptions{PlanFile: file, Only: []string{"wave"}, Arch: 90,
		Processes: 1, Commit: "abc", Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if r.Sources != 1 || r.Failed != 0 || !(r.Median > 0 && r.Longest >= r.Median && r.One > 0 && r.Many > 0 &&
		r.Gain == r.Many/r.One) || r.Compiler != "NVRTC 13.2" {
		t.Errorf("%+v", r)
	}
}

// The profiler sees the first launch of the best plan, in a worker that it has started. Plain kernels of the same name
// come before.
func testSpatialCounters(t *testing.T) {
	dir := t.TempDir()
	if err := cudatest.InstallProfiler(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	o := smallSpatial()
	o.Cases, o.DTypes, o.Plans = []string{"star7"}, []string{"float"}, []string{"family=tile,vec=4"}
	o.Counters = true
	var log strings.Builder
	o.Log, o.Quick = &log, true
	rows, err := Spatial(t.Context(), o)
	if err != nil || len(rows) != 1 || rows[0].Counters == nil {
		t.Fatalf("%+v, %v\n%s", rows, err, log.String())
	}
	if c := rows[0].Counters; c.DRAM != 60 || c.L2Bytes != 960 || c.L2 != 100 || c.Fabric != 110 || c.Issue != 130 ||
		c.Limit != "arithmetic" || !(c.Excess > 0) {
		t.Errorf("%+v", c)
	}
	t.Setenv("CUDATEST_NCU", "forbidden")
	if rows, err = Spatial(t.Context(), o); err != nil || rows[0].Counters != nil ||
		!strings.Contains(log.String(), "ERR_NVGPUCTRPERM") {
		t.Errorf("%+v, %v\n%s", rows, err, log.String())
	}
}

// A worker that dies costs one answer: the next request starts another.
func testHost(t *testing.T) {
	set := map[string]string{"M": "12", "N": "21"}
	h, err := newHost(context.Background(), openRequest{Case: "star5", DType: "float", Set: set})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	if seconds, err := h.once(copyDriver, time.Microsecond); err != nil || !(seconds > 0) {
		t.Error(seconds, err)
	}
	h.process.Kill(errors.New("a test"))
	if _, err := h.once(copyDriver, time.Microsecond); err == nil || !strings.Contains(err.Error(), "a test") {
		t.Error(err)
	}
	if _, err := h.once("no such", time.Microsecond); err == nil ||
		err.Error() != `bench spatial: "no such" is not kept for batches` {
		t.Error(err)
	}
	if seconds, err := h.once(copyFour, time.Microsecond); err != nil || !(seconds > 0) {
		t.Error(seconds, err)
	}
}
