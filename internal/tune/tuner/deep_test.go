package tuner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// byDepth returns times of plans on a scripted GPU: a millisecond for an iteration by itself, and a part of it
// for one of several in a kernel. Chunks of 64 planes are the fastest.
func byDepth(parts map[int]float64) func(plan string) (float64, error) {
	return func(plan string) (float64, error) {
		at := strings.Index(plan, "body")
		if at < 0 {
			return 1e-3, nil
		}
		k, err := schedule.ParseKernel(plan[at:])
		if err != nil {
			return 0, err
		}
		part, ok := parts[k.Depth]
		if !ok {
			part = 2
		}
		chunk := math.Abs(float64(setting(plan[at:], "chunk")) - 64)
		return 1e-3 * part * float64(k.Depth) * (1 + 1e-4*chunk), nil
	}
}

// deepOptions are those of a search on a scripted GPU that tries several iterations in a kernel.
func deepOptions(t *testing.T, s *scripted, b *ir.Binding, trials int) Options {
	o := options(s, b, trials)
	o.Lab, o.MaxDepth = gpu(t, s), 0
	o.Plan = plan(t, "five[0:1]@1{family=cells}") // which are lowered fast
	return o
}

// depthsOf lists the depths of a loop's result in the order of the search.
func depthsOf(r *Result) []int64 {
	var list []int64
	for _, d := range r.Loops[0].Depths {
		list = append(list, d.Depth)
	}
	return list
}

func iterated(times int) string {
	return strings.Replace(plane, "iterate 10 ", fmt.Sprintf("iterate %d ", times), 1)
}

// The search goes from depth to depth until two of them gain nothing, and the depth that is best gets what is
// left.
func TestDepths(t *testing.T) {
	decides(t)
	b := program(t, iterated(101))
	o := deepOptions(t, newScripted(t, b, byDepth(map[int]float64{2: 0.6, 4: 0.5, 6: 0.55, 8: 0.52, 10: 0.1})), b, 100)
	var told []string
	o.Events = func(e Event) {
		switch e.Kind {
		case EventKernel:
			told = append(told, "search "+e.Kernel)
		case EventDepth:
			told = append(told, fmt.Sprintf("%s depth %d", e.Kernel, e.Depth.Depth))
		}
	}
	r := tune(t, o)
	l := r.Loops[0]
	if !slices.Equal(depthsOf(r), []int64{1, 2, 4, 6, 8}) || l.Stopped != "the last 2 depths were not faster" {
		t.Errorf("%v: %s", depthsOf(r), l.Stopped)
	}
	want := []string{"search five[0:1]", "body[0:2] depth 1", "search body[0:2]@2", "body[0:2] depth 2",
		"search body[0:2]@4", "body[0:2] depth 4", "search body[0:2]@6", "body[0:2] depth 6", "search body[0:2]@8",
		"body[0:2] depth 8", "search body[0:2]@4", "body[0:2] depth 4"}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	trials := 0
	for _, k := range r.Kernels {
		trials += len(k.Trials)
	}
	if r.Trials > 100 || r.Trials < 95 || trials != r.Trials || len(r.Kernels) != 5 ||
		fmt.Sprint(r.Kernels[0].Configurations) != fmt.Sprint(len(r.Kernels[0].Trials)) ||
		l.Depths[1].Trials != 9 || l.Depths[2].Trials < 50 {
		t.Errorf("%d trials, %d told: %+v", r.Trials, trials, l.Depths)
	}
	if !strings.Contains(r.Best, "five[0:1]@1{") || !strings.Contains(r.Best, ";body[0:2]@4{"+l.Depths[2].Best+"}") ||
		strings.Contains(r.Best, "@2{") || r.Contenders[0].Name != "spans 1" && r.Contenders[0].Name != "all sizes" {
		t.Errorf("%s is the best: %s", r.Contenders[0].Name, r.Best)
	}
	if d := l.Depths[2]; !d.InPlan || d.Gain < 1.9 || d.Gain > 2 || l.Depths[0].InPlan ||
		d.GStencils != float64(4*510*510)/d.Seconds/1e9 {
		t.Errorf("%+v", d)
	}
	if fmt.Sprint(l.Carried) != "[{4 25 false} {1 1 false}]" || !slices.Equal(l.Carried, l.Schedule) {
		t.Errorf("carried out %v, at best %v", l.Carried, l.Schedule)
	}
	// A step of the best plan is what its kernels take over all iterations.
	step := (25*l.Depths[2].Seconds + l.Depths[0].Seconds) / 101
	if c := r.Contender("spans 1"); c.Seconds < 0.999*step || c.Seconds > 1.001*step {
		t.Errorf("a step takes %g s, not %g s", c.Seconds, step)
	}
}

// Where the device is described, the search begins with the depth that the model predicts, and goes around it.
func TestForecastDepths(t *testing.T) {
	decides(t)
	b := program(t, iterated(101))
	s := newScripted(t, b, byDepth(map[int]float64{2: 0.3, 3: 0.4, 4: 0.5, 5: 0.6}))
	o := deepOptions(t, s, b, 40)
	o.Lab, o.MaxDepth = h200(t, s), 4
	r := tune(t, o)
	l := r.Loops[0]
	if !slices.Equal(depthsOf(r), []int64{1, 4, 3, 2}) || l.Stopped != "the depths around 2 were not faster" {
		t.Errorf("%v: %s", depthsOf(r), l.Stopped)
	}
	for _, d := range l.Depths[1:] {
		if d.Bottleneck == "" || d.Predicted <= 0 || !strings.HasPrefix(d.Evidence, "predicted ") ||
			!strings.Contains(d.Evidence, "; useful 0.") {
			t.Errorf("%+v", d)
		}
	}
	if !strings.Contains(r.Best, "body[0:2]@2{") {
		t.Error(r.Best)
	}
}

// What measured times tell where there is no description.
func TestBottleneckByTraffic(t *testing.T) {
	b := program(t, iterated(101))
	for _, c := range []struct {
		cache int64
		want  string // begins the evidence
		class string
	}{
		{0, "compulsory bytes move at ", "execution"},
		{1 << 30, "the grids of a kernel (", "execution"},
	} {
		s := newScripted(t, b, byDepth(map[int]float64{2: 0.6}))
		s.cache = c.cache
		o := deepOptions(t, s, b, 10)
		o.MaxDepth = 2
		r := tune(t, o)
		d := r.Loops[0].Depths[1]
		if string(d.Bottleneck) != c.class || !strings.HasPrefix(d.Evidence, c.want) || d.Predicted != 0 {
			t.Errorf("%+v", d)
		}
	}
}

// twoCalls is a loop of two calls.
const twoCalls = `
parameter M = 512, N = 512;
iterator j, i;
double u[M,N], flux[M,N], next[M,N];
stencil across (f, u) { f[j][i] = 0.3*u[j][i+1] - 0.2*u[j][i]; }
stencil update (out, u, f) { out[j][i] = 0.9*u[j][i] + 0.2*f[j][i-1] + 0.1*f[j+1][i]; }
iterate 60 { across (flux, u); update (next, u, flux); swap (u, next); }
`

// An iteration with several statements has depth 1 fused among its depths. Where it is the fastest, the plan has it.
func TestFusedIteration(t *testing.T) {
	b := program(t, twoCalls)
	for _, named := range []string{"", ";body[0:3]@1{family=overlap}"} {
		o := deepOptions(t, newScripted(t, b, byDepth(map[int]float64{1: 0.6, 2: 0.9, 4: 0.8})), b, 60)
		o.Plan = plan(t, "across[0:1]@1{family=cells};update[0:1]@1{family=cells}"+named)
		r := tune(t, o)
		l := r.Loops[0]
		want := []int64{1, 1, 2, 4}
		if named != "" {
			want = want[:2]
		}
		if !slices.Equal(depthsOf(r), want) {
			t.Errorf("%v: %s", depthsOf(r), l.Stopped)
			continue
		}
		if fused := l.Depths[1]; !l.Depths[0].Plain() || fused.Kernel != "body[0:3]" || !fused.InPlan ||
			fused.After != 1 ||
			!strings.Contains(r.Best, "body[0:3]@1{") || strings.Contains(r.Best, "]@2{") {
			t.Errorf("%+v, %s", fused, r.Best)
		}
		carried := []deep.Part{{Depth: 1, Times: 59, Fused: true}, {Depth: 1, Times: 1}}
		if !slices.Equal(l.Carried, carried) || !slices.Equal(l.Schedule, carried) {
			t.Errorf("%v, %v", l.Carried, l.Schedule)
		}
	}
}

// Where the best kernels of single calls do not work together, several iterations are compared with the usual ones.
func TestKernelsThatFailTogether(t *testing.T) {
	decides(t)
	b := program(t, twoCalls)
	right := byDepth(map[int]float64{1: 0.6, 2: 0.9, 4: 0.8})
	o := deepOptions(t, newScripted(t, b, func(plan string) (float64, error) {
		best, alone := strings.Count(plan, "block=4x32"), !strings.Contains(plan, "body")
		switch {
		case alone && best == 2:
			return 0, errors.New("their rows are not theirs alone")
		case alone && best == 1:
			return 0.5e-3, nil
		}
		return right(plan)
	}), b, 60)
	o.Plan = plan(t, "family=cells")
	r := tune(t, o)
	failed := "body[0:3]: the best kernels of single calls do not work together, so the usual ones are compared " +
		"with: their rows are not theirs alone"
	if !slices.Contains(r.Notes, failed) || len(r.Loops[0].Depths) < 2 || !strings.Contains(r.Best, "body[0:3]@1{") {
		t.Errorf("%q, %+v, %s", r.Notes, r.Loops[0], r.Best)
	}
}

// A fused iteration that gains nothing does not keep deeper kernels from being tried.
func TestFusedIterationThatGainsNothing(t *testing.T) {
	decides(t)
	b := program(t, twoCalls)
	o := deepOptions(t, newScripted(t, b, byDepth(map[int]float64{1: 1.4, 2: 1.2, 4: 0.5, 6: 0.7, 8: 0.8})), b, 60)
	o.Plan = plan(t, "across[0:1]@1{family=cells};update[0:1]@1{family=cells}")
	r := tune(t, o)
	if !slices.Equal(depthsOf(r), []int64{1, 1, 2, 4, 6, 8}) || !strings.Contains(r.Best, "body[0:3]@4{") ||
		strings.Contains(r.Best, "body[0:3]@1{") {
		t.Errorf("%v, %s: %s", depthsOf(r), r.Best, r.Loops[0].Stopped)
	}
}

// Where nothing is gained, the plan has kernels of single iterations alone.
func TestDepthsThatGainNothing(t *testing.T) {
	b := program(t, iterated(100))
	r := tune(t, deepOptions(t, newScripted(t, b, byDepth(map[int]float64{2: 1.1, 4: 1.2})), b, 50))
	if !slices.Equal(depthsOf(r), []int64{1, 2, 4}) || strings.Contains(r.Best, "body") ||
		fmt.Sprint(r.Loops[0].Schedule) != "[{1 100 false}]" {
		t.Errorf("%v, %s", r.Loops[0], r.Best)
	}
}

// What was faster in the search and is slower beside the others is not in the plan.
func TestSpansLoseSideBySide(t *testing.T) {
	b := program(t, iterated(100))
	last := false
	fast, slow := byDepth(map[int]float64{2: 0.5, 4: 0.4}), byDepth(map[int]float64{2: 1.5, 4: 1.4})
	s := newScripted(t, b, func(plan string) (float64, error) {
		if last {
			return slow(plan)
		}
		return fast(plan)
	})
	o := deepOptions(t, s, b, 50)
	o.Events = func(e Event) { last = last || e.Kind == EventFinal }
	r := tune(t, o)
	if strings.Contains(r.Best, "body") || r.Contender("spans 1") == nil || r.Contender("spans 1").Gain.Ratio > 0.8 {
		t.Errorf("%s, %+v", r.Best, r.Contender("spans 1"))
	}
	if slices.ContainsFunc(r.Loops[0].Depths, func(d DepthResult) bool { return d.InPlan }) {
		t.Errorf("%+v", r.Loops[0])
	}
}

// The plan has the depths that carry out what the deepest leaves, if they pay.
func TestRemainder(t *testing.T) {
	decides(t)
	b := program(t, iterated(12))
	parts := map[int]float64{2: 0.5, 4: 0.45, 6: 0.4, 8: 0.3, 10: 0.6}
	r := tune(t, deepOptions(t, newScripted(t, b, byDepth(parts)), b, 60))
	if !strings.Contains(r.Best, "body[0:2]@8{") || !strings.Contains(r.Best, "body[0:2]@2{") ||
		strings.Contains(r.Best, "body[0:2]@4{") || strings.Contains(r.Best, "body[0:2]@6{") {
		t.Error(r.Best)
	}
	if l := r.Loops[0]; fmt.Sprint(l.Carried) != "[{8 1 false} {2 1 false} {1 2 false}]" ||
		!strings.HasPrefix(l.Stopped, "a kernel of 12 iterations and 1 after it: the loop has 12 iterations") {
		t.Errorf("%v: %s", l.Carried, l.Stopped)
	}
}

// A loop that forbids it is searched as ever, without a word; the result says what forbids it, and where.
func TestNoSpans(t *testing.T) {
	decides(t)
	const source = `parameter M = 512, N = 512;
iterator j, i;
double u[M,N], next[M,N];
stencil five (out, in) { out[j][i] = 0.25*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[3][i]); }
iterate 10 { five (next, u); swap (next, u); }
`
	b := program(t, source)
	o := deepOptions(t, newScripted(t, b, smooth), b, 20)
	o.Plan = schedule.Plan{}
	r := tune(t, o)
	l := r.Loops[0]
	if l.Stopped != "in is read at one place along a dimension, and the loop changes it" ||
		!strings.HasPrefix(source[l.At.Start:l.At.End], "out[j][i] = ") {
		t.Errorf("%q at %v", l.Stopped, l.At)
	}
	if len(r.Kernels) != 1 || len(r.Kernels[0].Trials) != 20 || len(l.Depths) > 0 || len(r.Notes) > 0 {
		t.Errorf("%d kernels, notes %q", len(r.Kernels), r.Notes)
	}
}

// What the user asks of kernels holds for those of several iterations, too: where it leaves none, none is tried.
func TestRestrictedDepths(t *testing.T) {
	decides(t)
	b := program(t, iterated(100))
	half := byDepth(map[int]float64{2: 0.5, 3: 0.45, 4: 0.4, 5: 0.9, 6: 0.9})
	o := deepOptions(t, newScripted(t, b, half), b, 20)
	o.MaxDepth = 2
	if r := tune(t, o); !slices.Equal(depthsOf(r), []int64{1, 2}) ||
		r.Loops[0].Stopped != "it is the deepest that is tried" {
		t.Errorf("%+v", r.Loops)
	}
	fix, err := schedule.FixTo("--fix", "family=cells")
	if err != nil {
		t.Fatal(err)
	}
	o = deepOptions(t, newScripted(t, b, half), b, 20)
	o.Restrict = schedule.Restrictions{fix}.Apply
	if r := tune(t, o); len(r.Loops[0].Depths) > 0 || len(r.Kernels) != 1 ||
		!strings.HasPrefix(r.Loops[0].Stopped, "--fix family=cells: ") || len(r.Notes) > 0 {
		t.Errorf("%+v, notes %q", r.Loops, r.Notes)
	}
	if fix, err = schedule.FixTo("--fix", "sizes=literals"); err != nil {
		t.Fatal(err)
	}
	o = deepOptions(t, newScripted(t, b, half), b, 40)
	o.Plan = schedule.Plan{}
	o.Restrict = schedule.Restrictions{fix}.Apply
	r := tune(t, o)
	if strings.Contains(r.Best, "sizes=arguments") || !strings.Contains(r.Best, "body[0:2]@4{") {
		t.Error(r.Best)
	}
	for _, k := range r.Kernels {
		for _, x := range k.Trials {
			if !strings.Contains(x.Config, "sizes=literals") {
				t.Errorf("%s %s", k.Kernel, x.Config)
			}
		}
	}
}

// Kernels of several iterations that the user's plan names are the only ones: what it leaves open is searched.
func TestNamedDepths(t *testing.T) {
	b := program(t, iterated(100))
	o := deepOptions(t, newScripted(t, b, byDepth(map[int]float64{2: 0.3, 4: 0.4, 6: 0.5})), b, 30)
	o.Plan = plan(t, "five[0:1]@1{family=cells};body[0:2]@6{family=pipe,block=2x32};body[0:2]@4{family=overlap}")
	r := tune(t, o)
	if !slices.Equal(depthsOf(r), []int64{1, 6, 4}) || r.Loops[0].Stopped != "the plan names no other" {
		t.Errorf("%+v", r.Loops)
	}
	if !strings.Contains(r.Best, "body[0:2]@6{"+r.Loops[0].Depths[1].Best+"}") ||
		!strings.Contains(r.Best, "body[0:2]@4{family=overlap,") {
		t.Error(r.Best)
	}
	for _, x := range r.Kernels[1].Trials {
		if x.Kernel != "body[0:2]@6" || !strings.HasPrefix(x.Config, "family=pipe,block=2x32,") {
			t.Errorf("%s %s", x.Kernel, x.Config)
		}
	}
	if len(r.Kernels[1].Trials) < 4 {
		t.Errorf("%d trials", len(r.Kernels[1].Trials))
	}
}

// What is found for a kernel that the plan names is timed at the end, also where no other kernel has a choice.
func TestNamedKernelsAreTimed(t *testing.T) {
	b := program(t, iterated(100))
	o := deepOptions(t, newScripted(t, b, byDepth(map[int]float64{2: 0.5})), b, 30)
	o.Plan = plan(t, "five[0:1]@1{family=cells,block=8x32};body[0:2]@2{family=pipe,block=2x32}")
	r := tune(t, o)
	best := r.Loops[0].Depths[1].Best
	if best == "" || !strings.Contains(r.Best, "body[0:2]@2{"+best+"}") {
		t.Errorf("%s is found, and the best plan is %s", best, r.Best)
	}
}

// The statements of calls outside of loops are tried in one kernel, once, and the plan has it if it is faster.
func TestSequences(t *testing.T) {
	text := strings.Replace(twoCalls, "swap (u, next);", "", 1)
	i := strings.Index(text, "iterate")
	text = text[:i] + strings.NewReplacer("}", "").Replace(text[strings.Index(text[i:], "{")+i+1:])
	b := program(t, text)
	for _, part := range []float64{0.6, 2.5} {
		s := newScripted(t, b, func(plan string) (float64, error) {
			if strings.Contains(plan, "sequence") {
				return 1e-3 * part, nil
			}
			return 1e-3, nil
		})
		o := deepOptions(t, s, b, 40)
		o.Plan = plan(t, "family=cells")
		r := tune(t, o)
		if len(r.Loops) != 1 || !slices.Equal(depthsOf(r), []int64{1, 1}) {
			t.Errorf("%+v", r.Loops)
			continue
		}
		if has := strings.Contains(r.Best, "sequence[0:2]@1{"); has != (part < 1) {
			t.Errorf("%g: %s", part, r.Best)
		}
	}
}

// Wrong kernels of several iterations are counted as others are, and no plan has them. One that is found out at
// the end is condemned.
func TestWrongSpans(t *testing.T) {
	decides(t)
	b := program(t, iterated(100))
	right := byDepth(map[int]float64{2: 0.5, 4: 0.4, 6: 0.45, 8: 0.45})
	s := newScripted(t, b, func(plan string) (float64, error) {
		if strings.Contains(plan, "@4{") {
			return 0, &measure.Mismatch{What: "u[3][4]", Got: 1, Want: 2}
		}
		return right(plan)
	})
	r := tune(t, deepOptions(t, s, b, 50))
	if strings.Contains(r.Best, "@4{") || !strings.Contains(r.Best, "@2{") || r.Totals["wrong"] == 0 ||
		!slices.Equal(depthsOf(r), []int64{1, 2, 4}) ||
		!strings.Contains(r.Loops[0].Stopped, "u[3][4] is 1, and should be 2") {
		t.Errorf("%s, %v: %s", r.Best, r.Totals, r.Loops[0].Stopped)
	}
	s = newScripted(t, b, right)
	s.last = func(plan string) error {
		if strings.Contains(plan, "@4{") {
			return &measure.Mismatch{What: "u[3][4]", Got: 1, Want: 2}
		}
		return nil
	}
	log := &memoryLog{}
	o := deepOptions(t, s, b, 50)
	o.Log = log
	r = tune(t, o)
	if strings.Contains(r.Best, "@4{") || !slices.ContainsFunc(log.list, func(x Outcome) bool {
		return x.Kernel == "body[0:2]@4" && x.Verdict == verdict.Wrong
	}) {
		t.Errorf("%s, %v", r.Best, r.Totals)
	}
}

// A search that goes on asks for the same as one that was never interrupted, whatever it had come to.
func TestResumeDepths(t *testing.T) {
	decides(t)
	for _, strategy := range []string{"random", "auto"} {
		b := program(t, iterated(101))
		speeds := byDepth(map[int]float64{2: 0.6, 4: 0.5, 6: 0.55, 8: 0.52})
		log := &memoryLog{}
		o := deepOptions(t, newScripted(t, b, speeds), b, 40)
		o.Log, o.Strategy = log, strategy
		whole := tune(t, o)
		for _, n := range []int{10, 31, len(log.list)} {
			more := &memoryLog{}
			o := deepOptions(t, newScripted(t, b, speeds), b, 40)
			o.Log, o.Resume, o.Strategy = more, log.list[:n], strategy
			r := tune(t, o)
			if r.Trials != whole.Trials || len(more.list) != whole.Trials-n || len(r.Notes) > 0 ||
				!slices.Equal(depthsOf(r), depthsOf(whole)) {
				t.Errorf("%s, after %d: %d trials, %d more, %v, %q", strategy, n, r.Trials, len(more.list), depthsOf(r),
					r.Notes)
			}
			for i, k := range whole.Kernels {
				for j, x := range k.Trials {
					if got := r.Kernels[i].Trials; j >= len(got) || got[j].Config != x.Config {
						t.Fatalf("%s, after %d: trial %d of %s differs", strategy, n, j, k.Kernel)
					}
				}
			}
		}
	}
}

// Interrupted, the search keeps the depths that it has.
func TestInterruptDepths(t *testing.T) {
	b := program(t, iterated(100))
	s := newScripted(t, b, byDepth(map[int]float64{2: 0.6, 4: 0.5, 6: 0.4, 8: 0.3}))
	ctx, cancel := context.WithCancel(t.Context())
	o := deepOptions(t, s, b, 100)
	o.Events = func(e Event) {
		if e.Kind == EventDepth && e.Depth.Depth == 4 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if err != nil || !r.Interrupted || !slices.Equal(depthsOf(r), []int64{1, 2, 4}) ||
		r.Loops[0].Stopped != "the search was interrupted" || !strings.Contains(r.Best, "body[0:2]@4{") {
		t.Errorf("%v, %+v, %s", err, r.Loops, r.Best)
	}
}

// Kernels of single iterations keep their part of the time, and all of it where loops allow nothing else.
func TestTimeOfDepths(t *testing.T) {
	decides(t)
	b := program(t, iterated(100))
	s := newScripted(t, b, byDepth(map[int]float64{2: 0.6, 4: 0.5, 6: 0.55, 8: 0.55}))
	o := deepOptions(t, s, b, 0)
	o.Budget, o.Plan = 2e9, plan(t, "five[0:1]@1{family=tile,block=4x64}")
	r := tune(t, o)
	n := len(r.Kernels[0].Trials)
	if r.Seconds > 2.5 || n < 10 || r.Trials-n < n/2 || !strings.Contains(r.Best, "@4{") {
		t.Errorf("%d of %d trials in %g s: %s", n, r.Trials, r.Seconds, r.Best)
	}
}

// Each loop has depths of its own.
func TestTwoLoops(t *testing.T) {
	decides(t)
	b := program(t, iterated(100)+"stencil more (out, in) { out[j][i] = in[j][i-2]; }\n"+
		"iterate 50 { more (next, u); swap (next, u); }\n")
	s := newScripted(t, b, func(plan string) (float64, error) {
		return byDepth(map[int]float64{2: 0.5, 4: 0.6, 6: 0.6})(strings.Replace(plan, "body.2", "body", 1))
	})
	o := deepOptions(t, s, b, 80)
	o.Plan = plan(t, "five[0:1]@1{family=cells};more[0:1]@1{family=cells}")
	r := tune(t, o)
	if len(r.Loops) != 2 || r.Loops[0].Loop != "body[0:2]" || r.Loops[1].Loop != "body.2[0:2]" ||
		!strings.Contains(r.Best, ";body[0:2]@2{") || !strings.Contains(r.Best, ";body.2[0:2]@2{") {
		t.Errorf("%+v, %s", r.Loops, r.Best)
	}
	if want := []deep.Part{{Depth: 2, Times: 24}, {Depth: 1, Times: 2}}; !slices.Equal(r.Loops[1].Carried, want) {
		t.Errorf("%v", r.Loops[1].Carried)
	}
}

// The seeds are configurations as they stand.
func TestSpanSeeds(t *testing.T) {
	for axes, source := range map[int]string{2: plane, 3: cube} {
		b := program(t, source)
		s := newScripted(t, b, smooth)
		sub, err := newSubject(b, gpu(t, s), false)
		if err != nil {
			t.Fatal(err)
		}
		l := &loopSearch{tuning: &tuning{subject: sub}, loop: sub.loops[0]}
		if err := l.begin(); err != nil || l.axes != axes {
			t.Fatalf("%d axes, %v", l.axes, err)
		}
		choice, err := l.choice(2)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range slices.Concat(spanSeeds[axes], planeSeeds[axes]) {
			c, err := schedule.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := choice.Space.Complete(c); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// Rounds of iterations are timed together, as many as a loop has at a time, and the time is that of one; the check
// goes on with another launch.
func TestRoundsAreTimedTogether(t *testing.T) {
	for _, c := range []struct{ iterations, depth, rounds int64 }{
		{1000, 8, 32}, {100, 8, 12}, {9, 8, 1}, {1000, 3, 85},
	} {
		b := program(t, iterated(int(c.iterations)))
		sub, err := newSubject(b, h200(t, newScripted(t, b, smooth)), false)
		if err != nil {
			t.Fatal(err)
		}
		l := &loopSearch{tuning: &tuning{subject: sub}, loop: sub.loops[0]}
		if err := l.begin(); err != nil {
			t.Fatal(err)
		}
		choice, err := l.choice(c.depth)
		if err != nil {
			t.Fatal(err)
		}
		if !choice.Repeats() {
			t.Fatal("no family repeats")
		}
		after, err := l.loop.after(c.depth)
		if err != nil {
			t.Fatal(err)
		}
		call := l.loop.span(sub, c.depth, after)
		call.iterations.repeat()
		if n := call.iterations.checked(); n != (c.rounds+1)*c.depth+after {
			t.Errorf("%+v: %d are checked", c, n)
		}
		for family, launches := range map[string]int{
			"resident,block=6x32,cells=8x2": 2, "overlap,block=32,tile=8x32": int(c.rounds) + 1,
		} {
			p := plan(t, fmt.Sprintf("five[0:1]@1{family=cells};%s{family=%s}", l.loop.id(c.depth), family))
			v, err := call.lowered(call.bound, call.iterations.part(p))
			if err != nil {
				t.Fatal(err)
			}
			rounds := 1
			if strings.HasPrefix(family, "resident") {
				rounds = int(c.rounds)
			}
			if x := v.code; len(x.Launches) != launches+int(after) || x.To-x.From != 1 || x.Rounds != rounds {
				t.Errorf("%+v, %s: %d launches, %d rounds from %d to %d", c, family, len(x.Launches), x.Rounds, x.From,
					x.To)
			}
		}
	}
}
