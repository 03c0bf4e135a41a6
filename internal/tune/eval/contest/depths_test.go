package contest

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

func example(t *testing.T, name string) *ir.Program {
	t.Helper()
	text, err := examples.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, list := lang.Load(diag.NewSource(name, string(text)))
	if list.HasErrors() {
		t.Fatal(list)
	}
	return p.In(arith.Contract)
}

// Large sizes exceed the cache, and no more than they need to; what is set stays.
func TestEnlarged(t *testing.T) {
	files, err := examples.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	const wanted = beyondCache * 60 << 20
	programs := 0
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		p := example(t, f.Name())
		o := DepthsOptions{Large: true}
		b, set, err := o.bind(p, 60<<20)
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		programs++
		if n := workingSet(b); n < wanted || n > 2*wanted {
			t.Errorf("%s: %s take %d bytes", p.Name, sizesOf(b), n)
		}
		if len(set) != len(extents(p)) {
			t.Errorf("%s: %v", p.Name, set)
		}
	}
	if programs < 14 {
		t.Errorf("%d programs", programs)
	}
	o := DepthsOptions{Large: true, Set: map[string]string{"N": "128", "M": "96", "steps": "7", "other": "1"}}
	b, set, err := o.bind(example(t, "heat3d.loom"), 2<<20)
	if err != nil || set["N"] != "128" || set["M"] != "96" || set["steps"] != "7" || set["other"] != "" ||
		sizesOf(b) != "L=96 M=96 N=128" {
		t.Errorf("%v %v", set, err)
	}
	o.Set["L"] = "64"
	if _, _, err := o.bind(example(t, "heat3d.loom"), 2<<20); err == nil ||
		!strings.Contains(err.Error(), "no size is left") {
		t.Error(err)
	}
	o = DepthsOptions{Set: map[string]string{"N": "0"}}
	if _, _, err := o.bind(example(t, "heat3d.loom"), 0); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Error(err)
	}
}

// A row tells the depth of the best plan, its gain over the best of depth 1, and why it is not another.
func TestDepthsRow(t *testing.T) {
	plan := "s[0:1]@1{family=tile}"
	loop := tuner.LoopResult{Loop: "body[0:2]", Iterations: 90, Stopped: "the time is over"}
	loop.Depths = []tuner.DepthResult{
		{Depth: 1, Seconds: 1, Gain: 1},
		{Kernel: "body[0:1]@2", Depth: 2, Seconds: 1.2, Gain: 1.67, Bottleneck: costmodel.Memory},
		{Kernel: "body[0:1]@4", Depth: 4, Seconds: 2, Gain: 2, Bottleneck: costmodel.Issue, Evidence: "counted",
			InPlan: true},
		{Kernel: "body[0:1]@6", Depth: 6},
	}
	result := func(best string, loops ...tuner.LoopResult) *tuner.Result {
		return &tuner.Result{Best: best, Loops: loops, Contenders: []tuner.Contender{
			{Name: "plain", Plan: "p", Times: []float64{0.1, 0.1, 0.1}},
			{Name: "spans 1", Plan: plan + ";body[0:2]@4{family=pipe}", Times: []float64{0.5, 0.51, 0.49}},
			{Name: "found 1", Plan: plan, Times: []float64{1, 1.01, 0.99}},
			{Name: "default", Plan: "s[0:1]@1{family=planes}", Times: []float64{2, 2, 2}},
		}}
	}
	for _, c := range []struct {
		best   string
		loops  []tuner.LoopResult
		depth  int
		gain   float64
		reason string
	}{
		{plan + ";body[0:2]@4{family=pipe}", []tuner.LoopResult{loop}, 4, 2,
			"issue slots at depth 4; the time is over"},
		{plan, []tuner.LoopResult{loop}, 1, 1, "issue slots at depth 4; the time is over"},
		{plan, []tuner.LoopResult{{Loop: "body[0:2]", Stopped: "a condition ends the loop"}}, 1, 1,
			"a condition ends the loop"},
		{plan, []tuner.LoopResult{{
			Loop: "body[0:2]", Stopped: "all are slower",
			Depths: []tuner.DepthResult{{Kernel: "body[0:2]@3", Depth: 3, Seconds: 1, Gain: 0.3}},
		}}, 1, 1, "what binds depth 3 is not known; all are slower"},
	} {
		var r DepthsRow
		if err := r.read(result(c.best, c.loops...)); err != nil || r.Depth != c.depth || r.Plan != c.best ||
			r.Single != plan || r.Gain < 0.99*c.gain || r.Gain > 1.01*c.gain || r.Low > r.Gain || r.High < r.Gain {
			t.Errorf("%+v, %v", r, err)
		}
		if got := r.Reason(); got != c.reason {
			t.Errorf("%s, not %s", got, c.reason)
		}
	}
	// What is taken ahead is timed beside, also where it is faster, and is not what the search has found.
	timed := result(plan, loop)
	timed.Best = "s[0:1]@1{family=cells};body[0:2]@3{family=pipe}"
	timed.Contenders = append([]tuner.Contender{
		{Name: "other 2", Plan: timed.Best, Times: []float64{0.25, 0.25, 0.25}},
		{Name: "other 1", Plan: "s[0:1]@1{family=cells}", Times: []float64{1, 1.01, 0.99}},
	}, timed.Contenders...)
	own := withoutOthers(timed)
	if want := plan + ";body[0:2]@4{family=pipe}"; own.Best != want || len(own.Contenders) != 4 {
		t.Errorf("the search has found %s of %d plans", own.Best, len(own.Contenders))
	}
	taken := func(single, deep string) *TakenAhead {
		var a TakenAhead
		var err error
		if a.Single, err = schedule.ParsePlan(single); err != nil {
			t.Fatal(err)
		}
		if a.Deep, err = schedule.ParsePlan(deep); err != nil {
			t.Fatal(err)
		}
		return &a
	}
	if got := aheadOf(timed, own.Best, taken("s[0:1]@1{family=cells}", timed.Best)); got.Plan != timed.Best ||
		got.Depth != 3 || math.Abs(got.OfBest-2) > 0.01 || math.Abs(got.Single-0.5) > 0.02 || got.Failed != "" ||
		got.OfBestLow > got.OfBest || got.OfBestHigh < got.OfBest || got.Usual {
		t.Errorf("ahead: %+v", got)
	}
	unknown := taken("s[0:1]@1{family=loops}", "s[0:1]@1{family=loops};body[0:2]@5{family=pipe}")
	unknown.Usual = true
	if got := aheadOf(timed, own.Best, unknown); got.OfBest != 0 || got.Single != 0 || got.Depth != 5 || !got.Usual ||
		got.Failed != "it was not timed" {
		t.Errorf("what was not timed: %+v", got)
	}
	timed.LeftOut = []tuner.LeftOut{{Name: "other 2", Plan: unknown.Deep.String(), Reason: "too large"}}
	if got := aheadOf(timed, own.Best, unknown); got.OfBest != 0 || got.Failed != "too large" {
		t.Errorf("what does not work: %+v", got)
	}
	if got := aheadOf(timed, "none", unknown); !strings.Contains(got.Failed, "found no plan") {
		t.Errorf("nothing to compare with: %+v", got)
	}
	fused := tuner.LoopResult{Loop: "body[0:2]", Stopped: "the time is over", Depths: []tuner.DepthResult{
		{Depth: 1, Seconds: 1, Gain: 1},
		{Kernel: "body[0:2]", Depth: 1, Seconds: 0.5, Gain: 2, Bottleneck: costmodel.Memory, InPlan: true},
		{Kernel: "body[0:2]@2", Depth: 2, Seconds: 1.5, Gain: 1.3, Bottleneck: costmodel.Issue},
	}}
	var whole DepthsRow
	err := whole.read(&tuner.Result{Best: plan + ";body[0:2]@1{}", Loops: []tuner.LoopResult{fused},
		Contenders: []tuner.Contender{
			{Name: "spans 1", Plan: plan + ";body[0:2]@1{}", Times: []float64{0.5, 0.51, 0.49}},
			{Name: "found 1", Plan: plan, Times: []float64{1, 1.01, 0.99}},
		}})
	if err != nil || whole.depthText() != "1, fused" || whole.Single != plan || whole.Gain < 1.9 ||
		whole.Reason() != "memory at depth 1, fused; the time is over" {
		t.Errorf("%+v, %v: %s", whole, err, whole.Reason())
	}
	var none DepthsRow
	none.loop(nil)
	if got := none.Reason(); got != "no time loop runs" {
		t.Error(got)
	}
	var r DepthsRow
	if err := r.read(&tuner.Result{}); err == nil {
		t.Error("a search without plans makes a row")
	}
}

// Rows that a commit has measured are left out, others are merged into the file, and what fails does not keep the
// rest from being measured.
func TestDepths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "depths.json")
	bad := example(t, "life.loom")
	bad.Grids = nil
	bad.Name = "nothing"
	once, list := lang.Load(diag.NewSource("once.loom", `
parameter M, N;
iterator j, i;
float u[M,N], v[M,N];
copyin u;
stencil s (out, in) { out[j][i] = 2.0*in[j][i]; }
s (v, u);
copyout v;
`))
	if list.HasErrors() {
		t.Fatal(list)
	}
	o := DepthsOptions{
		Search:   Search{Trials: 1, Open: OpenDevice("cpu", 0), Commit: "c", Log: io.Discard},
		Programs: []*ir.Program{bad, once.In(arith.Contract)}, Set: map[string]string{"M": "12", "N": "17"},
		Each: func(r DepthsRow) error { return MergeDepths(path, r) },
		Ahead: func(context.Context, *ir.Binding, *target.Target) (*TakenAhead, error) {
			plan, err := schedule.ParsePlan("s[0:1]@1{family=loops,threads=1,block=4x0}")
			return &TakenAhead{Single: plan, Deep: plan}, err
		},
	}
	rows, err := Depths(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "nothing: it has no grids") {
		t.Error(err)
	}
	if len(rows) != 1 || rows[0].Program != "once" || rows[0].Sizes != "M=12 N=17" || rows[0].Depth != 1 ||
		rows[0].Reason() != "no time loop runs" {
		t.Fatalf("%+v, %v", rows, err)
	}
	if a := rows[0].Ahead; a == nil || a.Depth != 1 || a.OfBest <= 0 || a.Single != a.OfBest ||
		!strings.Contains(a.Plan, "block=4x0") {
		t.Errorf("ahead: %+v", a)
	}
	if o.Have, err = ReadDepths(path); err != nil || len(o.Have) != 1 {
		t.Fatalf("%v, %v", o.Have, err)
	}
	var log strings.Builder
	o.Programs, o.Log = o.Programs[1:], &log
	if rows, err = Depths(t.Context(), o); err != nil || len(rows) != 0 ||
		!strings.Contains(log.String(), "has measured") {
		t.Errorf("%v, %v\n%s", rows, err, log.String())
	}
	o.Programs, o.Within, o.Commit = append(o.Programs, o.Programs...), time.Nanosecond, "d"
	o.Open = OpenDevice("nothing:0", 0)
	if rows, err = Depths(t.Context(), o); err != nil || len(rows) != 0 ||
		!strings.Contains(log.String(), "2 rows are left") {
		t.Errorf("%v, %v\n%s", rows, err, log.String())
	}
	o.Within = 0
	if rows, err = Depths(t.Context(), o); err == nil || len(rows) != 0 {
		t.Errorf("a device that is not there: %v, %v", rows, err)
	}
	row := o.Have[0]
	row.Ahead = &AheadPlan{OfBest: 0.75, Depth: 3}
	row.Depth, row.Gain, row.Low, row.High, row.Device = 4, 2.5, 2.4, 2.6, "another"
	if err := MergeDepths(path, row); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []DepthsRow
	if err := json.Unmarshal(text, &kept); err != nil || len(kept) != 2 {
		t.Errorf("%d rows, %v", len(kept), err)
	}
	var table strings.Builder
	WriteDepths(&table, []DepthsRow{row})
	want := "| once | float | M=12 N=17 | 4 | 2.50 | 2.40 to 2.60 | 0.75, depth 3 | no time loop runs |"
	if !strings.Contains(table.String(), want) {
		t.Errorf("%s", table.String())
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDepths(path); err == nil || !strings.Contains(err.Error(), "no rows of bench depths") {
		t.Error(err)
	}
}
