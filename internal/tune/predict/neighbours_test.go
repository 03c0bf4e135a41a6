package predict

import (
	"cmp"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// What was the fastest for the nearest programs comes at every third place, as the kernel's space has it.
func TestWithNeighbours(t *testing.T) {
	m, err := Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := synth.FindKernel("star-zyx-r4")
	if err != nil {
		t.Fatal(err)
	}
	k := kernelsOf(t, "star-zyx-r4", s.Source([3]int{512, 512, 512}, 1))[0]
	ranked := m.Rank(k)
	own := features.Program(k.Bound, k.Call)
	n := 0.0
	// example is a program; each further one is less like the kernel's.
	example := func(name, best string) Example {
		program := slices.Clone(own)
		n++
		program[0] += n
		return Example{Name: name, Features: program, Best: best}
	}
	late := ranked[40].Config
	const other = "family=planes,block=4x64,rows=4,vec=4,chunk=256,prefetch=0,stages=2,copy=tensor,refetch=no," +
		"retime=no,unroll=4,rimless=common,loads=first,stores=rows,columns=grids,load=plain,store=plain,layout=packed," +
		"sizes=literals,cse=yes,registers=0"
	few := *m
	few.Scale.Units = slices.Repeat([]float64{1}, len(own))
	few.Programs = []Example{
		example("unknown", "family=none,block=4x64"),
		example("not told", ""),
		example("another", other),
		example("flat", "family=planes,block=128,chunk=64"),
		example("the same", other),
		example("late", portable(late, k.Space)),
		example("too far", portable(ranked[60].Config, k.Space)),
	}
	list, err := few.WithNeighbours(t.Context(), k, ranked)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(ranked)+1 && len(list) != len(ranked) { // the other may have been drawn
		t.Errorf("%d of %d candidates", len(list), len(ranked))
	}
	var names []string
	for i, x := range list {
		if x.FastestOf != "" {
			names = append(names, x.FastestOf)
			if want := []int{3, 6}[min(len(names), 2)-1]; i != want {
				t.Errorf("%s stands at place %d, not %d", x.FastestOf, i, want)
			}
		}
	}
	if !slices.Equal(names, []string{"another", "late"}) {
		t.Errorf("the neighbours are %q", names)
	}
	if c := list[3].Config; portable(c, k.Space) != other || k.Space.Check(c) != nil {
		t.Errorf("the other's is %s", c)
	}
	if !list[6].Config.Equal(late) || list[6].Needs == nil || list[3].Needs == nil {
		t.Errorf("the late one is %s", list[6].Config)
	}
	seen := map[string]bool{}
	for _, x := range list {
		if seen[x.Config.String()] {
			t.Errorf("%s stands there twice", x.Config)
		}
		seen[x.Config.String()] = true
	}
	if !slices.IsSortedFunc(list, func(a, b Ranked) int { return cmp.Compare(b.Fraction, a.Fraction) }) {
		t.Error("not in order")
	}
	for i, at := range []int{0, 1, 2, 4, 5, 7, 8} {
		if !list[at].Config.Equal(ranked[i].Config) {
			t.Errorf("the ranking's place %d is not kept", i)
		}
	}
	if list, err := few.WithNeighbours(t.Context(), k, ranked[:2]); err != nil || len(list) != 2 {
		t.Errorf("of two candidates: %d, %v", len(list), err)
	}
	on := target.OnPaper(emit.C, h200(t), arith.Contract)
	cpu := kernelsOn(t, on, "star-zyx-r4", s.Source([3]int{64, 64, 64}, 1))[0]
	first := []Ranked{{Config: schedule.Config{Family: "x"}}}
	if list, err := few.WithNeighbours(t.Context(), cpu, first); err != nil || len(list) != 1 {
		t.Errorf("a processor's kernel: %v, %v", list, err)
	}
}

// Models keep what was the fastest for each program that they have learned from, and any kernel like it can have it.
func TestFastestOfPrograms(t *testing.T) {
	m, list := trained(t)
	for i, r := range list {
		best := r.Fastest(1)[0]
		c, ok := inSpace(r.Space, m.Programs[i].Best)
		if m.Programs[i].Name != r.Name || !ok || !c.Equal(best) {
			t.Errorf("%s: %s, not %s", r.Name, c, best)
		}
	}
}
