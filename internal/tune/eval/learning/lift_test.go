package learning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// The redundancy of a number with itself is a half, with another that it decides less, and with one that has nothing
// to do with it almost nothing. A constant tells nothing.
func TestRedundancy(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var x, half, other, same []float64
	for range 4000 {
		v := r.Float64()
		x, half, other, same = append(x, v), append(half, math.Floor(2*v)), append(other, r.Float64()), append(same, 3)
	}
	if got := redundancy(x, x); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("a number with itself: %v", got)
	}
	if got := redundancy(x, half); got < 0.2 || got > 0.25 { // ln 2 of ln 2 + ln 10
		t.Errorf("a number with its half: %v", got)
	}
	if got := redundancy(x, other); got > 0.01 {
		t.Errorf("two numbers that have nothing in common: %v", got)
	}
	if got := redundancy(x, same); got > 1e-9 {
		t.Errorf("a constant: %v", got)
	}
}

// permuted calls with each order of the numbers below n.
func permuted(n int, call func(order []int)) {
	order := make([]int, 0, n)
	var more func()
	more = func() {
		if len(order) == n {
			call(order)
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				more()
				order = order[:len(order)-1]
			}
		}
	}
	more()
}

// What random orders come to is the mean over all orders, each of which is counted as a model's is.
func TestExploredAtRandom(t *testing.T) {
	fractions := []float64{0.96, 0, 0.5, 1, 0.91, 0.93}
	c := costs{compile: []float64{0.1, 0.3, 0, 0.2, 0.5, 0.7}, run: []float64{1 / 0.96, 0, 2, 1, 1 / 0.91, 1 / 0.93}}
	for _, part := range partsOfBest {
		runs, seconds, kernels, orders := 0.0, 0.0, 0.0, 0.0
		var shares [7]float64
		permuted(len(fractions), func(order []int) {
			j, own := &judged{best: 1}, costs{}
			for _, i := range order {
				j.fraction = append(j.fraction, fractions[i])
				own.compile, own.run = append(own.compile, c.compile[i]), append(own.run, c.run[i])
			}
			r := j.reached(own, part)
			runs, seconds, kernels, orders = runs+r.Runs, seconds+r.Seconds, kernels+r.Kernels, orders+1
			for i := range shares {
				shares[i] += j.look(i + 1).Share
			}
		})
		j := &judged{fraction: fractions, best: 1}
		got := j.reached(c, part)
		for _, x := range [][2]float64{
			{got.Random, runs / orders}, {got.Slow, seconds / orders}, {got.SlowKernels, kernels / orders},
		} {
			if math.Abs(x[0]-x[1]) > 1e-3 {
				t.Errorf("to %v: %v, and the mean over all orders is %v", part, x[0], x[1])
			}
		}
		for i, s := range shares {
			if x := j.look(i + 1).Random; math.Abs(x-s/orders) > 1e-4 {
				t.Errorf("after %d runs %v, and the mean over all orders is %v", i+1, x, s/orders)
			}
		}
	}
}

// In a model's order what was tried counts, the refused ones and the last one too; runs have no bound.
func TestReached(t *testing.T) {
	j := &judged{fraction: []float64{0, 0.73, 0.41, 0.77, 0.8}, best: 0.8}
	c := costs{compile: []float64{0.251, 0.5, 0, 0.5, 1.003}, run: []float64{0, 0.01, 0.02, 0.009, 0.008}}
	for i, want := range []Reached{
		{0.9, 2, 1.5, 0.761, 0.7444, 0.01, 0.014},
		{0.95, 4, 2, 1.29, 1.02, 0.039, 0.0185},
		{0.99, 5, 3, 2.301, 1.656, 0.047, 0.0275},
	} {
		if got := j.reached(c, partsOfBest[i]); got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	for _, want := range []Look{{1, 0, 0.6775}, {2, 0.9125, 0.9225}, {50, 1, 1}} {
		if got := j.look(want.Runs); got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	late := &judged{fraction: append(slices.Repeat([]float64{0.1}, 80), 1), best: 1}
	none := make([]float64, 81)
	if r := late.reached(costs{none, none}, 0.9); r.Runs != 81 || r.Random != 41 {
		t.Errorf("%+v", r)
	}
}

// Models are summed up over programs, of the means over their types and sizes: runs as they are, factors
// geometrically.
func TestLiftSum(t *testing.T) {
	made := func(model, stencil string, correlation, first, runs float64) LiftProgram {
		p := LiftProgram{Model: model, Correlation: correlation, First: first, stencil: stencil}
		for _, part := range partsOfBest {
			p.Reached = append(p.Reached, Reached{part, runs, 10, runs / 2, 20, runs / 1000, 0.01})
		}
		for _, runs := range looks {
			p.Best = append(p.Best, Look{runs, first, 0.1})
		}
		return p
	}
	r := &LiftResult{Programs: []LiftProgram{
		made("a", "x", 0.5, 1, 1), made("b", "x", 0, 1, 50), made("a", "y", 1, 0.25, 4),
	}}
	got := r.sum("a")
	if got.Correlation != 0.75 || got.First != 0.5 || len(got.Reached) != len(partsOfBest) ||
		len(got.Best) != len(looks) {
		t.Errorf("%+v", got)
	}
	want := ReachedMean{
		Part: 0.95, Runs: 2.5, Low: 1, High: 4, Median: 2.5, Most: 4, Random: 10,
		Seconds: 1.25, Slow: 20, Kernels: 0.0025, SlowKernels: 0.01,
		Fewer: Factor{5, 2.5, 10}, Sooner: Factor{20, 10, 40}, LessToRun: Factor{5, 2.5, 10},
	}
	if got.Reached[1] != want {
		t.Errorf("%+v, not %+v", got.Reached[1], want)
	}
	if want := (LookMean{Look{1, 0.625, 0.1}, 0.25, 1}); got.Best[0] != want {
		t.Errorf("%+v, not %+v", got.Best[0], want)
	}
	// A program of more sizes has no more weight.
	r.Programs = append(r.Programs, made("a", "y", 1, 0.25, 4), made("a", "y", 1, 0.25, 4))
	if got := r.sum("a"); got.Reached[1].Runs != 2.5 || got.Reached[1].Median != 4 || got.Correlation != 0.75 {
		t.Errorf("%+v", got.Reached[1])
	}
}

// liftRecordings are kernels of three stencils, one of them twice. What a thread loads decides, and compiling
// takes half a second.
func liftRecordings(t *testing.T) []*predict.Recorded {
	t.Helper()
	var list []*predict.Recorded
	for _, e := range onGPU(t, "star-zy-r1", "star-zy-r1", "star-zy-r2", "dense-zy-r1").All {
		for i := range e.Trials {
			e.Trials[i].Compile = 0.5
		}
		list = append(list, e.Recorded)
	}
	return list
}

// Each program is left out with all that are its stencil. Who counts on lowered variants finds what decides, sooner
// than random orders and than the baselines; what tells most of the speed is told.
func TestLift(t *testing.T) {
	list := liftRecordings(t)
	var log strings.Builder
	r, err := Lift(t.Context(), list, "now", &log)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		ZeroR, Table, "plain 5 neighbours", lifts, "boosted, lowered", "boosted, program and configuration",
	}
	if len(r.Models) != len(names) || len(r.Programs) != len(names)*len(list) || r.Commit != "now" || r.Device != "D" {
		t.Fatalf("%d models, %d programs, %s, %s", len(r.Models), len(r.Programs), r.Commit, r.Device)
	}
	for i, p := range r.Programs {
		e := list[i%len(list)]
		if p.Program != e.Name || p.Sizes != e.Sizes() || p.Types != e.Types() || p.Variants > len(e.Trials)+1 {
			t.Errorf("%+v", p)
		}
		if len(p.Reached) != len(partsOfBest) || len(p.Best) != len(looks) {
			t.Fatalf("%+v", p)
		}
		for i, x := range p.Reached {
			if math.Abs(x.Seconds-0.5*x.Runs-x.Kernels) > 1e-3*x.Seconds || x.Runs < 1 || x.Random < 1 {
				t.Errorf("%s, %s: %+v", p.Program, p.Model, x)
			}
			if i > 0 && (x.Runs < p.Reached[i-1].Runs || x.Random < p.Reached[i-1].Random) {
				t.Errorf("%s, %s: more of the best takes fewer runs", p.Program, p.Model)
			}
		}
		if p.Best[0].Share != p.First || p.Best[len(looks)-1].Share < p.Best[0].Share {
			t.Errorf("%s, %s: %+v, and the first pick has %v", p.Program, p.Model, p.Best, p.First)
		}
	}
	for i, m := range r.Models {
		if m.Model != names[i] {
			t.Errorf("%s is not %s", m.Model, names[i])
		}
		x := m.Reached[0]
		if x.Low > x.Runs || x.High < x.Runs {
			t.Errorf("%+v", x)
		}
		switch i {
		case 0:
			if m.Correlation != 0 {
				t.Errorf("who knows nothing has a correlation of %v", m.Correlation)
			}
		case 2, 3, 4:
			least := 0.5 // the stencils load differently much, which is far for neighbours
			if i == 4 {
				least = 0.8
			}
			if m.Correlation < least || x.Fewer.By < 2 || x.Runs > r.Models[0].Reached[0].Runs {
				t.Errorf("%s: correlation %v, %+v", m.Model, m.Correlation, x)
			}
		}
	}
	if len(r.Redundancy) != len(features.OfLowered) || r.Redundancy[0].Feature != features.OfLowered[8].Name {
		t.Errorf("%+v", r.Redundancy)
	}
	var out strings.Builder
	if err := WriteLift(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		lifts, Random, list[0].Sizes(), list[0].Types(), "95 %", r.Redundancy[0].Feature,
		fmt.Sprintf("%.1f", r.Models[3].Reached[0].Random),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
	if _, err := Lift(t.Context(), list[:2], "", &log); err == nil || !strings.Contains(err.Error(), "one stencil") {
		t.Errorf("one stencil is judged: %v", err)
	}
}

// The usual configuration is lowered like all candidates. What cannot be lowered is none, and neither is what a search
// chose.
func TestLowered(t *testing.T) {
	r := liftRecordings(t)[0]
	usual := predict.Trial{Config: r.Usual, Seconds: 3}
	r.Trials = slices.DeleteFunc(r.Trials, func(x predict.Trial) bool { return x.Config.Equal(r.Usual) })
	r.Trials = append(slices.Clone(r.Trials[:5]), usual, r.Trials[5], r.Trials[6])
	e := predict.Describe(r)
	e.Drawn[1] = false
	e.Trials[2].Config.Family = "none"
	low, err := lowered(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(e.Trials[:1], e.Trials[3:])
	if len(low.Rows) != len(want) || len(low.Trials) != len(want) || len(e.Trials) != 8 {
		t.Fatalf("%d of %d variants are candidates", len(low.Rows), len(e.Trials))
	}
	for i, x := range low.Trials {
		row, err := e.Lowered(want[i].Config)
		if err != nil || !x.Config.Equal(want[i].Config) || !slices.Equal(low.Rows[i], row) {
			t.Errorf("variant %d is %s: %v (%v)", i, x.Config, low.Rows[i], err)
		}
	}
	if low.Drawn[3] || !low.Drawn[4] || low.Targets[3] != e.Targets[5] {
		t.Errorf("%v, %v", low.Drawn, low.Targets)
	}
}
