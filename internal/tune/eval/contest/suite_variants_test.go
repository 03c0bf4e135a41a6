package contest

import (
	"errors"
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

var wholeSuites = flag.Bool("whole", false,
	"lower every program of all suites with every technique: a quarter of an hour")

// Every program of every suite has a variant with each technique. What a thread
// needs of registers is for the compiler to say, also of 1,331 cells that are read.
// Without -whole, one program in four stands for all of a suite, one in 50 for the
// 416, which differ in what is done with a cell; programs of more than 500 cells are
// all there up to 1,000, and have one technique each.
func TestProgramsHaveVariants(t *testing.T) {
	const many, most = 500, 1000 // cells that are read
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	spilling := map[string]bool{}
	turn := 0
	for _, suite := range synth.Suites() {
		for i, p := range suite.Programs() {
			chosen := techniques
			if !*wholeSuites && leftOut(suite.Name, i, p.Points > many, p.Points > most) {
				continue
			}
			if !*wholeSuites && p.Points > many {
				chosen = techniques[turn%len(techniques):][:1]
				turn++
			}
			x := fromSuite(t, p)
			all := whole(t, x)
			for _, technique := range chosen {
				var m *kernel.Module
				var err error
				for _, c := range leastWith(t, all, technique) {
					m, err = lower.Program(x.bound.Program, lower.Options{
						Target: lower.GPU, Sized: true, Bound: x.bound, NoInitial: true, Plan: schedule.Plan{Every: c},
					})
					if _, limited := errors.AsType[*lower.ResourceLimit](err); !limited {
						break
					}
				}
				if err != nil {
					t.Errorf("%s has no variant with %s: %v", p.Name, technique.name, err)
					continue
				}
				if suite.Name == "garvey" && lower.Resources(m.Kernels[0]).Spills(h200.GPU) {
					spilling[p.Name] = true
				}
			}
		}
	}
	// By the estimate alone these would have none.
	want := "dense-zyx-r4 no-corners-zyx-r4"
	if *wholeSuites {
		want = "dense-zyx-r4 dense-zyx-r5 no-corners-zyx-r4 no-corners-zyx-r5"
	}
	if got := strings.Join(slices.Sorted(maps.Keys(spilling)), " "); got != want {
		t.Errorf("%s are sure to spill, not %s", got, want)
	}
}

// leftOut reports whether others stand for a program, the i-th of its suite.
func leftOut(suite string, i int, large, huge bool) bool {
	if suite == "garvey416" {
		return large || i%50 > 0
	}
	return huge || !large && i%4 > 0
}

// fromSuite returns a program on grids that have room for every border. Its
// arithmetic is strict: sums that are not fused have no names on their way.
func fromSuite(t *testing.T, p synth.Program) *Subject {
	t.Helper()
	text, err := p.Source(synth.Options{Size: []int{128}})
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource(p.Name+".loom", text)
	program, errs := lang.Load(src)
	if errs.HasErrors() {
		t.Fatal(diag.Render(src, errs, diag.Style{}))
	}
	x := &Subject{Program: p.Name, DType: p.Type}
	b, errs := program.In(arith.Strict).Bind(nil)
	if errs.HasErrors() {
		t.Fatal(diag.Render(src, errs, diag.Style{}))
	}
	x.bound = b
	return x
}

// leastWith returns a configuration with a technique whose threads have the
// fewest cells, and those that hold fewer and fewer grids in shared memory: a
// block has not enough for all of some programs.
func leastWith(t *testing.T, s schedule.Space, x technique) []schedule.Config {
	t.Helper()
	for _, vec := range []int64{1, 2} {
		for _, load := range []string{"plain", "image"} {
			for _, shared := range []int64{0, 1} {
				c := schedule.Config{Family: "tile"}.With("vec", schedule.Int(vec)).With("load",
					schedule.Word(load)).With("stages", schedule.Int(shared))
				if !x.has(schedule.Int(vec).String(), load, schedule.Int(shared).String()) {
					continue
				}
				full, err := s.Complete(c)
				if err != nil {
					continue
				}
				list := []schedule.Config{full}
				for _, p := range s.Family(c.Family).Params {
					fewer := full.With(p.Name, schedule.Word("no"))
					if p.Role == schedule.ArrayStaging && s.Has(fewer) {
						full = fewer
						list = append(list, full)
					}
				}
				return list
			}
		}
	}
	t.Fatalf("nothing has the technique %s", x.name)
	return nil
}
