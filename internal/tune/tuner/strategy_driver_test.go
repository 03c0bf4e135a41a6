package tuner

import (
	"hash/fnv"
	"testing"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// BenchmarkStrategy takes the time that auto needs for each trial of a search of
// a GPU kernel's whole space, as long as one of a minute: the device must not
// wait for it.
func BenchmarkStrategy(b *testing.B) {
	const trials, window, spare = 2000, 32, 8
	s, choice := kernelOnGPU(b, cube)
	space := search.Of(choice.Space)
	e := newModel(s.calls[0], choice.Space)
	estimate := func(p search.Point) (float64, bool) {
		c, err := space.Config(p)
		if err != nil {
			return 0, false
		}
		return e.Estimate(c)
	}
	try := func(p search.Point) search.Trial {
		t, ok := estimate(p)
		h := fnv.New32a()
		h.Write([]byte(p.Key()))
		x := h.Sum32()
		if !ok || x%16 == 0 {
			return search.Trial{Point: p, Verdict: verdict.Launch}
		}
		return search.Trial{Point: p, Seconds: t * (1 + float64(x%1000)/2000)}
	}
	for b.Loop() {
		strategy, err := search.New("auto", search.Problem{Space: space, Seed: 1, Budget: trials, Estimate: estimate})
		if err != nil {
			b.Fatal(err)
		}
		under := strategy.Ask(window)
		for range trials {
			strategy.Tell(try(under[0]))
			under = append(under[1:], strategy.Ask(1)...)
			strategy.Likely(spare)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(trials*b.N), "ms/trial")
}
