package predict

import (
	"math"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What a compiler makes of configurations is predicted of a kernel that was not learned from, and those that are likely
// to spill come behind all others of the first.
func TestResources(t *testing.T) {
	m, _ := trained(t)
	unseen := recordings(t, 300, "diamond-zyx-r2")[0]
	program, of := unseen.describe()
	given := m.Resources.given(unseen.Kernel, program)
	off, mean, right, spills := 0.0, 0.0, 0, 0
	for i := range unseen.Trials {
		mean += float64(unseen.Trials[i].Resources.Registers) / float64(len(unseen.Trials))
	}
	var spread float64
	for i := range unseen.Trials {
		x := &unseen.Trials[i]
		n := given.needs([]schedule.Config{x.Config}, of.Of(x.Config))[0]
		if most := Available(unseen.Space.ByRole(x.Config), unseen.Target.Machine); n.Registers > most {
			t.Fatalf("%s: %v registers of %v", x.Config, n.Registers, most)
		}
		off += math.Abs(n.Registers - float64(x.Resources.Registers))
		spread += math.Abs(mean - float64(x.Resources.Registers))
		if n.MaySpill() == (x.Resources.Spills > 0) {
			right++
		}
		if x.Resources.Spills > 0 {
			spills++
		}
	}
	if spills < 5 {
		t.Fatalf("%d of %d spill: there is nothing to find", spills, len(unseen.Trials))
	}
	if off > spread/3 || right < len(unseen.Trials)*95/100 {
		t.Errorf("registers are %.1f off, of %.1f; %d of %d spills are judged rightly", off/float64(len(unseen.Trials)),
			spread/float64(len(unseen.Trials)), right, len(unseen.Trials))
	}
	first := m.Rank(unseen.Kernel)[:regarded]
	spill := func(r Ranked) bool { return r.Needs.MaySpill() }
	if i := slices.IndexFunc(first, spill); i >= 0 && slices.ContainsFunc(first[i:], func(r Ranked) bool {
		return !spill(r)
	}) {
		t.Error("one that is likely to spill comes before one that is not")
	}
}

// A compiler that tells of nothing teaches nothing.
func TestNoResources(t *testing.T) {
	e := Describe(recordings(t, 120, "star-zyx-r1")[0])
	for i := range e.Trials {
		e.Trials[i].Resources.Registers = 0
	}
	if m, err := LearnResources([]*Examples{e}); m != nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
}
