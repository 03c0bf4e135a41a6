package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// carried reads a recording that the project carries.
func carried(t *testing.T, device string, d *Definition) *Recording {
	t.Helper()
	r, err := ReadFile("testdata/convolution_milo_"+device+".json.gz", d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func definition(t *testing.T) *Definition {
	t.Helper()
	d, err := ReadDefinitionFile("testdata/convolution_milo.json")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDefinition holds the definition to what was recorded: every configuration
// of the space, and no other.
func TestDefinition(t *testing.T) {
	d := definition(t)
	for _, device := range []string{"A4000", "A6000"} {
		r := carried(t, device, d)
		texts := map[string]bool{}
		for i := range r.Trials {
			texts[r.Text(r.Trials[i].Config)] = true
		}
		n := 0
		for config, err := range d.All() {
			if err != nil {
				t.Fatal(err)
			}
			text := (&Recording{Params: d.Params}).Text(config)
			if n++; !texts[text] {
				t.Fatalf("%s is not recorded on %s", text, device)
			}
		}
		if n != len(r.Trials) {
			t.Errorf("%s: %d configurations are defined, %d recorded", device, n, len(r.Trials))
		}
		s := NewSpace(r)
		if got, want := s.Text(s.Starts()[0]),
			"block_size_x=16,block_size_y=16,tile_size_x=1,tile_size_y=1,read_only=0,use_padding=1,"+
				"use_shmem=1,use_cmem=1,filter_height=15,filter_width=15"; got != want {
			t.Errorf("the start is %s", got)
		}
	}
}

func TestDefinitionErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "byte 0: unexpected end of JSON input",
		`{"a": `:                      "byte 6: unexpected end of JSON input",
		`{"tune_params_keys": ["b"]}`: `no definition of a space: it has no "ConfigurationSpace" with "TuningParameters"`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, 2"}]}}`:                                                           `a: column 6 of "[1, 2": "]" is expected, not the end`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[1, b]"}]}}`:                                                          `a: column 5 of "[1, b]": nothing is called b`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "3"}]}}`:                                                               "a: the values are no list of 1 to 32768",
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": []}]}}`:                                                                "a: the values are no list of 1 to 32768",
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "[[1]]"}]}}`:                                                           "a: [1] is no value; numbers, texts and truths are",
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": [1]}, {"Name": "a", "Values": [1]}]}}`:                                 `two parameters are called "a", or one has no name`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": [1]}], "Conditions": [{"Expression": "a >"}]}}`:                        `condition 1: column 4 of "a >": a value is expected, not the end`,
		`{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": [1]}], "Conditions": [{"Expression": "a > 0"}, {"Expression": "b"}]}}`: `condition 2: "b": no parameter is called b`,
	} {
		if _, err := ReadDefinition(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestDefinitionAndRecording puts definitions to recordings that they do not fit.
func TestDefinitionAndRecording(t *testing.T) {
	for _, c := range []struct{ params, condition, want string }{
		{`{"Name": "b", "Values": "[16, 32, 64]", "Default": 32}, {"Name": "mode", "Values": "['slow', 'fast']"}`,
			"b > 16 or mode == 'slow' or mode == 'fast'", ""},
		{`{"Name": "b", "Values": "[16, 32, 64]"}, {"Name": "mode", "Values": ["slow", "fast"]}`, "b > 16",
			"b=16,mode=slow is recorded, though \"b > 16\" does not hold"},
		{`{"Name": "b", "Values": "[16, 32]"}, {"Name": "mode", "Values": ["slow", "fast"]}`, "b > 16",
			"b=64 is recorded, the definition has no such value"},
		{`{"Name": "b", "Values": "[16, 32, 64]"}`, "b > 0", "2 parameters are recorded, the definition has 1"},
		{`{"Name": "c", "Values": "[16, 32, 64]"}`, "c > 0",
			"the definition has a parameter c, the recording has none"},
		{`{"Name": "b", "Values": "[16, 32, 64]"}, {"Name": "mode", "Values": ["slow", "fast"]}`, "b / 0 > 16",
			`column 3 of "b / 0 > 16": 16 / 0: division by zero`},
	} {
		d, err := ReadDefinition(strings.NewReader(
			fmt.Sprintf(`{"ConfigurationSpace": {"TuningParameters": [%s], "Conditions": [{"Expression": %q}]}}`,
				c.params, c.condition)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(strings.NewReader(cacheHead+cacheBody+"}}"), d)
		if err == nil && c.want == "" {
			if r.Params[0].Default != 1 {
				t.Errorf("the default of b is number %d", r.Params[0].Default)
			}
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestBaseline holds the methodology to known numbers.
func TestBaseline(t *testing.T) {
	for device, want := range map[string]int{"A4000": 323, "A6000": 388} {
		y, err := NewBaseline(carried(t, device, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := y.Evaluations(0.95); got != want {
			t.Errorf("%s: %d evaluations, want %d", device, got, want)
		}
		if y.Budget() != 1.1*y.Time(0.95) || len(y.window) != 1000 || y.window[0] != y.Time(0.01) ||
			math.Abs(y.window[999]/y.Time(0.95)-1) > 1e-12 {
			t.Errorf("%s: the window goes from %v to %v", device, y.window[0], y.window[999])
		}
	}
}

// flat is a recording of times in seconds, each of which cost one second.
func flat(times ...float64) *Recording {
	r := &Recording{Name: "flat", Params: []Param{{Name: "a", Default: -1}}}
	for i, s := range times {
		r.Params[0].Values = append(r.Params[0].Values, Whole(int64(i)))
		r.Trials = append(r.Trials, Trial{Config: []uint16{uint16(i)}, Seconds: s,
			Cost: Cost{Compile: 0.75, Search: 0.25}})
	}
	return r
}

// TestByHand scores a space of nine that was worked out by hand. Its median is 5
// and its best 1: at 0.95 of the way lies 1.2, so i is that of the best, 8, less
// one: ceil(7/3) = 3 evaluations; at 0.01 lies 4.96, so i = 5, ceil(5/5) = 1.
func TestByHand(t *testing.T) {
	r := flat(9, 8, 7, 6, 5, 4, 3, 2, 1)
	y, err := NewBaseline(r)
	if err != nil {
		t.Fatal(err)
	}
	if y.Evaluations(0.95) != 3 || y.Evaluations(0.01) != 1 || y.Evaluations(1) != 4 {
		t.Errorf("%d, %d, %d evaluations", y.Evaluations(0.95), y.Evaluations(0.01), y.Evaluations(1))
	}
	// Of M draws the best is expected at rank round(10 M / (M + 1)): 5, 7, 8.
	for at, want := range map[float64]float64{0: 4, 1.49: 4, 1.51: 2, 2.4: 2, 2.6: 1, 100: 1} {
		if got := y.Random(at); got != want {
			t.Errorf("random search has %v at %v, want %v", got, at, want)
		}
	}
	// One run that finds 3 after one second and 1 after 2.5.
	run := Run{Steps: []Step{{1, 6}, {2.5, 8}}}
	s := y.score(r, []Run{run})
	// Ranks are 2 at 1 and 0 at 2.5, on a line between: the value is 3 up to
	// rank 1.5, at 1.375; 2 up to rank 0.5, at 2.125; then 1. Random search has 4
	// up to 1.5, 2 up to 2.5 and then 1. So P is 1/3, 2/3, 0, 1 and, where random
	// search has the best, 0.
	want := 0.0
	for _, at := range y.window {
		switch {
		case at < 1.375:
			want += 1. / 3
		case at < 1.5:
			want += 2. / 3
		case at >= 2.125 && at < 2.5:
			want += 1
		}
	}
	if math.Abs(s.Score-want/1000) > 1e-9 || s.Low != s.Score || s.High != s.Score {
		t.Errorf("score %v from %v to %v, want %v", s.Score, s.Low, s.High, want/1000)
	}
}

func TestBaselineErrors(t *testing.T) {
	failed := flat(1, 2, 3)
	failed.Trials[0].Failure, failed.Trials[1].Failure = "compile", "compile"
	free := flat(3, 2, 1)
	for i := range free.Trials {
		free.Trials[i].Cost = Cost{}
	}
	for want, r := range map[string]*Recording{
		"1 valid configuration: there is nothing to search": failed,
		"at least half of the 3 valid configurations are as fast as the best: " +
			"there is nothing to search": flat(1, 1, 2),
		"the recording says nothing of what an evaluation takes (compile, run and other times are all 0)": free,
		"random search finds the best of the 2 valid configurations at once: there is nothing to search":  flat(1, 2),
	} {
		if _, err := NewBaseline(r); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// scripted asks for configurations by number.
type scripted struct {
	space *Space
	order []int
	told  []search.Trial
}

func (s *scripted) Ask(n int) []search.Point {
	var out []search.Point
	for range min(n, len(s.order)) {
		out = append(out, s.space.point(s.order[0]))
		s.order = s.order[1:]
	}
	return out
}
func (s *scripted) Tell(t search.Trial)       { s.told = append(s.told, t) }
func (s *scripted) Likely(int) []search.Point { return nil }

// TestSearch follows the simulated clock.
func TestSearch(t *testing.T) {
	r := flat(5, 4, 3, 2, 1)
	r.Trials[1].Failure = "runtime"
	r.Trials[2].Cost.Compile = 2
	space := NewSpace(r)
	try := func(budget float64, clock Clock, order ...int) (Run, *scripted) {
		s := &scripted{space: space, order: order}
		run, err := Search(context.Background(), space, func(search.Problem) (search.Strategy, error) { return s, nil },
			1, budget, clock)
		if err != nil {
			t.Fatal(err)
		}
		return run, s
	}
	run, s := try(100, nil, 0, 1, 0, 2, 3)
	if want := []Step{{1, 0}, {2, 1}, {4.25, 2}, {5.25, 3}}; !slices.Equal(run.Steps, want) {
		t.Errorf("%v", run.Steps)
	}
	if s.told[1].Verdict != verdict.Launch || s.told[1].Seconds != 0 || s.told[1].Cost != 1 || s.told[2].Cost != 0 ||
		s.told[0].Seconds != 5 {
		t.Errorf("%+v", s.told)
	}
	if run, _ := try(2.5, nil, 0, 1, 2, 3, 4); len(run.Steps) != 3 {
		t.Errorf("%d trials in a budget for 3", len(run.Steps))
	}
	if _, s := try(100, nil, slices.Repeat([]int{0}, 5000)...); len(s.told) != 1+maxRepeats {
		t.Errorf("a strategy that only repeats was told of %d trials", len(s.told))
	}
	// Each look at the clock takes a tenth of a second: being made, Ask and Tell
	// take two looks each.
	var now time.Duration
	run, _ = try(100, func() time.Duration { now += 100 * time.Millisecond; return now }, 0, 1)
	if math.Abs(run.Own-0.6) > 1e-9 || math.Abs(run.Steps[1].Time-2.4) > 1e-9 {
		t.Errorf("own time %v, steps %v", run.Own, run.Steps)
	}
	stranger := func(search.Problem) (search.Strategy, error) {
		return &scripted{space: NewSpace(flat(slices.Repeat([]float64{1}, 9)...)), order: []int{7}}, nil
	}
	if _, err := Search(context.Background(), space, stranger, 1, 100, nil); err == nil ||
		!strings.Contains(err.Error(), "which is not in the space") {
		t.Errorf("%v", err)
	}
}

// cancelling ends the context after so many trials.
type cancelling struct {
	scripted
	after  int
	cancel func()
}

func (s *cancelling) Tell(t search.Trial) {
	s.scripted.Tell(t)
	if len(s.told) == s.after {
		s.cancel()
	}
}

// A search stops at the trial during which it is interrupted, and no other is
// begun.
func TestInterruptedSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	space := NewSpace(flat(5, 4, 3, 2, 1))
	var mutex sync.Mutex
	made, told := 0, 0
	var list []*cancelling
	make := func(p search.Problem) (search.Strategy, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if p.Context != ctx {
			t.Error("a strategy does not see when nobody waits any more")
		}
		made++
		s := &cancelling{scripted{space: space, order: []int{0, 1, 2, 3, 4}}, 2, cancel}
		list = append(list, s)
		return s, nil
	}
	runs := slices.Repeat([]Run{{}}, 500)
	if err := searchAll(ctx, space, make, runs, 1e9, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	for _, s := range list {
		told += len(s.told)
		if len(s.told) > 2 {
			t.Errorf("%d trials after the interruption", len(s.told)-2)
		}
	}
	if workers := runtime.GOMAXPROCS(0); made > workers || told > 2*workers {
		t.Errorf("%d searches and %d trials by %d workers", made, told, workers)
	}
}

func strategy(name string) Maker {
	return func(p search.Problem) (search.Strategy, error) { return search.New(name, p) }
}

// TestRandomScoresNothing: random search against the expectation of itself.
func TestRandomScoresNothing(t *testing.T) {
	for _, device := range []string{"A4000", "A6000"} {
		s, err := Evaluate(context.Background(), carried(t, device, nil), strategy("random"), Options{Seeds: 100})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.Score) > 0.15 || s.Low > s.Score || s.High < s.Score || s.High-s.Low > 0.4 {
			t.Errorf("%s: %v (%v to %v)", device, s.Score, s.Low, s.High)
		}
	}
}

// TestEvaluate: the optimum at once scores 1, the worst less than nothing; the
// same seeds score the same.
func TestEvaluate(t *testing.T) {
	r := carried(t, "A4000", nil)
	byTime := make([]int, len(r.Trials))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortFunc(byTime, func(a, b int) int {
		key := func(i int) float64 {
			if r.Trials[i].Failure != "" {
				return math.Inf(1)
			}
			return r.Trials[i].Seconds
		}
		return int(math.Copysign(1, key(a)-key(b)))
	})
	inOrder := func(order []int) Maker {
		return func(p search.Problem) (search.Strategy, error) {
			return &scripted{space: p.Space.(*Space), order: slices.Clone(order)}, nil
		}
	}
	best, err := Evaluate(context.Background(), r, inOrder(byTime), Options{Seeds: 2})
	if err != nil || best.Score != 1 || best.Low != 1 || best.High != 1 {
		t.Errorf("%+v %v", best.Score, err)
	}
	slices.Reverse(byTime)
	worst, err := Evaluate(context.Background(), r, inOrder(byTime), Options{Seeds: 2})
	if err != nil || worst.Score > -1 {
		t.Errorf("%+v %v", worst.Score, err)
	}
	m := Mean([]*Score{best, worst})
	if math.Abs(m.Score-(best.Score+worst.Score)/2) > 1e-9 {
		t.Errorf("the mean of %v and %v is %v", best.Score, worst.Score, m.Score)
	}
	a, err := Evaluate(context.Background(), r, strategy("genetic"), Options{Seeds: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Evaluate(context.Background(), r, strategy("genetic"), Options{Seeds: 3})
	if err != nil || a.Score != b.Score || a.Low != b.Low || !slices.Equal(a.Curve, b.Curve) {
		t.Errorf("%v and %v: %v", a.Score, b.Score, err)
	}
	if _, err := Evaluate(context.Background(), r, strategy("genetic"), Options{}); err == nil ||
		err.Error() != "0 seeds; at least one is needed" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Evaluate(ctx, r, strategy("random"), Options{Seeds: 3}); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// TestSpaceKeepsItsWord checks what strategies rely on, in a space with lists
// and with parameters that not all configurations have.
func TestSpaceKeepsItsWord(t *testing.T) {
	r, err := readText(t4Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Recording{r, carried(t, "A4000", nil)} {
		s := NewSpace(r)
		n := 0
		for p := range s.All() {
			i, ok := s.Trial(p)
			if q, fits := s.Complete(p); !ok || i != n || !fits || !slices.Equal(p, q) ||
				s.Text(p) != r.Text(r.Trials[i].Config) {
				t.Fatalf("%v: %d, %v", p, i, ok)
			}
			n++
		}
		if s.Count().Int64() != int64(n) {
			t.Errorf("%v points of %d", s.Count(), n)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 100 {
			p := s.Draw(rng)
			want := slices.Clone(p)
			for i := range p {
				if rng.IntN(2) == 0 {
					p[i] = search.Free
				}
			}
			q, ok := s.Complete(p)
			if !ok || !s.Legal(q) {
				t.Fatalf("%v of %v was completed to %v", p, want, q)
			}
			for i := range p {
				if p[i] >= 0 && p[i] != q[i] {
					t.Fatalf("%v was completed to %v", p, q)
				}
			}
		}
		if p := make(search.Point, len(s.Params())); s.Legal(p[1:]) {
			t.Error("a point with too few values is legal")
		}
	}
	var names []string
	for _, p := range NewSpace(r).Params() {
		names = append(names, fmt.Sprintf("%s/%s/%s%v", p.Name, p.Of, p.Axis, p.Values))
	}
	want := "family/family/[a b] block.x/block/x[16 32] block.y/block/y[4 8] block.z/block/z[4] vec/vec/x[2] " +
		"depth/depth/[3 4]"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOwnSpaces lets auto search recordings that are made up, and bounds its
// score from below far under what it reaches.
func TestOwnSpaces(t *testing.T) {
	for _, r := range []*Recording{pretended(11), tables(2)} {
		if err := r.Verify(); err != nil {
			t.Fatal(err)
		}
		s, err := Evaluate(context.Background(), r, strategy("auto"), Options{Seeds: 4})
		if err != nil {
			t.Fatal(err)
		}
		if s.Score < 0.5 {
			t.Errorf("%s: %.3f", r.Name, s.Score)
		}
	}
}

// impatient ends a context when it has been told of some trials.
type impatient struct {
	search.Strategy
	cancel context.CancelFunc
	left   int
	asked  int
}

func (s *impatient) Ask(n int) []search.Point {
	s.asked++
	return s.Strategy.Ask(n)
}

func (s *impatient) Tell(t search.Trial) {
	s.Strategy.Tell(t)
	if s.left--; s.left == 0 {
		s.cancel()
	}
}

// TestSearchEndsWithItsContext: a search that is given up ends before its next trial.
func TestSearchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var s *impatient
	_, err := Search(ctx, NewSpace(flat(5, 4, 3, 2, 1)), func(p search.Problem) (search.Strategy, error) {
		inner, err := search.New("random", p)
		s = &impatient{Strategy: inner, cancel: cancel, left: 2}
		return s, err
	}, 1, 100, nil)
	if err != context.Canceled || s.asked != 2 {
		t.Errorf("%v after %d trials, want %v after 2", err, s.asked, context.Canceled)
	}
}
