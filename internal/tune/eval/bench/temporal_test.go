package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/tune/counters"
)

// A row is right at every cell, the fastest plan that can run is measured, and rows of a file stay.
func TestTemporal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	var log strings.Builder
	for i, boundary := range []string{"none", "clamp", "none"} {
		o := TemporalOptions{
			Device: "opencl:0", Cases: []string{"star5"}, DTypes: []string{"float"}, Boundaries: []string{boundary},
			Set: map[string]string{"N": "21"}, Steps: int64(7 + i), Log: &log,
			Plans: []string{
				"body[0:2]@2{family=overlap,block=32,tile=8x32}", "body[0:2]@3{family=overlap,block=32,tile=8x32}",
				"body[0:2]@2{family=none}",
			},
			Each: func(r TemporalRow) error { return MergeTemporal(path, r) }, Least: time.Millisecond,
		}
		if i == 1 {
			o.Bare, o.Single = o.Plans[:2], []string{"", "family=nothing"}
		}
		rows, err := Temporal(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows {
			if r.Differ != 0 || r.Cells != 2*21*21 || r.Depth < 2 || r.Rate <= 0 || r.Single <= 0 || r.Low > r.Rate ||
				r.High < r.Rate || r.Cool < r.Rate || r.Boundary != boundary || r.Useful <= 0 || r.Useful > 1 ||
				r.SlotShare != nil || r.Bytes < 8*0.8 || r.Bytes > 8 || r.Traffic != r.Bytes*r.Rate {
				t.Errorf("%+v", r)
			}
			if inTurn := i == 1; inTurn != (r.Bare > 0 && r.BarePlan != "" && r.Guarded > 0) ||
				inTurn != (r.Pairs >= leastTurns && r.Ratio > 0 && r.RatioLow <= r.Ratio && r.Ratio <= r.RatioHigh) {
				t.Errorf("%+v", r)
			}
		}
	}
	for _, part := range []string{"family=none}: ", "family=nothing: "} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("nothing is said of a plan that cannot be run:\n%s", log.String())
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := ReadTemporal(path)
	if err != nil || len(kept) != 3 {
		t.Errorf("%d rows are kept, %v", len(kept), err)
	}
	if err := MergeTemporal(path, kept[0]); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil || string(again) != string(text) {
		t.Errorf("a row that is there is kept twice: %v", err)
	}
}

// Rows are told apart by what they measure; those of before, which name no boundary, had none.
func TestTemporalKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(path, []byte(`[{"case": "star7", "dtype": "float", "grid": "512x512x512", "steps": 1000,
		"gstencils": 7, "device": "GPU"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	row := TemporalRow{Case: "star7", DType: "float", Boundary: "none", Grid: "512x512x512", Steps: 1000, Device: "GPU"}
	merge := func(rate float64, change func(r *TemporalRow)) {
		t.Helper()
		r := row
		change(&r)
		r.Rate = rate
		if err := MergeTemporal(path, r); err != nil {
			t.Fatal(err)
		}
	}
	merge(8, func(*TemporalRow) {})
	merge(9, func(r *TemporalRow) { r.Boundary = "clamp" })
	merge(10, func(r *TemporalRow) { r.Grid = "509x511x521" })
	merge(11, func(r *TemporalRow) { r.Steps = 997 })
	merge(12, func(r *TemporalRow) { r.Case, r.DType = "star5", "double" })
	merge(13, func(r *TemporalRow) { r.Device = "another" })
	rows, err := ReadTemporal(path)
	if err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for _, r := range rows {
		rates = append(rates, r.Rate)
	}
	if want := []float64{12, 10, 8, 13, 11, 9}; !slices.Equal(rates, want) {
		t.Errorf("the rows are %v, not %v", rates, want)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MergeTemporal(path, row); err == nil || !strings.Contains(err.Error(), "has no rows of bench temporal") {
		t.Error(err)
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		"case", "dtype", "grid", "steps", "gstencils", "low", "high", "cool_gstencils", "depth", "slot_share",
		"differing_cells", "registers", "spills", "plan", "device", "commit",
	} {
		if !strings.Contains(string(text), `"`+field+`":`) {
			t.Errorf("rows have no %s: %s", field, text)
		}
	}
}

// Figures that cannot be are errors.
func TestTemporalImpossible(t *testing.T) {
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	b, err := temporalCase{"star7", "double", "none"}.bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	share := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		change func(r *TemporalRow)
		want   string // empty if the row is possible
	}{
		{func(*TemporalRow) {}, ""},
		{func(r *TemporalRow) { r.SlotShare = share(0.7) }, ""},
		{func(r *TemporalRow) { r.Useful = 1.01 }, "useful"},
		{func(r *TemporalRow) { r.Useful = 0 }, "useful"},
		{func(r *TemporalRow) { r.Useful = math.NaN() }, "useful"},
		{func(r *TemporalRow) { r.SlotShare = share(1.2) }, "issue slots"},
		{func(r *TemporalRow) { r.SlotShare = share(0) }, "issue slots"},
		{func(r *TemporalRow) { r.Low = 700 }, "order"},
		{func(r *TemporalRow) { r.Cool = 100 }, "order"},
		{func(r *TemporalRow) { r.Rate = math.NaN() }, "order"},
		{func(r *TemporalRow) { r.Cool = 1300 }, "memory"},
		{func(r *TemporalRow) { r.Single = 310 }, "memory"},
		{func(r *TemporalRow) { r.Cool, r.Depth = 1900, 16 }, "arithmetic"},
	} {
		r := TemporalRow{
			Case: "star7", DType: "double", Rate: 610, Low: 600, High: 620, Cool: 640, Single: 240, Depth: 4,
			Useful: 0.69, Bytes: 16,
		}
		c.change(&r)
		err := r.impossible(b, h200)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	small, err := temporalCase{"star5", "float", "none"}.bind(map[string]string{"N": "1024"})
	if err != nil {
		t.Fatal(err)
	}
	r := TemporalRow{ // in the cache
		Case: "star5", DType: "float", Rate: 1200, Low: 1200, High: 1200, Cool: 1300, Single: 900, Depth: 8,
		Useful: 0.6, Bytes: 8,
	}
	if err := r.impossible(small, h200); err != nil {
		t.Error(err)
	}
}

// The table has the columns that rows have figures for, and rivals beside rows of their device.
func TestTemporalTable(t *testing.T) {
	row := TemporalRow{Case: "star5-axes", DType: "double", Grid: "8x9", Steps: 3, Rate: 1400, Device: "NVIDIA H200"}
	var err error
	if row.Rivals, err = temporalRivals(row); err != nil || len(row.Rivals) != 2 || row.Rivals[0].Rate != 2105 {
		t.Errorf("%v %v", row.Rivals, err)
	}
	for _, change := range []func(r *TemporalRow){
		func(r *TemporalRow) { r.Device = "NVIDIA H100" }, func(r *TemporalRow) { r.Boundary = "clamp" },
		func(r *TemporalRow) { r.Case = "wave" },
	} {
		other := row
		change(&other)
		if list, err := temporalRivals(other); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	}
	var out strings.Builder
	WriteTemporal(&out, []TemporalRow{row})
	for _, column := range []string{"slots", "useful", "bare", "edges", "ratio", "of copy"} {
		if strings.Contains(out.String(), column) {
			t.Errorf("there is nothing to say about %s:\n%s", column, out.String())
		}
	}
	share := 0.61
	other := TemporalRow{
		Case: "star7", Boundary: "clamp", Useful: 0.684, SlotShare: &share, Bare: 700, Guarded: 0.951, OverCopy: 1.5,
		Pairs: 9, Ratio: 3.21,
	}
	WriteTemporal(&out, []TemporalRow{row, other})
	for _, part := range []string{
		"slots", "useful", "bare", "edges", "ratio", "of copy", "0.61", "0.684", "0.951", "1.50", "3.21", "clamp",
		"FastStencil 2105, AN5D 617",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}

// pretendProfiler puts a profiler in a folder, which keeps its arguments there, and returns the
// folder and the share of issue slots that it counts.
func pretendProfiler(t *testing.T) (dir string, share float64) {
	t.Helper()
	dir = t.TempDir()
	var names, units, values []string
	for i, m := range counters.Metrics {
		value := 5*float64(i) + 0.5
		names, units, values = append(names, strconv.Quote(m.Name)), append(units, `""`), append(values,
			fmt.Sprintf(`"%v"`, value))
		if strings.HasPrefix(m.Name, "smsp__issue_active") {
			share = value / 100
		}
	}
	table := strings.Join(names, ",") + "\n" + strings.Join(units, ",") + "\n" + strings.Join(values, ",")
	script := "#!/bin/sh\necho \"$@\" >" + dir + "/args\nwhile [ \"$1\" != --log-file ]; do shift; done\n" +
		"cat >\"$2\" <<'END'\n==PROF== text\n" + table + "\nEND\n"
	if err := os.WriteFile(filepath.Join(dir, "ncu"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, share
}

// Issue slots are added to a row that was measured without them; nothing else of it changes.
func TestCountSlots(t *testing.T) {
	pretend(t)
	dir, want := pretendProfiler(t)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	d, err := openTemporal(TemporalOptions{Device: "cuda:0", Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	row := TemporalRow{
		Case: "star7", DType: "float", Boundary: "none", Grid: "9x9x30", Steps: 7, Rate: 3, Low: 2, High: 4, Cool: 5,
		Depth: 3, Useful: 0.5,
		Plan: "body[0:2]@3{family=overlap,block=32,tile=2x4x8};body[0:2]@2{family=overlap,block=32,tile=2x4x8}",
	}
	w := rowWanted{
		temporalCase: temporalCase{"star7", "float", "none"}, set: map[string]string{"L": "9", "M": "9", "N": "30"},
		steps: 7, measured: &row,
	}
	got, err := d.countSlots(t.Context(), w)
	if err != nil || got.SlotShare == nil || math.Abs(*got.SlotShare-want) > 1e-12 {
		t.Fatalf("%+v, %v", got, err)
	}
	got.SlotShare = nil
	if !reflect.DeepEqual(got, row) {
		t.Errorf("%+v", got)
	}
	d.Commit = "later"
	if got, err := d.countSlots(t.Context(), w); err != nil || got.SlotCommit != "later" || got.Commit != "" {
		t.Errorf("%+v, %v", got, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil || !strings.Contains(string(args), "regex:^body_3$") ||
		!strings.Contains(string(args), "--steps 10 ") {
		t.Errorf("%s, %v", args, err)
	}
	row.Useful = 2
	if _, err := d.countSlots(t.Context(), w); err == nil {
		t.Error("an impossible row is kept")
	}
}

// Issue slots are counted of the rows of this device that lack them and that the options do not leave out.
func TestCountSlotsOfAll(t *testing.T) {
	pretend(t)
	dir, want := pretendProfiler(t)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	o := TemporalOptions{Device: "cuda:0", DTypes: []string{"float"}, Commit: "b", Log: io.Discard}
	d, err := openTemporal(o)
	if err != nil {
		t.Fatal(err)
	}
	device := d.target.Properties.Name
	d.Close()
	row := TemporalRow{
		Case: "star7", DType: "float", Grid: "9x9x30", Steps: 7, Rate: 3, Low: 2, High: 4, Cool: 5, Depth: 3,
		Useful: 0.5, Plan: "body[0:2]@3{family=overlap,block=32,tile=2x4x8}", Device: device, Commit: "a",
	}
	counted, other, double := row, row, row
	counted.Grid, counted.SlotShare = "9x9x31", new(float64)
	other.Device = "another"
	double.DType = "double"
	var each []string
	o.Each = func(r TemporalRow) error { each = append(each, r.Key()); return nil }
	rows, err := CountSlots(t.Context(), o, []TemporalRow{counted, other, row, double}, 0)
	if err != nil || len(rows) != 1 || rows[0].Key() != row.Key() || !slices.Equal(each, []string{row.Key()}) ||
		math.Abs(*rows[0].SlotShare-want) > 1e-12 || rows[0].SlotCommit != "b" || rows[0].Commit != "a" {
		t.Errorf("%+v, %v, %v", rows, each, err)
	}
}

// Issue slots are read from what the profiler prints. Where there is none, the row has no figure.
func TestTemporalSlotShare(t *testing.T) {
	dir, want := pretendProfiler(t)
	row := &temporal{
		temporalDevice: &temporalDevice{TemporalOptions: TemporalOptions{Device: "cuda:1"}},
		rowWanted: rowWanted{
			temporalCase: temporalCase{"star7", "float", "clamp"}, set: map[string]string{"N": "64"},
		},
		checks: 13,
	}
	plan := &timedLoop{plan: "body[0:2]@4{family=pipe}", depth: 4, symbol: "body_4"}
	t.Setenv("PATH", "")
	if share, err := row.slotShare(t.Context(), plan); err == nil || share != nil {
		t.Errorf("%v, %v without a profiler", share, err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	share, err := row.slotShare(t.Context(), plan)
	if err != nil || math.Abs(*share-want) > 1e-12 {
		t.Errorf("%v, %v", share, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	wanted := "bench temporal --quick --device cuda:1 --case star7 --dtype float --boundary clamp --steps 13 " +
		"--plan body[0:2]@4{family=pipe} --set N=64"
	if err != nil || !strings.Contains(string(args), wanted) || !strings.Contains(string(args), "regex:^body_4$") {
		t.Errorf("%s, %v", args, err)
	}
	row.Device = "cpu"
	if share, err := row.slotShare(t.Context(), plan); err == nil || share != nil {
		t.Errorf("%v, %v on a processor", share, err)
	}
}

// What a profiler watches carries out the plan.
func TestTemporalOnce(t *testing.T) {
	o := TemporalOptions{
		Device: "opencl:0", Cases: []string{"star7"}, DTypes: []string{"float"}, Boundaries: []string{"clamp"},
		Set: map[string]string{"N": "12"}, Steps: 9, Plans: []string{"body[0:2]@2{family=overlap,block=32,tile=2x4x8}"},
	}
	if err := TemporalOnce(t.Context(), o); err != nil {
		t.Error(err)
	}
	o.Plans = []string{"block=32"}
	if err := TemporalOnce(t.Context(), o); err == nil {
		t.Error("a plan of one iteration a kernel is carried out")
	}
}

// A plan that leaves another cell than one iteration a kernel is the row's, however fast others are.
func TestTemporalWrongPlan(t *testing.T) {
	var log strings.Builder
	d, err := openTemporal(TemporalOptions{Device: "opencl:0", Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	row, err := d.load(rowWanted{
		temporalCase: temporalCase{"star5", "float", "none"}, set: map[string]string{"N": "15"}, steps: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	row.checks = 7
	single, err := row.fastest(t.Context(), []string{""}, ofOne)
	if err != nil {
		t.Fatal(err)
	}
	single.Close()
	row.kept["next"][4*100] ^= 1
	l, err := row.fastest(t.Context(), []string{
		"body[0:2]@2{family=overlap,block=32,tile=8x32}", "body[0:2]@3{family=overlap,block=32,tile=8x32}",
	}, ofSeveral)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.differ != 1 || l.compared != 2*15*15 || l.depth != 2 || !strings.Contains(log.String(), "1 cells DIFFER: ") {
		t.Errorf("%d of %d cells differ with depth %d\n%s", l.differ, l.compared, l.depth, log.String())
	}
}

// Cells that differ are counted, and what stops a search of plans is an error.
func TestTemporalDiffers(t *testing.T) {
	a, b := randomCells(types.F32, 70_000, 1), randomCells(types.F32, 70_000, 1)
	if n := differing(a, b, 4); n != 0 {
		t.Errorf("%d of equal cells differ", n)
	}
	b[5]++
	b[4*69_999] ^= 1
	if n := differing(a, b, 4); n != 2 {
		t.Errorf("%d cells differ, not 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Temporal(ctx, TemporalOptions{
		Device: "opencl:0", Cases: []string{"star5"}, DTypes: []string{"float"}, Set: map[string]string{"N": "9"},
		Steps: 2, Plans: []string{"body[0:2]@2{family=overlap,block=32}"}, Log: os.Stderr,
		Each: func(TemporalRow) error { return nil },
	})
	if err == nil {
		t.Error("it went on after it was cancelled")
	}
}

// Sources of plans are written as they are for an H200, without a GPU.
func TestTemporalSourcesWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sources")
	var log strings.Builder
	const plan = "body[0:2]@2{family=pipe,block=8x32,cells=4x2,chunk=0,persistent=1,sizes=literals}"
	o := TemporalOptions{
		Cases: []string{"star7"}, DTypes: []string{"float"}, Plans: []string{plan}, Bare: []string{plan}, Log: &log,
	}
	if err := TemporalSources(o, dir); err != nil {
		t.Fatal(err)
	}
	rims := map[string]bool{"star7-float-plan-1.cu": true, "star7-float-bare-1.cu": false}
	for name, has := range rims {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "// "+plan+"\n") || !strings.Contains(string(text), "132 blocks") ||
			strings.Contains(string(text), "rim_column") != has {
			t.Errorf("%s has another source:\n%.200s", name, text)
		}
		if !strings.Contains(log.String(), name+": "+plan) {
			t.Errorf("%s is not named", name)
		}
	}
	o.Plans = []string{"body[0:2]@2{family=pipe,block=99x32}"}
	if err := TemporalSources(o, dir); err == nil || !strings.Contains(err.Error(), "star7 float") {
		t.Errorf("a plan that cannot be: %v", err)
	}
}
