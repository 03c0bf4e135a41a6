package tuner

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/target"
)

// Versions whose kernels cannot be as fast as the fastest plan are not tuned, and notes say so.
func TestHopelessVersions(t *testing.T) {
	text := strings.Replace(outputs, "M = 510, N = 512", "M = 4096, N = 8192", 1)
	src := diag.NewSource("outputs.loom", text)
	b := program(t, text)
	for _, c := range []struct {
		seconds float64 // of the program as it is; the two kernels of a version move 1.6 GB in 0.4 ms
		tried   string
		notes   int
	}{
		{1e-1, " statements trivial", 0},
		{1e-4, "", 2},
	} {
		s := newScripted(t, b, func(string) (float64, error) { return c.seconds, nil })
		s.spills = func(string) int { return 32 }
		o := options(s, b, 8)
		o.Lab, o.MaxDepth, o.Plan = h200(t, s), 1, plan(t, "family=cells")
		notes := 0
		o.Events = func(e Event) {
			if e.Kind == EventNote && strings.Contains(e.Text, "is not tuned: by the cost model its kernels take") {
				notes++
			}
		}
		r, v, tried := tuneVersions(t, s, o, src)
		if v.Name != "" || r.Version != "" || tried != c.tried || notes != c.notes {
			t.Errorf("%+v: %q of%s, %d notes", c, v.Name, tried, notes)
		}
	}
}

// The prediction counts what all kernels of an update move, and nothing is predicted where it would not hold.
func TestLeastOfVersion(t *testing.T) {
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(outputs, "M = 510, N = 512", "M = 4096, N = 8192", 1)
	b := program(t, text)
	once := 4 * 4096 * 8192 * 8 / (m.Memory.Bandwidth * 1e9) // two grids are read, and two written
	on := target.OnPaper(emit.CUDA, m, arith.Contract)
	if got := leastOfVersion(b, on); got < once || got > 1.5*once {
		t.Errorf("%g s at least, and its grids take %g s to move", got, once)
	}
	for _, v := range versionsOf(diag.NewSource("outputs.loom", text), Options{Bound: b}) {
		if got := leastOfVersion(v.Bound, on); got < 1.4*once || got > 2*once { // some grids move twice
			t.Errorf("%s: %g s at least, and the program's grids take %g s to move", v.Name, got, once)
		}
	}
	if got := leastOfVersion(program(t, outputs), on); got != 0 {
		t.Errorf("%g s with all grids in the last cache", got)
	}
	unknown := *m
	unknown.Name = "some GPU"
	for name, other := range map[string]*target.Target{
		"processors":     target.OnPaper(emit.C, nil, arith.Contract),
		"unknown device": target.OnPaper(emit.CUDA, &unknown, arith.Contract),
		"no device":      target.OnPaper(emit.CUDA, nil, arith.Contract),
	} {
		if got := leastOfVersion(b, other); got != 0 {
			t.Errorf("%s: %g s", name, got)
		}
	}
}

// Without a plan to be slower than, and where nothing is predicted, no version is left out.
func TestPromisingVersions(t *testing.T) {
	for _, c := range []struct {
		fastest float64
		want    string
	}{{0, "a b c"}, {1, "a"}, {2, "a b"}, {4, "a b c"}} {
		list := []Version{{Name: "a"}, {Name: "b", least: 2}, {Name: "c", least: 3}}
		notes, got := 0, []string{}
		for _, v := range promisingVersions(list, c.fastest, func(string, ...any) { notes++ }) {
			got = append(got, v.Name)
		}
		if strings.Join(got, " ") != c.want || notes != 3-len(got) {
			t.Errorf("beside %g s there are %v, %d notes", c.fastest, got, notes)
		}
	}
}
