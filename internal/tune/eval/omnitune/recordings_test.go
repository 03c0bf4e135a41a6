package omnitune

import (
	"fmt"
	"math"
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
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// recorded is a kernel that was recorded with the shared configurations, with a time in seconds for each; 0 is a
// failure, and less leaves the trial out.
func recorded(t *testing.T, name string, seconds func(Size, schedule.Config) float64) *predict.Recorded {
	t.Helper()
	k, err := synth.FindKernel(name)
	if err != nil {
		t.Fatal(err)
	}
	p, list := lang.Load(diag.NewSource(name, k.Source([3]int{64, 64, 64}, 1)))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	p.Name = name
	b, list := p.In(arith.Contract).Bind(nil)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := predict.KernelsOf(b, target.OnPaper(emit.CUDA, m, arith.Contract), schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	r := &predict.Recorded{Kernel: kernels[0], Device: "A GPU"}
	for _, c := range predict.Candidates(r.Space, predict.Shared) {
		size, _ := blockOf(r.Space, c)
		if s := seconds(size, c); s >= 0 {
			r.Trials = append(r.Trials, predict.Trial{Config: c, Seconds: s})
		}
	}
	return r
}

var studied = []string{"star-zyx-r1", "star-zyx-r2", "dense-zyx-r1", "dense-yx-r1", "diamond-zyx-r2"}

// A size ran, or is refused where all of its configurations failed; where one was not tried and none ran, nothing is
// known. The fastest configuration tells the time.
func TestFromRecordings(t *testing.T) {
	failing, unknown := Size{32, 8, 1}, Size{64, 4, 1}
	times := func(size Size, c schedule.Config) float64 {
		v := 1e-3 * (1 + math.Abs(math.Log2(float64(size.Columns*size.Rows*size.Planes)/128)))
		if strings.Contains(c.String(), "vec=1") {
			v *= 2
		}
		return v
	}
	var list []*predict.Recorded
	for i, name := range studied {
		list = append(list, recorded(t, name, func(size Size, c schedule.Config) float64 {
			switch {
			case i == 1 && size == failing:
				return 0
			case i == 1 && size == unknown:
				return -1
			}
			return times(size, c)
		}))
	}
	clang, err := toolchain.FindClang()
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromRecordings(t.Context(), list, clang)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromRecordings(t.Context(), list, clang)
	if err != nil || again.Data != s.Data || !strings.HasPrefix(s.Data, "recordings ") {
		t.Errorf("%s, another time %s: %v", s.Data, again.Data, err)
	}
	if len(s.Scenarios) != len(studied) || slices.Contains(s.Features, "device_clock") ||
		!slices.Contains(s.Features, "density_fmul") || !slices.Contains(s.Features, "BorderNorth") {
		t.Fatalf("%d scenarios of %v", len(s.Scenarios), s.Features)
	}
	shared := sharedBy(list)[3]
	for i, x := range s.Scenarios {
		if !x.Judged || !x.Synthetic || x.Dataset != "NZ=64 NY=64 NX=64" || len(x.Features) != len(s.Features) {
			t.Errorf("%+v", x)
		}
		if got := slices.Contains(x.Illegal, failing); got != (i == 1) {
			t.Errorf("%s refuses %v: %v", x.Name, failing, got)
		}
		if got := slices.Contains(x.known(), unknown); got != (i != 1) {
			t.Errorf("of %s something is known at %v: %v", x.Name, unknown, got)
		}
		for k, size := range x.Sizes {
			best := math.Inf(1)
			for _, c := range shared {
				if z, _ := blockOf(list[i].Space, c); z == size && list[i].Space.Has(c) {
					best = min(best, 1000*times(size, c))
				}
			}
			if math.Abs(x.time(k)-best) > 1e-9 {
				t.Errorf("%s at %v: %v ms, not %v", x.Name, size, x.time(k), best)
			}
		}
	}
	if s.Baseline == failing || s.Baseline == unknown || s.Expert == (Size{}) {
		t.Errorf("the baseline is %v, the default %v", s.Baseline, s.Expert)
	}
	for _, split := range RecordedSplits[2:] {
		if lists, err := Validate(t.Context(), s, baselines[1], split); err != nil || len(lists[0]) != len(studied) {
			t.Errorf("%s: %v", split.Name, err)
		}
	}
	if _, err := FromRecordings(t.Context(), nil, clang); err == nil {
		t.Error("no recordings make scenarios")
	}
}

// A configuration that breaks a constraint is refused; one with values that the space does not have is not.
func TestRefusedBySpace(t *testing.T) {
	space := recorded(t, studied[0], func(Size, schedule.Config) float64 { return 1 }).Space
	f := space.Family(recordedFamily)
	broken := 0
	for n := range 2000 {
		i := 0
		c := f.Choose(func(p *schedule.Param) schedule.Value {
			i++
			return p.Values[(n*(2*i+1)+n/7)%len(p.Values)]
		})
		if refusedBySpace(space, c) == space.Has(c) {
			t.Errorf("%v: in the space %v, and refused %v", c, space.Has(c), !space.Has(c))
		}
		if !space.Has(c) {
			broken++
		}
	}
	if broken == 0 || broken == 2000 {
		t.Errorf("%d of 2,000 configurations break a constraint", broken)
	}
	other, err := schedule.ParseConfig("family=tile,block=3x5x7")
	if err != nil {
		t.Fatal(err)
	}
	if refusedBySpace(space, other) {
		t.Error("a block that nobody tries is refused")
	}
}

// judged is a scenario that ran the first of the sizes above, and refuses others.
func judged(illegal []Size, times ...float64) *Scenario {
	x := timed(times...)
	x.Judged, x.Illegal = true, illegal
	return x
}

// What is refused is asked for first if it is thought to be faster, and counts; what is not known does not.
func TestRefused(t *testing.T) {
	x := judged(made[2:4], 8, 4)
	for name, c := range map[string]struct {
		ranker   Ranker
		refused  int
		validity string
	}{
		"legal first":     {told(1, 9, 2, 3), 0, "1"},
		"two refused":     {told(1, 3, 8, 9), 2, "0"},
		"one refused":     {told(5, 9, 2, 10), 1, "0"},
		"hybrid, agrees":  {&hybrid{times: told(9, 4, 3, 10), speedUps: told(1, 2, 1, 1)}, 1, "0"},
		"hybrid, goes on": {&hybrid{times: told(9, 1, 3, 0.5), speedUps: told(0.1, 2, 3, 1)}, 2, "0"},
	} {
		got := choose(c.ranker, x)
		p := Pick{Scenario: x, Size: got.size, Refused: got.refused, Unknown: got.unknown}
		if v, ok := validity(p); got.refused != c.refused || !ok || fmt.Sprint(v) != c.validity {
			t.Errorf("%s: %+v, validity %v %v", name, got, v, ok)
		}
	}
	classes := []Size{human, made[2], made[3], {512, 1, 1}}
	for class, want := range []choice{
		{size: 1, open: true}, {size: 1, open: true, fallback: true, refused: 1},
		{size: 0, open: true, fallback: true, refused: 1},
		{size: 1, open: true, fallback: true, unknown: true, refused: 1},
	} {
		r := &classRanker{classifier: always{class, len(classes)}, sizes: classes, fallback: fallbacks[2].make(nil)}
		if got := choose(r, x); got != want {
			t.Errorf("class %v: %+v, not %+v", classes[class], got, want)
		}
	}
	if _, ok := validity(Pick{Scenario: x, Unknown: true, Fallback: true}); ok {
		t.Error("what is not known counts as valid or not")
	}
}

// Sizes that no example refuses come before faster ones that some do.
func TestSafeFallback(t *testing.T) {
	from := []*Scenario{judged(nil, 8, 4, 2), judged([]Size{made[2]}, 8, 4)}
	score := baselineFallback(from)
	if !(score(nil, Size{}, human) > score(nil, Size{}, made[2])) {
		t.Error("a size that was refused is taken for safe")
	}
	s := &Suite{Scenarios: []Scenario{*from[0], *from[1]}}
	if got := s.safest(); got != human {
		t.Errorf("the baseline is %v", got)
	}
}

// Drawing at random, too, what is refused is asked for once, and each legal size comes up.
func TestRandomRefusals(t *testing.T) {
	picks := []Pick{{Scenario: judged(made[2:4], 8, 4)}}
	for first, want := range []Pick{{Size: 0}, {Size: 1}, {Size: 1, Refused: 1}, {Size: 1, Refused: 1}} {
		draws, among := []int{first, 1}, []int{}
		got := atRandom(picks, func(n int) int {
			among = append(among, n)
			return draws[len(among)-1]
		})[0]
		if got.Size != want.Size || got.Refused != want.Refused ||
			!slices.Equal(among, []int{4, 3}[:1+want.Refused]) {
			t.Errorf("%d first: %+v, drawn among %v", first, got, among)
		}
	}
}

// The table of recordings says what is refused, and has no figures of other devices.
func TestWriteRecordings(t *testing.T) {
	s := &Suite{Splits: RecordedSplits, Features: []string{"x"}, Baseline: made[3], Expert: human, Data: "recordings a"}
	for i := range 12 {
		x := judged([]Size{made[2]}, 8, 4)
		x.Sizes = []Size{human, made[3]}
		if i/2%2 == 0 {
			x.Speeds = []float64{1, 0.5}
		}
		x.Name, x.Kernel, x.Pattern = fmt.Sprint("k", i), i, fmt.Sprint("p", i%3)
		x.Features, x.Synthetic = []float64{float64(i)}, i%2 == 0
		s.Scenarios = append(s.Scenarios, *x)
	}
	rows, err := Run(t.Context(), s, s.Splits[1:], "", &strings.Builder{}, nil, func([]Row) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	Write(&b, s, rows)
	for _, want := range []string{
		"| pattern of 12 | table |", "Without one stencil at a time", " sizes refused |", "speed-up over the default",
		"12 scenarios, 0 left out without a shared configuration; 24 sizes ran, and 12 (33.3 %) are refused",
		"The baseline is 8x8, the default 32x4",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not written: %s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "thesis") {
		t.Error("figures of other devices are beside ours")
	}
}
