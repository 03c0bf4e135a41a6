package tuner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

const cube = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
stencil seven (out, in) {
  out[k][j][i] = 0.4*in[k][j][i] + 0.1*(in[k][j][i-1] + in[k][j][i+1] + in[k][j-1][i] + in[k][j+1][i] + in[k-1][j][i] + in[k+1][j][i]);
}
iterate 10 { seven (next, u); swap (next, u); }
`

// wideCube has cells of a long reach: tiles of a thread with many rows do not fit its registers.
const wideCube = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
stencil wide (out, in) {
  out[k][j][i] = 0.4*in[k][j][i] + sum (r in 1..4) (0.1*(in[k][j][i-r] + in[k][j][i+r] + in[k][j-r][i] + in[k][j+r][i]
    + in[k-r][j][i] + in[k+r][j][i]));
}
iterate 10 { wide (next, u); swap (next, u); }
`

// gpuLab is a scripted Lab that is taken for a GPU.
type gpuLab struct {
	*scripted
	about measure.About
}

func (g *gpuLab) About() measure.About { return g.about }

// gpu returns a Lab with the limits of an H200, by a name that no description has.
func gpu(t testing.TB, s *scripted) *gpuLab {
	t.Helper()
	g := h200(t, s)
	g.about.Target.Machine.Name = "some GPU"
	return g
}

// h200 returns a Lab that is taken for an H200.
func h200(t testing.TB, s *scripted) *gpuLab {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	a := s.About()
	a.Target = target.OnPaper(emit.CUDA, m, arith.Contract)
	return &gpuLab{s, a}
}

// kernelOnGPU returns a program of one kernel as it is tuned on a GPU, and what
// its kernel may be.
func kernelOnGPU(t testing.TB, source string) (*subject, lower.Choice) {
	t.Helper()
	b := program(t, source)
	s, err := newSubject(b, gpu(t, newScripted(t, b, smooth)), false)
	if err != nil {
		t.Fatal(err)
	}
	choices, err := s.choices(schedule.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	return s, choices[0]
}

// The estimate orders and refuses nothing: what it puts off for its registers is
// lowered as all else is, and only threads and shared memory, which the text tells
// exactly, are a verdict.
func TestEstimateRefusesNothing(t *testing.T) {
	decides(t)
	s, choice := kernelOnGPU(t, wideCube)
	var err error
	with := func(c schedule.Config) schedule.Plan {
		k := choice.Kernel
		k.Config = c
		return schedule.Plan{Kernels: []schedule.Kernel{k}}
	}
	e := newModel(s.calls[0], choice.Space)
	e.Fit(func(c schedule.Config) (float64, bool) { return s.calls[0].needs(with(c)) })
	// What parts of statements that wait take of registers is not estimated.
	if choice.Space, err = choice.Space.Limit("retime=no"); err != nil {
		t.Fatal(err)
	}
	registers, err := choice.Space.Limit("rows>=16")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := choice.Space.Fix("stages", schedule.Int(3))
	if err != nil {
		t.Fatal(err)
	}
	var spilling, later, refused int
	usual, _ := e.Estimate(choice.Config)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range slices.Concat(choice.Space.Sample(rng, 20), registers.Sample(rng, 20), shared.Sample(rng, 20)) {
		time, soon := e.Estimate(c)
		if !(time > 0) {
			t.Errorf("%s is estimated to take %g", c, time)
		}
		v, err := s.calls[0].lowered(s.calls[0].bound, with(c))
		switch x, ok := excess(err); {
		case ok && x.What != "threads a block" && x.What != "bytes of shared memory a block":
			t.Errorf("%s: %v", c, err)
		case ok:
			refused++
		case err != nil:
			t.Errorf("%s: %v", c, err)
		case v.registers > lower.Spilling*255:
			spilling++
			if !soon || time > usual {
				later++
			}
		}
	}
	if spilling < 3 || later < spilling || refused == 0 {
		t.Errorf("%d are refused; %d are sure to spill, %d of them are for later", refused, spilling, later)
	}
}

// Nothing is known of processors.
func TestNoEstimate(t *testing.T) {
	if newModel(&tunedCall{subject: &subject{about: (&scripted{}).About()}}, schedule.Space{}) != nil {
		t.Error("a processor has a model")
	}
}

// What a model predicts is what a search is told to estimate, and the seeds are no points to begin with then: they were
// ranked with all others. What is to be tried first and what is promising are points of the search.
func TestEstimatesOfModel(t *testing.T) {
	s, choice := kernelOnGPU(t, cube)
	fast := choice.Space.Sample(rand.New(rand.NewPCG(1, 1)), 3)
	prior := Prior{First: fast[:1], Candidates: fast, Predict: func(c schedule.Config) float64 {
		if i := slices.IndexFunc(fast, c.Equal); i >= 0 {
			return 0.5 + 0.1*float64(i)
		}
		return 0
	}}
	k := &kernelSearch{tuning: &tuning{subject: s, opts: Options{}}, call: s.calls[0], space: search.Of(choice.Space),
		prior: prior}
	seeds := len(choice.Space.SeedConfigs())
	if n := len(k.good()); n != seeds {
		t.Errorf("one pick takes the place of %d seeds", seeds-n)
	}
	k.prior.First = slices.Repeat(fast[:1], seeds)
	estimate := k.estimates()
	for i, p := range k.points(fast) {
		if time, soon := estimate(p); !soon || time != 1/(0.5+0.1*float64(i)) {
			t.Errorf("%s is estimated to take %g, %v", fast[i], time, soon)
		}
	}
	other, err := k.space.Point(choice.Config)
	if err != nil {
		t.Fatal(err)
	}
	if time, soon := estimate(other); !soon || time != 1/leastPredicted {
		t.Errorf("what has no speed is estimated to take %g, %v", time, soon)
	}
	if n := len(k.good()); n > 0 {
		t.Errorf("%d seeds are points to begin with", n)
	}
	if k.opts.Strategy = "local"; len(k.good()) != seeds {
		t.Error("a strategy that knows no predictions has no seeds")
	}
	k.opts.Strategy = ""
	if err := k.setStrategy(t.Context(), estimate, 50); err != nil {
		t.Fatal(err)
	}
	if first := k.strategy.Ask(5); len(first) != 1 || k.space.Text(first[0]) != k.space.Text(k.points(fast[:1])[0]) {
		t.Errorf("a search begins with %v", first)
	}
}

// What a model expects is told to a search of the configurations that the kernel's space has, each with what is its
// own. They count as points that a search begins with.
func TestExpectedOfModel(t *testing.T) {
	s, choice := kernelOnGPU(t, cube)
	list := choice.Space.Sample(rand.New(rand.NewPCG(1, 1)), 4)
	foreign := list[1]
	foreign.Family = "elsewhere"
	list[1] = foreign
	k := &kernelSearch{tuning: &tuning{subject: s, opts: Options{}}, call: s.calls[0], space: search.Of(choice.Space),
		prior: Prior{First: list[:1], Predict: func(schedule.Config) float64 { return 1 }, Expected: &Expected{
			Configs: list, Fractions: []float64{.9, .8, .7, .6}, Most: 2,
			Alike: func(i, j int) float64 { return float64(10*i + j) },
		}}}
	x := k.expected()
	if x.Most != 2 || !slices.Equal(x.Fractions, []float64{.9, .7, .6}) || x.Alike(1, 2) != 23 {
		t.Errorf("a search is told %+v", x)
	}
	for i, c := range []schedule.Config{list[0], list[2], list[3]} {
		if p, ok := k.point(c); !ok || !slices.Equal(p, x.Points[i]) {
			t.Errorf("point %d is %v", i, x.Points[i])
		}
	}
	if x.Nearby != nil {
		t.Error("something is near, of a prior that ranks nothing more")
	}
	var asked []schedule.Config
	near := choice.Space.Sample(rand.New(rand.NewPCG(2, 2)), 2)
	k.prior.Expected.Nearby = func(list []schedule.Config) (int, []schedule.Config, []float64) {
		asked = append(asked, list...)
		return 8, []schedule.Config{near[0], foreign, near[1]}, []float64{.5, .4, .3}
	}
	x = k.expected()
	place, points, fractions := x.Nearby(x.Points[:2])
	if len(asked) != 2 || !asked[0].Equal(list[0]) || !asked[1].Equal(list[2]) {
		t.Errorf("a model is asked about %v", asked)
	}
	if !slices.Equal(fractions, []float64{.5, .3}) || place != 3 || x.Alike(3, 4) != 90 || x.Alike(0, 3) != 8 {
		t.Errorf("near are %v from %d on, and alike by %g and %g", fractions, place, x.Alike(3, 4), x.Alike(0, 3))
	}
	for i, c := range near {
		if p, ok := k.point(c); !ok || !slices.Equal(p, points[i]) {
			t.Errorf("%v is near, not %s", points[i], c)
		}
	}
	k.prior.Expected.Nearby = nil
	if n := k.prior.trials(); n != 3 {
		t.Errorf("a search makes %d trials of a prior of 3", n)
	}
	if err := k.setStrategy(t.Context(), k.estimates(), 50); err != nil {
		t.Fatal(err)
	}
	first := k.strategy.Ask(5)
	if len(first) != 1 {
		t.Fatalf("a search begins with %v", first)
	}
	k.strategy.Tell(search.Trial{Point: first[0], Verdict: verdict.OK, Seconds: 1, Cost: 1})
	if next := k.strategy.Ask(5); len(next) != 1 || !slices.Equal(next[0], x.Points[1]) {
		t.Errorf("%v follows", next)
	}
	k.prior.Expected = nil
	if k.expected() != nil {
		t.Error("something is expected of a prior that expects nothing")
	}
}

// A short search that goes on from a prior has few in flight, so that most of it learns from what was measured.
func TestFewInFlight(t *testing.T) {
	subject, choice := kernelOnGPU(t, cube)
	predict := func(schedule.Config) float64 { return 1 }
	for _, c := range []struct {
		likely  int
		predict func(schedule.Config) float64
		told    int
		want    int
	}{
		{50, predict, 0, 6}, {50, predict, 40, 6}, {8, predict, 0, 4}, {300, predict, 0, 32}, {300, predict, 200, 37},
		{2000, predict, 0, 32}, {2000, predict, 1600, 128}, {0, predict, 100, 44}, {50, nil, 0, 32}, {50, nil, 40, 37},
	} {
		k := &kernelSearch{tuning: &tuning{subject: subject}, call: subject.calls[0], likely: c.likely,
			space: search.Of(choice.Space), prior: Prior{Predict: c.predict}}
		if got := k.inFlight(c.told); got != c.want {
			t.Errorf("%d likely trials, predicted %v, %d told: %d in flight, not %d", c.likely, c.predict != nil,
				c.told, got, c.want)
		}
	}
}
