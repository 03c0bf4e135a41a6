package search

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// landscape is a function on a space, with a shape that kernels have, too.
type landscape struct {
	name    string
	seconds func(v func(name string) float64) float64
	refused func(v func(name string) float64) bool
}

// terrain is the space of the landscapes, with the names that kernels' parameters
// have; some 60,000 points.
func terrain() *KernelSpace {
	f := schedule.Family{Name: "f"}
	add := func(name string, values ...schedule.Value) {
		f.Params = append(f.Params, schedule.Param{Name: name, Values: values, Default: values[0]})
	}
	var blocks, tiles []schedule.Value
	for _, y := range []int64{1, 2, 4, 8, 16, 32} {
		for _, x := range []int64{1, 2, 4, 8, 16, 32, 64, 128, 256} {
			if x*y <= 1024 {
				blocks = append(blocks, schedule.Int(y, x))
			}
			if x <= 8 {
				tiles = append(tiles, schedule.Int(y, x))
			}
		}
	}
	add("block", blocks...)
	add("repeat", tiles...)
	add("vec", numbers(1, 2, 4)...)
	add("load", schedule.Words("plain", "readonly", "shared", "image")...)
	add("share", schedule.Words("no", "yes")...)
	return Of(withRoles(schedule.Space{Families: []schedule.Family{f}}))
}

// far is how many doublings lie between two numbers.
func far(a, b float64) float64 { return math.Abs(math.Log2(a) - math.Log2(b)) }

var landscapes = []landscape{
	{
		// Each value has its effect, whatever the others.
		name: "separable",
		seconds: func(v func(string) float64) float64 {
			return 1 + far(v("block.x"), 64) + 0.8*far(v("block.y"), 4) + 0.5*far(v("repeat.x"), 2) +
				0.6*far(v("repeat.y"), 8) + 0.3*far(v("vec"), 2) +
				math.Abs(v("load")-2) + 0.2*v("share")
		},
	},
	{
		// Products matter, as threads of a block and cells of a thread do, and what
		// takes too much is refused.
		name: "products",
		seconds: func(v func(string) float64) float64 {
			threads, cells := v("block.x")*v("block.y"), v("repeat.x")*v("repeat.y")*v("vec")
			return 1 + far(threads, 256) + 0.7*far(cells, 8) + 0.5*math.Max(0, 5-math.Log2(v("block.x")*v("vec"))) +
				0.4*math.Mod(v("load")+v("share"), 3)
		},
		refused: func(v func(string) float64) bool {
			return v("block.x")*v("block.y")*v("repeat.x")*v("repeat.y")*v("vec") > 16384
		},
	},
	{
		// A ravine, cliffs and a second minimum that is not as deep.
		name: "rugged",
		seconds: func(v func(string) float64) float64 {
			a := 1 + 2*far(v("block.x")*v("repeat.x"), 128) + 0.4*far(v("block.x"), 32) +
				far(v("block.y")*v("repeat.y"), 16) + 0.3*far(v("vec"), 4)
			b := 2 + far(v("block.x"), 4) + far(v("block.y"), 32) + 0.3*v("load")
			if v("load") == 1 {
				a *= 1.5
			}
			if v("block.x")*v("vec") >= 128 && v("share") == 1 {
				a *= 1.3
			}
			return math.Min(a, b)
		},
	},
}

// reader returns a point's values by name; words are their numbers.
func reader(s *KernelSpace, p Point) func(string) float64 {
	return func(name string) float64 {
		for i, x := range s.Params() {
			if x.Name == name {
				if x.number() {
					return float64(x.Values[p[i]].Ints()[0])
				}
				return float64(p[i])
			}
		}
		panic(name)
	}
}

// descent returns the logarithm of what a search has found after so many
// trials, in the mean over seeds, and of the optimum.
func descent(t *testing.T, name string, l landscape, trials, seeds int) float64 {
	t.Helper()
	space := terrain()
	sum := 0.0
	for seed := range seeds {
		s, err := New(name, Problem{Space: space, Seed: uint64(seed) + 1, Budget: trials})
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, trial := range run(s, trials, func(p Point) Trial {
			v := reader(space, p)
			if l.refused != nil && l.refused(v) {
				return Trial{Point: p, Verdict: Refused}
			}
			return Trial{Point: p, Seconds: 1e-3 * l.seconds(v)}
		}) {
			if trial.Verdict == Good {
				best = min(best, trial.Seconds*1e3)
			}
		}
		sum += math.Log(best)
	}
	return sum / float64(seeds)
}

// TestGuidedBeatsRandom compares at equal trials. Seeds are fixed, so that the
// outcome is, too.
func TestGuidedBeatsRandom(t *testing.T) {
	const trials, seeds, margin = 80, 3, 0.05 // in the mean logarithm of time
	for _, l := range landscapes {
		guided := []string{"auto", "model", "local", "local:adjacent", "annealing", "genetic"}
		if l.name == "separable" {
			guided = append(guided, "hierarchical")
		}
		random := descent(t, "random", l, trials, seeds)
		for _, name := range guided {
			d := descent(t, name, l, trials, seeds)
			t.Logf("%s: %s comes to %.3f, random to %.3f", l.name, name, d, random)
			if d > random-margin {
				t.Errorf("%s: %s comes to %.3f in the mean logarithm, random to %.3f", l.name, name, d, random)
			}
		}
	}
}

// TestGroupedSeparates lets those that tune one group of parameters after the
// other come to their end where parameters do not depend on each other: they
// find the optimum, in far fewer trials than there are points.
func TestGroupedSeparates(t *testing.T) {
	for _, name := range []string{"dimension:n=0", "optimisation:n=0", "hybrid:n=0"} {
		if d := descent(t, name, landscapes[0], 1000, 1); d != 0 {
			t.Errorf("%s comes to %.3f in the logarithm", name, d)
		}
	}
}

// TestShapesCross lets axes depend on each other: the paper's groups end where
// one would have to exchange cells of a thread between two axes and threads of a
// block with them. Shapes of both do that.
func TestShapesCross(t *testing.T) {
	l := landscape{name: "crossed", seconds: func(v func(string) float64) float64 {
		// Wide blocks like cells above each other, tall ones like them side by side.
		wide := 1.2 + far(v("block.x"), 128) + far(v("block.y"), 1) + far(v("repeat.x"), 1) + far(v("repeat.y"), 4)
		tall := 1.0 + far(v("block.x"), 16) + far(v("block.y"), 8) + far(v("repeat.x"), 4) + far(v("repeat.y"), 1)
		return math.Min(wide, tall)
	}}
	if d := descent(t, "hybrid:shapes=0", l, 2000, 1); math.Abs(d-math.Log(1.2)) > 1e-9 {
		t.Errorf("the paper's groups come to %.3f in the logarithm", d)
	}
	if d := descent(t, "hybrid", l, 500, 1); d != 0 {
		t.Errorf("hybrid comes to %.3f in the logarithm", d)
	}
}
