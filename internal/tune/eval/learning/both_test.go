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
	first := corrected(t.Context(), m, e, ranked)
	if !slices.EqualFunc(first[:predict.Leading], ranked[:predict.Leading], equal) || len(first) != len(ranked) {
		t.Error("the first picks are others")
	}
	rest := slices.DeleteFunc(slices.Clone(ranked), func(x predict.Ranked) bool {
		return slices.ContainsFunc(first[:predict.AutoPrior], func(y predict.Ranked) bool { return equal(x, y) })
	})
	if !slices.EqualFunc(first[predict.AutoPrior:], rest, equal) {
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
	others := corrected(t.Context(), m, &slow, ranked)
	if slices.EqualFunc(first[:predict.AutoPrior], others[:predict.AutoPrior], equal) {
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

// Each model picks until as many are there as are judged and one is near the best, and the best is what a search of the
// kernel found, too.
func TestPicksAfterSearches(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	e := h.All[0]
	var names []string
	const prior, most = 7, judgedPicks + 1
	row, err := Picks(t.Context(), PicksRequest{
		Models: h, Kernel: e, Target: e.Target, Search: 4, Prior: prior, Most: most,
		In: func(ctx context.Context, name string, work func(tuner.Try) error) error {
			names = append(names, name)
			return work(func(trials int, priorOf tuner.PriorOf, told func(*tuner.Outcome, int) bool) error {
				if priorOf == nil {
					told(&tuner.Outcome{Config: "found", Verdict: verdict.OK, Seconds: 0.5}, 3)
					return nil
				}
				known, err := priorOf(ctx, e.Call, e.Space)
				if err != nil {
					return err
				}
				for i, c := range known.First {
					if told(&tuner.Outcome{Config: c.String(), Verdict: verdict.OK, Seconds: 0.55}, i+1) {
						t.Error("fewer picks than are judged are enough")
					}
				}
				if strings.HasSuffix(name, "-recorded") {
					if trials != againAsBests || known.Expected != nil || len(known.First) != againAsBests {
						t.Errorf("%d of the recordings are measured again, and %+v", trials, known)
					}
					return nil
				}
				if strings.HasSuffix(name, "-usual") {
					if trials != 1 || len(known.First) != 1 || !known.First[0].Equal(e.Usual) {
						t.Errorf("%d trials of %v are made of the usual plan", trials, known.First)
					}
					return nil
				}
				if known.Predict == nil || !known.Candidates[0].Equal(known.First[0]) ||
					len(known.First) != predict.Leading || known.Expected.Most != prior-predict.Leading {
					t.Errorf("a search does not know the ranking: %+v", known)
				}
				if !strings.Contains(name, "-picks-") {
					return nil
				}
				if trials != most {
					t.Errorf("%d trials are made", trials)
				}
				for i := predict.Leading; i < 3; i++ { // what the first of the ranking point to
					c := known.Expected.Configs[i].String()
					if told(&tuner.Outcome{Config: c, Verdict: verdict.OK, Seconds: 0.55}, i+1) {
						t.Error("fewer picks than are judged are enough")
					}
				}
				if told(&tuner.Outcome{Config: "refused", Verdict: verdict.Crash}, 4) {
					t.Error("four picks are enough")
				}
				if !told(&tuner.Outcome{Config: "slow", Verdict: verdict.OK, Seconds: 3}, 5) {
					t.Error("five picks are not enough, of which one is near the best")
				}
				told(&tuner.Outcome{Config: "too late", Verdict: verdict.OK, Seconds: 0.52}, 6)
				return nil
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, ending := range []string{"-auto", "-prior", "-recorded", "-usual", "-picks-stencil",
		"-picks-pattern"} {
		if len(names) != 6 || !strings.HasSuffix(names[i], ending) {
			t.Fatalf("%v", names)
		}
	}
	if row.Best != 0.5 || row.Recorded != 0.55 || row.Usual != 0.55 || len(row.Searches) != 2 ||
		row.Searches[0].Trials != 3 || row.Searches[1].Trials != predict.Leading {
		t.Errorf("%+v", row)
	}
	for _, s := range Splits[:2] { // synthetic kernels are not left out as a suite
		p := row.Of(s.Name)
		if p == nil || !slices.Equal(p.Seconds, []float64{0.55, 0.55, 0.55, 0, 3}) || p.Ranked != predict.Leading ||
			row.Runs(p) != 1 || p.Lowered != predict.LoweredCandidates || p.Candidates == 0 || p.Config == "" {
			t.Errorf("without a %s: %+v", s.Name, p)
		}
	}
	if len(row.Picks) != 2 {
		t.Errorf("%d models picked", len(row.Picks))
	}
}

// Where the first of a ranking are refused, a search follows it until one runs, and a run takes the plan of that one.
func TestPicksRefused(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	for _, c := range []struct {
		seconds []float64
		ranked  int
		first   float64
	}{{[]float64{0, 0, 2, 2, 1}, 3, 0.5}, {[]float64{0, 0, 0, 0, 1}, 5, 0}, {[]float64{1.25, 0, 2, 1, 1}, 1, 0.8}} {
		e := h.All[0]
		old := NewLive(e)
		old.Recorded, old.Usual = 1, 1
		old.Found(1)
		row, err := Picks(t.Context(), PicksRequest{
			Models: h, Kernel: e, Target: e.Target, Prior: 10, Most: judgedPicks, Row: old,
			In: func(ctx context.Context, name string, work func(tuner.Try) error) error {
				return work(func(trials int, priorOf tuner.PriorOf, told func(*tuner.Outcome, int) bool) error {
					for i, s := range c.seconds {
						o := &tuner.Outcome{Verdict: verdict.OK, Seconds: s}
						if s == 0 {
							o.Verdict = verdict.Crash
						}
						if told(o, i+1) != (i == judgedPicks-1) {
							t.Errorf("%s ends after %d trials", name, i+1)
						}
					}
					return nil
				})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range Splits[:2] {
			p := row.Of(s.Name)
			if p == nil || !slices.Equal(p.Seconds, c.seconds) || p.Ranked != c.ranked {
				t.Fatalf("without a %s: %+v", s.Name, p)
			}
			if got := row.first(p); got != c.first {
				t.Errorf("a run without a %s has %g of the best, not %g", s.Name, got, c.first)
			}
		}
	}
}

// Where one search finds what is so fast that the picks of another model are near the best no more, that one picks once
// more. Picks of a row that are finished stay, and so do those of a part that is not left out any more; others are made
// anew.
func TestPicksGoOn(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	e := h.All[0]
	old := func(stencil ...float64) *Live {
		l := NewLive(e)
		l.Recorded, l.Usual = 1, 2
		l.Found(1)
		for split, seconds := range map[string][]float64{"stencil": stencil, "gone": {3, 3, 3, 3, 3}} {
			if len(seconds) > 0 {
				l.Picks = append(l.Picks, LivePicks{Split: split, Config: "family=old", Seconds: seconds})
			}
		}
		slices.SortFunc(l.Picks, func(a, b LivePicks) int { return cmp.Compare(a.Split, b.Split) })
		return l
	}
	for _, c := range []struct {
		name           string
		old            *Live
		fast           float64 // of the first pick without the pattern
		names          string
		first, pattern float64 // of the stencil's picks, and of the pattern's
	}{
		{"new", NewLive(e), 1, "recorded usual stencil pattern", 1, 1},
		{"a row that is finished", old(1, 2, 2, 2, 2), 1, "pattern", 1, 1},
		{"a row of too few picks", old(1, 2), 1, "stencil pattern", 1, 1},
		{"a row of slow picks", old(2, 2, 2, 2, 2), 1, "stencil pattern", 1, 1},
		{"what is faster is found later", old(1, 2, 2, 2, 2), 0.5, "pattern stencil", 1, 0.5},
	} {
		var names []string
		row, err := Picks(t.Context(), PicksRequest{
			Models: h, Kernel: e, Target: e.Target, Prior: 10, Most: 8, Row: c.old,
			In: func(ctx context.Context, name string, work func(tuner.Try) error) error {
				name = name[strings.LastIndex(name, "-")+1:]
				names = append(names, name)
				return work(func(trials int, prior tuner.PriorOf, told func(*tuner.Outcome, int) bool) error {
					if _, err := prior(ctx, e.Call, e.Space); err != nil {
						return err
					}
					for i := range trials {
						seconds := 1 + float64(i)
						if i == 0 && name == "pattern" {
							seconds = c.fast
						}
						if told(&tuner.Outcome{Config: "c", Verdict: verdict.OK, Seconds: seconds}, i+1) {
							break
						}
					}
					return nil
				})
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(names, " "); text != c.names {
			t.Errorf("%s: picks are measured without %s, not without %s", c.name, text, c.names)
		}
		x, y := row.Of("stencil"), row.Of("pattern")
		if x.Seconds[0] != c.first || y.Seconds[0] != c.pattern || row.Best != min(1, c.pattern) {
			t.Errorf("%s: %+v", c.name, row)
		}
		if again := strings.Contains(c.names, "stencil"); again != (x.Config != "family=old") ||
			again && c.fast < 1 && len(x.Seconds) != 8 {
			t.Errorf("%s: without the stencil %+v", c.name, x)
		}
		if gone := row.Of("gone"); c.name != "new" && (gone == nil || len(gone.Seconds) != 5) {
			t.Errorf("%s: what was measured is lost: %+v", c.name, row)
		}
	}
}
