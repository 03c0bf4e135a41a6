package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

const twoKernels = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
float u[L,M,N], v[L,M,N];
copyin u;
stencil star (out, in) { out[k][j][i] = 0.5f*in[k][j][i] + 0.1f*(in[k][j][i-1] + in[k][j][i+2] + in[k-1][j][i]); }
stencil scale (out, in) { out[k][j][i] = 0.5f*in[k][j+1][i]; }
star (v, u);
scale (u, v);
copyout u;
`

// paperJob is a job on a machine that is not here.
func paperJob(t *testing.T, name, source string) *Job {
	t.Helper()
	m, err := machine.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	p, list := lang.Load(diag.NewSource("test.loom", source))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	b, list := p.In(arith.Contract).Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return &Job{Bound: b, Device: &Device{Target: target.OnPaper(emit.CUDA, m, arith.Contract)}}
}

// A job without a plan has one of the model of its device, with a configuration of each kernel that fits.
func TestJobByModel(t *testing.T) {
	j := paperJob(t, "h200", twoKernels)
	usual, err := lower.Plan(j.Bound.Program, j.Lowering())
	if err != nil {
		t.Fatal(err)
	}
	p, err := j.Model(t.Context(), "")
	if err != nil || p == nil {
		t.Fatalf("%v, %v", p, err)
	}
	if j.Origin != Modelled || p.Kernels != 2 || len(j.Plan.Kernels) != 2 || j.Fits() != nil {
		t.Errorf("origin %d, %d kernels, plan %s", j.Origin, p.Kernels, j.Plan)
	}
	for i, k := range j.Plan.Kernels {
		if k.Config.Equal(usual.Kernels[i].Config) {
			t.Errorf("%s has its usual configuration: the model has not chosen", k.ID())
		}
	}
	again := paperJob(t, "h200", twoKernels)
	if _, err := again.Model(t.Context(), ""); err != nil || again.PlanText() != j.PlanText() {
		t.Errorf("another time the plan is %s", again.Plan)
	}
	// What is refused gives way to the usual plan, and that to what is expected to be next.
	others := j.Alternatives()
	if len(j.Next) != predict.StandBy || len(others) < predict.StandBy+1 || others[0].String() != usual.String() {
		t.Fatalf("a plan that fails gives way to %v", others)
	}
	list, err := Predict(t.Context(), PredictRequest{
		Bound: j.Bound, Target: j.Device.Target, Top: mostTried, Lower: predict.LoweredCandidates,
	})
	if err != nil {
		t.Fatal(err)
	}
	least := list[0].Expected
	if list[1].Expected.Low < least.Low {
		least = list[1].Expected
	}
	if p.Expected != least || list[0].Expected == list[1].Expected {
		t.Errorf("expected is %+v, and of the kernels %+v and %+v", p.Expected, list[0].Expected, list[1].Expected)
	}
	for i, k := range j.Plan.Kernels {
		at := -1 // in the ranking
		for n, plan := range append([]schedule.Plan{j.Plan}, others[:predict.StandBy]...) {
			own := plan.Kernels[i].Config.String()
			next := slices.IndexFunc(list[i].Top, func(x PredictedConfig) bool { return x.Config == own })
			if next <= at {
				t.Errorf("%s has in plan %d what is at place %d of the ranking, after %d", k.ID(), n, next, at)
			}
			at = next
		}
	}
}

// A plan that the user has chosen, and a device without a model, stay as they are.
func TestJobWithoutModel(t *testing.T) {
	j := paperJob(t, "a100", twoKernels)
	if p, err := j.Model(t.Context(), ""); p != nil || err != nil || j.Origin != Usual {
		t.Errorf("a device without a model: %v, %v", p, err)
	}
	j = paperJob(t, "h200", twoKernels)
	j.Plan, j.Origin = schedule.Plan{Every: schedule.Config{Family: "cells"}}, Chosen
	if p, err := j.Model(t.Context(), ""); p != nil || err != nil || j.Origin != Chosen {
		t.Errorf("a chosen plan: %v, %v", p, err)
	}
}

// A search begins with as many configurations as are asked for, the best that the model of the device ranks; without a
// model, or if none are asked for, it begins as ever.
func TestTunePrior(t *testing.T) {
	j := paperJob(t, "h200", twoKernels)
	choices, err := lower.Choices(j.Bound.Program, j.Lowering())
	if err != nil {
		t.Fatal(err)
	}
	const n = 5
	r := TuneRequest{Device: j.Device, Prior: n}
	r.Bound = j.Bound
	var notes []string
	r.Events = func(e tuner.Event) { notes = append(notes, e.Text) }
	use, err := r.begin()
	if err != nil || use == nil || use.Picks != n || use.Far != 0 || use.Model.Device != "NVIDIA H200" {
		t.Fatal(use, err)
	}
	if len(notes) != 1 || notes[0] != use.String() {
		t.Errorf("the user is told %q", notes)
	}
	m := r.model
	if err := r.know(); err != nil {
		t.Fatal(err)
	}
	list, err := Predict(t.Context(), PredictRequest{
		Bound: j.Bound, Target: j.Device.Target, Top: n, Lower: predict.LoweredCandidates,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range choices {
		prior, err := r.PriorOf(t.Context(), j.Bound.Program.Calls[i], c.Space)
		first := prior.First
		if err != nil || len(first) != predict.Leading || prior.Expected.Most != n-predict.Leading {
			t.Fatalf("%s begins with %v, %v", c.ID(), first, err)
		}
		k := &predict.Kernel{Bound: j.Bound, Call: j.Bound.Program.Calls[i], Space: c.Space, Target: j.Device.Target}
		for i, want := range m.Predict(k, prior.Candidates) {
			own := i >= len(first) || prior.Candidates[i].Equal(first[i])
			if got := prior.Predict(prior.Candidates[i]); got != want || !own {
				t.Errorf("%s is predicted to have %g, not %g", prior.Candidates[i], got, want)
			}
		}
		for n, x := range first {
			if !c.Space.Has(x) || x.String() != list[i].Top[n].Config {
				t.Errorf("%s begins with %s, and the model's %d. is %s", c.ID(), x, n+1, list[i].Top[n].Config)
			}
		}
	}
	// What the model says of trials is what it ranks by, trial for trial, but for what stands at its place for another
	// reason.
	var result tuner.Result
	list, err = Predict(t.Context(), PredictRequest{Bound: j.Bound, Target: j.Device.Target, Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		x := tuner.KernelResult{Kernel: p.Kernel}
		for _, c := range p.Top {
			x.Trials = append(x.Trials, tuner.Outcome{Config: c.Config})
		}
		result.Kernels = append(result.Kernels, x)
	}
	deep := tuner.KernelResult{Kernel: "body[0:2]@2", Trials: result.Kernels[0].Trials}
	result.Kernels = append(result.Kernels, deep)
	said := predicted(m, r.Bound, j.Device.Target, &result)
	if len(said) != len(list) {
		t.Fatal(said)
	}
	for i, p := range list {
		for n, c := range p.Top {
			atItsPlace, most := c.FastestOf != "" || c.Usual, 1.0
			if n > 0 { // no more than of the one before, which may be of another form
				most = p.Top[n-1].Fraction
			}
			if said[i].Kernel != p.Kernel || !atItsPlace && min(most, said[i].Fractions[n]) != c.Fraction {
				t.Errorf("of %s %s it says %v, and ranks it by %v", p.Kernel, c.Config, said[i].Fractions[n],
					c.Fraction)
			}
		}
	}
	const auto = predict.AutoPrior
	for strategy, want := range map[string]int{"auto": auto, "auto:n=3": auto, "random": 0, "autos.spec": 0} {
		if got := UsualPrior(strategy); got != want {
			t.Errorf("%s begins with %d", strategy, got)
		}
	}
	unknown := paperJob(t, "a100", twoKernels).Device
	for i, other := range []TuneRequest{
		{Device: j.Device}, {Device: unknown, Prior: 3}, {Device: unknown, Prior: 3, PriorGiven: true},
	} {
		notes = nil
		other.Events = r.Events
		use, err := other.begin()
		if err == nil {
			err = other.know()
		}
		if err != nil || use != nil || other.PriorOf != nil {
			t.Errorf("without a prior: %v, %v", use, err)
		}
		if told := strings.Contains(strings.Join(notes, ""), "without picks"); told != (i == 2) {
			t.Errorf("of request %d the user is told %q", i, notes)
		}
	}
}

// A ranking by a model of another device is refused, as all that takes a plan of one is: kernels of processors and of
// GPUs have other features.
func TestPredictElsewhere(t *testing.T) {
	const models = "../tune/predict/models/"
	for _, c := range []struct{ device, model, want string }{
		{"h200", "processors", "it is of processors (cpu), and this is NVIDIA H200 (cuda)"},
		{"a100", "nvidia-h200", "it is of NVIDIA H200 (cuda), and this is NVIDIA A100"},
		{"cpu", "nvidia-h200", "it is of NVIDIA H200 (cuda), and this is two-core"},
		{"a100", "", "no model that comes with Gridloom is of NVIDIA A100"},
	} {
		j := paperJob(t, c.device, twoKernels)
		r := PredictRequest{Bound: j.Bound, Target: j.Device.Target, Top: 1}
		if c.model != "" {
			r.Model = models + c.model + ".json.gz"
		}
		list, err := Predict(t.Context(), r)
		if err == nil || CauseOf(err) != Request || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s by a model of %s: %v, %v", c.device, c.model, list, err)
		}
	}
}

// Kernels that are unlike all that the model has learned from are predicted, and to be measured before that is trusted.
func TestJobFarFromAll(t *testing.T) {
	j := paperJob(t, "h200", strings.ReplaceAll(twoKernels, "= 256", "= 4"))
	p, err := j.Model(t.Context(), "")
	if err != nil || p == nil || p.Far != 2 || p.Kept != 0 || p.Kernels != 2 || !p.IsUnsure() || j.Origin != Modelled {
		t.Errorf("%+v, %v, plan %s", p, err, j.Plan)
	}
}

// Measurements before a run on processors have to take less than the run; on a GPU they are taken for that.
func TestWorthGuard(t *testing.T) {
	loop := strings.Replace(twoKernels, "star (v, u);\nscale (u, v);", "iterate TIMES { star (v, u); scale (u, v); }",
		1)
	for times, want := range map[string]bool{"10": false, "1000": true} { // 268 MB an iteration
		j := paperJob(t, "h200", strings.Replace(loop, "TIMES", times, 1))
		if !j.IsWorthGuard() {
			t.Errorf("%s iterations on a GPU are too short", times)
		}
		j.Device.Target = target.OnPaper(emit.C, nil, arith.Contract)
		if j.IsWorthGuard() != want {
			t.Errorf("%s iterations on processors are long: %v", times, !want)
		}
	}
}

// Of a kernel's ranking some are lowered and ranked again, by a model that has a second level: half of them its first.
func TestPredictLowered(t *testing.T) {
	j := paperJob(t, "h200", twoKernels)
	m, err := modelFor(j.Device.Target, "")
	if err != nil {
		t.Fatal(err)
	}
	with := func(second *predict.Second) string {
		one := *m
		one.Second = second
		path := filepath.Join(t.TempDir(), "model.json.gz")
		if err := gridio.WriteFile(path, one.Write); err != nil {
			t.Fatal(err)
		}
		return path
	}
	r := PredictRequest{Bound: j.Bound, Target: j.Device.Target, Top: 30}
	first, err := Predict(t.Context(), r) // 20 and some of neighbours
	if err != nil {
		t.Fatal(err)
	}
	r.Top, r.Why, r.Lower, r.Model = 24, 3, 20, with(nil)
	same, err := Predict(t.Context(), r)
	if err != nil || same[0].Lowered != 0 || same[0].Top[0].Config != first[0].Top[0].Config {
		t.Errorf("a model without a second level: %d were lowered, %v", same[0].Lowered, err)
	}
	names := predict.SecondFeatures()
	loads := slices.Index(names, "cell_loads")
	byLoads := []learn.RegressionTree{{{Feature: loads, Split: 1.5, Low: 1, High: 2}, {Value: 10}, {Value: -10}}}
	r.Model = with(&predict.Second{Features: names, Speed: &learn.Boosted{Rate: 1, Runs: 1, Trees: byLoads}})
	again, err := Predict(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := predict.KernelsOf(j.Bound, j.Device.Target, schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range again {
		if p.Lowered != 20 || p.LoweredSeconds <= 0 || len(p.Top) != 24 {
			t.Errorf("%s: %d were lowered in %v s", p.Kernel, p.Lowered, p.LoweredSeconds)
		}
		for _, c := range predict.Configs(m.Rank(kernels[i]), 10) {
			if !slices.ContainsFunc(p.Top, func(x PredictedConfig) bool { return x.Config == c.String() }) {
				t.Errorf("%s: %s is of the first half, and was not lowered", p.Kernel, c)
			}
		}
		if p.Top[0].Fraction != 1 {
			t.Errorf("%s: the first of few loads is predicted %v", p.Kernel, p.Top[0].Fraction)
		}
		if why := p.Top[0].Reasons; len(why) != 1 || why[0].Feature != "cell_loads" || why[0].Effect != 10 {
			t.Errorf("%s: the second level ranks the first by its loads alone, and the reasons are %v", p.Kernel, why)
		}
	}
	// A plan by prediction takes the first of both levels.
	p, err := j.Model(t.Context(), r.Model)
	if err != nil || p == nil || p.Kernels != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, k := range j.Plan.Kernels {
		if got := k.Config.String(); got != again[i].Top[0].Config {
			t.Errorf("%s has %s, and the first is %s", k.ID(), got, again[i].Top[0].Config)
		}
	}
}

// A long loop that memory binds has a kernel of several iterations beside what the model has chosen for one, and the
// plan without it stands by. A short loop, a run that stops after each iteration, and a plan that no model has made
// have none.
func TestDeepen(t *testing.T) {
	const source = `
parameter M = 8192, N = 8192, T = 100000;
iterator j, i;
double u[M,N], next[M,N];
stencil five (out, in) {
  out[j][i] = 0.4*in[j][i] + 0.1*in[j][i-1] + 0.11*in[j][i+1] + 0.12*in[j-1][i] + 0.27*in[j+1][i];
}
iterate T { five (next, u); swap (next, u); }
copyout u;
`
	modelled := func(source string) *Job {
		j := paperJob(t, "h200", source)
		if p, err := j.Model(t.Context(), ""); err != nil || p.Kernels != 1 || j.hasSpans() {
			t.Fatalf("%+v, %v: %s", p, err, j.Plan)
		}
		return j
	}
	j := modelled(source)
	before, next := j.Plan, len(j.Next)
	list, err := j.Deepen(t.Context(), LeastDeepened, Pause{Iterations: 1000})
	if err != nil || len(list) != 1 || list[0].Kernel.Depth < 2 ||
		list[0].Seconds > list[0].Loop.Single || list[0].Loop.Iterations != 100000 {
		t.Fatalf("%+v, %v", list, err)
	}
	if want := before.String() + ";" + list[0].Kernel.String(); j.Plan.String() != want || j.Origin != Modelled ||
		j.Fits() != nil {
		t.Errorf("the plan is %s, not %s", j.Plan, want)
	}
	if len(j.Next) != next+1 || j.Next[0].String() != before.String() {
		t.Errorf("%v stand by", j.Next)
	}
	if again, err := j.Deepen(t.Context(), 0); err != nil || again != nil {
		t.Errorf("a plan with such kernels has others: %+v, %v", again, err)
	}
	// Where a model knows nothing of the kernels, the usual ones have one beside them, too.
	usual := paperJob(t, "h200", source)
	if list, err := usual.Deepen(t.Context(), LeastDeepened); err != nil || len(list) != 1 || !usual.hasSpans() ||
		usual.Origin != Modelled || usual.Fits() != nil || len(usual.Next) != 1 || usual.Next[0].String() != "" {
		t.Errorf("the usual plan: %+v, %v: %s", list, err, usual.Plan)
	}
	chosen, full := paperJob(t, "h200", source), modelled(source)
	chosen.Origin = Chosen
	full.Device.Memory = 5 * 8192 * 8192 * 8 / 2 // two grids, and half of one that is spare
	for name, x := range map[string]struct {
		job   *Job
		pause int64
	}{
		"a short loop":       {modelled(strings.Replace(source, "T = 100000", "T = 100", 1)), 0},
		"every iteration":    {modelled(source), 1},
		"what was not asked": {chosen, 0},
		"a full memory":      {full, 0},
	} {
		plan := x.job.Plan.String()
		list, err := x.job.Deepen(t.Context(), LeastDeepened, Pause{}, Pause{Iterations: x.pause})
		if list != nil || err != nil || x.job.Plan.String() != plan {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// Local grids that many cells would move through memory for are computed where they are read, where nothing was
// measured and a plan says nothing of them. They stay stored where that repeats much arithmetic.
func TestLocalGridsByPrediction(t *testing.T) {
	const source = `
parameter M = 8192, N = 8192;
iterator j, i;
double u[M,N], next[M,N];
stencil smooth (out, in) {
  double a[M,N], b[M,N];
  a[j][i] = 0.3*in[j][i] + 0.7*in[j][i+1];
  b[j][i] = 0.6*a[j][i-1] + 0.4*a[j][i] - in[j][i];
  out[j][i] = TERMS;
}
iterate 100 { smooth (next, u); swap (next, u); }
copyout u;
`
	light := strings.Replace(source, "TERMS", "0.2*b[j][i] + 0.9*b[j+1][i]", 1)
	var terms []string
	for y := -3; y <= 3; y++ {
		for x := -3; x <= 3; x++ {
			terms = append(terms, fmt.Sprintf("exp(b[j%+d][i%+d])", y, x))
		}
	}
	heavy := strings.Replace(source, "TERMS", strings.Join(terms, " + "), 1)
	heavy = strings.Replace(heavy, "- in[j][i];", "- sin(in[j][i]);", 1)
	j := paperJob(t, "h200", light)
	p, err := j.Model(t.Context(), "")
	if err != nil || !p.Locals.Fuse() || p.Locals.Fused >= p.Locals.Stored || j.Origin != Modelled ||
		len(j.Plan.Kernels) != 1 || !strings.HasPrefix(j.Plan.String(), "smooth[0:3]@1{") || j.Fits() != nil {
		t.Fatalf("%+v, %v: %s", p, err, j.Plan)
	}
	// The sizes tell: each of the stored grids moves in and out.
	if ratio := p.Locals.Stored / p.Locals.Fused; ratio < 2 || ratio > 5 {
		t.Errorf("%+v", p.Locals)
	}
	list, err := Predict(t.Context(), PredictRequest{Bound: j.Bound, Target: j.Device.Target, Top: 1, Why: 1})
	if err != nil || len(list) != 1 || list[0].Kernel != "smooth[0:3]" || !list[0].Locals.Fuse() {
		t.Errorf("%+v, %v", list, err)
	}
	for name, x := range map[string]struct{ source, plan string }{
		"much arithmetic":  {heavy, ""},
		"small grids":      {strings.ReplaceAll(light, "8192", "256"), ""},
		"the plan says so": {light, "local=stored"},
		"it names kernels": {light, "smooth[0:1]@1{family=cells}"},
	} {
		j := paperJob(t, "h200", x.source)
		if j.Plan, err = schedule.ParsePlan(x.plan); err != nil {
			t.Fatal(err)
		}
		p, err := j.Model(t.Context(), "")
		if err != nil || p.Locals.Fuse() || strings.Contains(j.Plan.String(), "smooth[0:3]@1") {
			t.Errorf("%s: %+v, %v: %s", name, p, err, j.Plan)
		}
		if name == "much arithmetic" && (p.Locals == nil || p.Locals.Fused <= p.Locals.Stored) {
			t.Errorf("%s: %+v", name, p.Locals)
		}
	}
}
