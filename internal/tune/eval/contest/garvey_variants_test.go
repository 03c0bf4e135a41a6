package contest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// Every synthetic kernel has variants: what a thread needs of registers is for
// the compiler to say, also of 1,331 cells that are read. They are lowered with one
// technique after the other, those of many cells without or with shared memory.
func TestSyntheticKernelsHaveVariants(t *testing.T) {
	const many = 300 // cells that are read
	var names []string
	kernels := synth.Kernels()
	for _, k := range kernels {
		names = append(names, k.Name())
	}
	subjects, err := GarveySubjects(names, 32)
	if err != nil {
		t.Fatal(err)
	}
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	spilling := map[string]bool{}
	for i, x := range subjects {
		all := whole(t, x)
		chosen := techniques[i%len(techniques):][:1]
		if len(kernels[i].Cells()) >= many {
			chosen = []technique{techniques[3*(i%2)]}
		}
		for _, technique := range chosen {
			k := schedule.Plan{Every: leastWith(t, all, technique)}
			// Sums that are not fused have no names on their way.
			b := x.bound.In(arith.Strict)
			m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Sized: true, Bound: b,
				NoInitial: true, Plan: k})
			if err != nil {
				t.Errorf("%s has no variant with %s: %v", x.Name(), technique.name, err)
				continue
			}
			if lower.Resources(m.Kernels[0]).Spills(h200.GPU) {
				spilling[x.Program] = true
			}
		}
	}
	// By the estimate alone these would have none.
	if got := strings.Join(slices.Sorted(maps.Keys(spilling)), " "); len(subjects) != 104 ||
		got != "dense-zyx-r4 dense-zyx-r5 no-corners-zyx-r4 no-corners-zyx-r5" {
		t.Errorf("of %d kernels, %s are sure to spill", len(subjects), got)
	}
}

// leastWith returns a configuration with a technique whose threads have the
// fewest cells.
func leastWith(t *testing.T, s schedule.Space, x technique) schedule.Config {
	t.Helper()
	for _, vec := range []int64{1, 2} {
		for _, load := range []string{"plain", "image"} {
			for _, shared := range []int64{0, 1} {
				c := schedule.Config{Family: "tile"}.With("vec", schedule.Int(vec)).With("load",
					schedule.Word(load)).With("stages", schedule.Int(shared))
				if !x.has(schedule.Int(vec).String(), load, schedule.Int(shared).String()) {
					continue
				}
				if full, err := s.Complete(c); err == nil {
					return full
				}
			}
		}
	}
	t.Fatalf("nothing has the technique %s", x.name)
	return schedule.Config{}
}
