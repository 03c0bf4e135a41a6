package learning

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/synth"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// onGPU makes kernels that can be lowered. What they take follows what a thread loads.
func onGPU(t *testing.T, names ...string) *HeldOut {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	on := target.OnPaper(emit.CUDA, m, arith.Contract)
	var list []*predict.Recorded
	for _, name := range names {
		k, err := synth.FindKernel(name)
		if err != nil {
			t.Fatal(err)
		}
		p, errs := lang.Load(diag.NewSource(name, k.Source([3]int{32, 32, 32}, 1)))
		if errs.HasErrors() {
			t.Fatal(errs[0].Message)
		}
		p.Name = name
		b, errs := p.In(arith.Contract).Bind(nil)
		if errs.HasErrors() {
			t.Fatal(errs[0].Message)
		}
		kernels, err := predict.KernelsOf(b, on, schedule.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		r := &predict.Recorded{Kernel: kernels[0], Device: "D", DeviceName: "D", Best: 1}
		for _, c := range predict.Candidates(r.Space, predict.Shared)[:60] {
			row, err := r.Variant(c)
			if err != nil {
				continue
			}
			r.Trials = append(r.Trials, predict.Trial{Config: c, Seconds: 1 + row[8]})
		}
		list = append(list, r)
	}
	return NewHeldOut(list)
}

// A model of both levels orders the candidates of a kernel that neither has learned from by what is counted on their
// variants. It is kept with both.
func TestBothLevels(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	h.Folder = t.TempDir()
	e := h.All[0]
	m, err := h.BothWithout(t.Context(), e, Splits[0])
	if err != nil {
		t.Fatal(err)
	}
	if m.Second == nil {
		t.Fatal("there is no second level")
	}
	again := &HeldOut{All: h.All, Folder: h.Folder, stencils: h.stencils}
	kept, err := again.BothWithout(t.Context(), e, Splits[0])
	if err != nil || !reflect.DeepEqual(kept, m) {
		t.Errorf("the model that is kept is another: %v", err)
	}
	if first, err := h.Without(t.Context(), e, Splits[0]); err != nil || first.Second != nil ||
		!reflect.DeepEqual(first.Speed, m.Speed) {
		t.Errorf("the first level is another: %v", err)
	}
	one, both := &Picker{Own, byTrees}, &Picker{Both, byBoth}
	var orders [2][]*judged
	for i, p := range []*Picker{one, both} {
		var err error
		if orders[i], err = p.judge(t.Context(), h, h.All[1:], h.All[:1]); err != nil {
			t.Fatal(err)
		}
	}
	a, b := orders[0][0], orders[1][0]
	if len(a.fraction) != len(e.Trials) || len(b.fraction) != len(e.Trials) {
		t.Errorf("%d and %d of %d are ordered", len(a.fraction), len(b.fraction), len(e.Trials))
	}
	if slices.Equal(a.fraction, b.fraction) {
		t.Error("the second level changes nothing")
	}
	if ca, cb := a.correlation(), b.correlation(); cb < ca+0.05 {
		t.Errorf("features of variants decide, and the correlation falls from %.3f to %.3f", ca, cb)
	}
	const several = 10 // the first are of several forms
	falls := func(x, y float64) int { return cmp.Compare(y, x) }
	if b.predicted[0] != slices.Max(b.predicted) || !slices.IsSortedFunc(b.predicted[several:], falls) {
		t.Error("what is predicted does not fall")
	}
}

// Of what both levels rank, the first picks are tried as they stand; what is measured of them decides which follow.
// What is not tried keeps its order.
func TestCorrected(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	e := h.All[0]
	m, err := h.BothWithout(t.Context(), e, Splits[0])
	if err != nil {
		t.Fatal(err)
	}
	var configs []schedule.Config
	for i := range e.Trials {
		configs = append(configs, e.Trials[i].Config)
	}
	ranked, err := m.RankTried(t.Context(), e.Kernel, configs)
	if err != nil {
		t.Fatal(err)
	}
	equal := func(a, b predict.Ranked) bool { return a.Config.Equal(b.Config) }
	first := corrected(m, e, ranked)
	if !slices.EqualFunc(first[:predict.Leading], ranked[:predict.Leading], equal) || len(first) != len(ranked) {
		t.Error("the first picks are others")
	}
	rest := slices.DeleteFunc(slices.Clone(ranked), func(x predict.Ranked) bool {
		return slices.ContainsFunc(first[:priorTrials], func(y predict.Ranked) bool { return equal(x, y) })
	})
	if !slices.EqualFunc(first[priorTrials:], rest, equal) {
		t.Error("what is not tried has another order")
	}
	// The first picks are far slower than all others: what follows is less like them.
	slow := *e
	slow.Recorded = new(predict.Recorded)
	*slow.Recorded = *e.Recorded
	slow.Trials = slices.Clone(e.Trials)
	for i := range slow.Trials {
		if slices.ContainsFunc(ranked[:predict.Leading], func(x predict.Ranked) bool {
			return x.Config.Equal(slow.Trials[i].Config)
		}) {
			slow.Trials[i].Seconds *= 5
		}
	}
	if slices.EqualFunc(first[:priorTrials], corrected(m, &slow, ranked)[:priorTrials], equal) {
		t.Error("the first picks are slow, and the same ones follow")
	}
}

// What a model knows of registers is kept with it, and is a part of what it follows from.
func TestBothKnowsOfRegisters(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	h.Folder = t.TempDir()
	spills := func(x *predict.Trial) bool { return x.Config.Has("vec") && x.Config.Int("vec") > 1 }
	for _, e := range h.All {
		for i := range e.Trials {
			x := &e.Trials[i]
			if x.Resources.Registers = 40; spills(x) {
				x.Resources.Registers, x.Resources.Spills = 255, 64
			}
		}
	}
	m, err := h.LearnBoth(t.Context(), h.All[1:])
	if err != nil || m.Resources == nil {
		t.Fatalf("%v, or nothing is known of registers", err)
	}
	again := &HeldOut{All: h.All, Folder: h.Folder, stencils: h.stencils}
	if kept, err := again.LearnBoth(t.Context(), h.All[1:]); err != nil || !reflect.DeepEqual(kept, m) {
		t.Errorf("the model that is kept is another: %v", err)
	}
	before := predict.DigestOfBoth(h.All[1:])
	h.All[1].Trials[0].Resources.Registers++
	if predict.DigestOfBoth(h.All[1:]) == before {
		t.Error("a model of other registers is the same")
	}
}

// Picks go on until one is near the best, and the best is what a search of the kernel found, too.
func TestPicksAfterSearches(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	e := h.All[0]
	var names []string
	const most = firstPicks + 3
	row, err := Picks(t.Context(), PicksRequest{
		Models: h, Kernel: e, Target: e.Target, Search: 4, Prior: 2, Most: most,
		In: func(ctx context.Context, name string, work func(Try) error) error {
			names = append(names, name)
			return work(func(trials int, prior tuner.PriorOf, told func(*tuner.Outcome, int) bool) error {
				if prior == nil {
					told(&tuner.Outcome{Config: "found", Verdict: verdict.OK, Seconds: 0.5}, 3)
					return nil
				}
				known, err := prior(ctx, e.Call, e.Space)
				if err != nil {
					return err
				}
				list := known.First[:min(trials, len(known.First))]
				for i, c := range list {
					if told(&tuner.Outcome{Config: c.String(), Verdict: verdict.OK, Seconds: 1}, i+1) {
						t.Error("slow picks are enough")
					}
				}
				if !strings.Contains(name, "-picks-") {
					return nil
				}
				if known.Predict == nil || len(known.Candidates) < len(list) || !known.Candidates[0].Equal(list[0]) {
					t.Errorf("a search goes on that does not know the ranking: %+v", known)
				}
				if told(&tuner.Outcome{Config: "refused", Verdict: verdict.Crash}, trials-1) {
					t.Error("what cannot run is enough")
				}
				if !told(&tuner.Outcome{Config: "near the best", Verdict: verdict.OK, Seconds: 0.55}, trials) {
					t.Error("what is near the best is not enough")
				}
				return nil
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, ending := range []string{"-auto", "-prior", "-picks", "-picks-stencil", "-picks-pattern"} {
		if len(names) != 5 || !strings.HasSuffix(names[i], ending) {
			t.Fatalf("%v", names)
		}
	}
	if row.Best != 0.5 || len(row.Searches) != 2 || row.Searches[0].Trials != 3 || row.Searches[1].Trials != 2 {
		t.Errorf("%+v", row)
	}
	for _, s := range Splits[:2] { // synthetic kernels are not left out as a suite
		p := row.Of(s.Name)
		if p == nil || len(p.Seconds) != firstPicks+2 || p.Ranked != firstPicks ||
			row.Runs(p) != firstPicks+2 || p.Lowered != predict.LoweredCandidates {
			t.Errorf("without a %s: %+v", s.Name, p)
		}
	}
	if len(row.Picks) != 2 {
		t.Errorf("%d models picked", len(row.Picks))
	}
}

// A row of before searches went on keeps its first picks, and what was measured further down the ranking is dropped.
// Picks of another model are measured anew, and those of a part that is not left out any more stay as they are.
func TestPicksGoOn(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	e := h.All[0]
	var names []string
	in := func(ctx context.Context, name string, work func(Try) error) error {
		names = append(names, name[strings.Index(name, "-picks"):])
		return work(func(trials int, prior tuner.PriorOf, told func(*tuner.Outcome, int) bool) error {
			known, err := prior(ctx, e.Call, e.Space)
			if err != nil {
				return err
			}
			for i, c := range known.First {
				told(&tuner.Outcome{Config: c.String(), Verdict: verdict.OK, Seconds: 1}, i+1)
			}
			if strings.Contains(name, "-picks-") {
				told(&tuner.Outcome{Config: "slow", Verdict: verdict.OK, Seconds: 2}, trials-2)
				told(&tuner.Outcome{Config: "near the best", Verdict: verdict.OK, Seconds: 0.51}, trials-1)
				told(&tuner.Outcome{Config: "too late", Verdict: verdict.OK, Seconds: 0.52}, trials)
			}
			return nil
		})
	}
	m, err := h.BothWithout(t.Context(), e, Splits[0])
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := m.Chosen(t.Context(), e.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, names string }{
		{ranked[0].Config.String(), "-picks-stencil"}, {"family=gone", "-picks-stencil -picks"},
	} {
		old := NewLive(e)
		old.Found(0.5)
		for _, split := range []string{"stencil", "gone"} {
			p := LivePicks{Split: split, Config: c.first, Seconds: slices.Repeat([]float64{3}, 50)}
			old.Picks = append(old.Picks, p)
		}
		names = nil
		row, err := Picks(t.Context(), PicksRequest{Models: h, Kernel: e, Target: e.Target, Most: 50, Row: old, In: in})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(names, " "); !strings.HasPrefix(text, c.names) {
			t.Fatalf("of a row with %s: %s", c.first, text)
		}
		x := row.Of("stencil")
		if x.Ranked != firstPicks || len(x.Seconds) != firstPicks+2 || row.Runs(x) != firstPicks+2 || row.Best != 0.5 {
			t.Errorf("of a row with %s: %+v", c.first, row)
		}
		if first, gone := x.Seconds[0], row.Of("gone"); c.first == "family=gone" {
			if first != 1 || gone != nil {
				t.Errorf("what another model picked is still there: %+v", row)
			}
		} else if first != 3 || len(gone.Seconds) != 50 {
			t.Errorf("what was measured is lost: %+v", row)
		}
	}
}
