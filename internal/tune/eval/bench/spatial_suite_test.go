package bench

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The list that comes with gridloom has the wide cases, plans that an H200 has room for, and kernels of these that
// compute what plain kernels do, bit for bit.
func TestSpatialSuite(t *testing.T) {
	list, err := SpatialSuite("wide")
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	gpu.Units = 2 // so that blocks that share all tiles have several
	var have []string
	for _, r := range list {
		have = append(have, r.Case+" "+r.DType)
		if r.Must != 0.88 || r.Aim != 0.92 || len(r.Plans) > 12 {
			t.Errorf("%s %s must reach %v and aims at %v, by %d plans", r.Case, r.DType, r.Must, r.Aim, len(r.Plans))
		}
		c := findSpatial(r.Case, r.DType)[0]
		p, err := c.program()
		if err != nil {
			t.Fatal(err)
		}
		large, err := c.bind(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := expect(p.In(arith.Contract), []int64{14, 37, 75})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range r.Plans {
			if q.Predicted < 0.8 || q.Predicted > 1 || q.Idea == "" {
				t.Errorf("%s %s, %s: %v is predicted: %s", r.Case, r.DType, q.Plan, q.Predicted, q.Idea)
			}
			if _, _, err := modules(large, q.Plan, arith.Contract); err != nil {
				t.Errorf("%s %s, %s: %v", r.Case, r.DType, q.Plan, err)
				continue
			}
			plan, err := schedule.ParsePlan(q.Plan)
			if err != nil {
				t.Fatal(err)
			}
			m, err := lower.Program(want.bound.Program, lower.Options{
				Target: lower.GPU, Plan: plan, Bound: want.bound, Sized: true, AnyIntegers: true, Guard: true,
				Machine: gpu,
			})
			if err != nil {
				t.Errorf("%s %s, %s: %v", r.Case, r.DType, q.Plan, err)
				continue
			}
			if err := want.simulated(m); err != nil {
				t.Errorf("%s %s, %s: %v", r.Case, r.DType, q.Plan, err)
			}
		}
	}
	wanted := []string{"star25 double", "star25 float", "star13 double", "star13 float", "box27 float"}
	if !slices.Equal(have, wanted) {
		t.Errorf("the list has %v, not %v", have, wanted)
	}
	if _, err := SpatialSuite("narrow"); err == nil {
		t.Error("a list that does not exist is found")
	}
}

// simulated holds what a module's kernels compute in the simulator to what is expected.
func (e *expectation) simulated(m *kernel.Module) error {
	s, err := sim.NewState(m, e.bound, e.before, sim.Options{})
	if err != nil {
		return err
	}
	if err := s.Run(); err != nil {
		return err
	}
	for _, g := range outputs(m.Program) {
		have, want := s.Grid(g), e.state.Grid(g.Name)
		for n := range want.Len() {
			x, y := have.At(n).AsFloat(), want.At(n)
			if math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y) {
				return fmt.Errorf("%s: cell %d is %v, not %v", g.Name, n, x, y)
			}
		}
	}
	return nil
}

// Lists with mistakes are refused.
func TestParseSpatialSuite(t *testing.T) {
	const row = `{"case": "star25", "dtype": "float", "must": 0.88, "aim": 0.92, "plans": [{"plan": "x"}]}`
	for _, c := range [][2]string{
		{`"star25"`, `"star26"`}, {`"float"`, `"byte"`}, {`[{"plan": "x"}]`, `[]`}, {`"x"`, `""`}, {`"must"`, `"most"`},
		{`"case"`, `case`}, {`"star25"`, `"grayscott"`},
	} {
		if _, err := ParseSpatialSuite([]byte("[" + strings.Replace(row, c[0], c[1], 1) + "]")); err == nil {
			t.Errorf("%s in place of %s is taken", c[1], c[0])
		}
	}
	if list, err := ParseSpatialSuite([]byte("[" + row + "]")); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// Rows are kept case by case, in the place of those of the same plan, the fastest first. A case counts as measured if
// all its plans were tried at the commit.
func TestMergeSpatial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	row := func(name, plan, commit string, rate float64) SpatialRow {
		return SpatialRow{Case: name, DType: "float", Grid: "9x9x9", Plan: plan, GStencils: rate, Commit: commit}
	}
	first := []SpatialRow{row("star25", "a", "1", 3), row("star25", "b", "1", 5)}
	if err := MergeSpatial(path, first); err != nil {
		t.Fatal(err)
	}
	if err := MergeSpatial(path, []SpatialRow{row("star13", "c", "1", 1), row("star25", "a", "2", 7)}); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadSpatial(path)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, r := range rows {
		have = append(have, r.Case+r.Plan+r.Commit)
	}
	if want := []string{"star13c1", "star25a2", "star25b1"}; !slices.Equal(have, want) {
		t.Errorf("the file has %v, not %v", have, want)
	}
	plans := []SpatialPlan{{"a", 0.8, "why"}, {"b", 0, ""}}
	suite := SpatialSuiteRow{Case: "star25", DType: "float", Must: 0.9, Plans: plans}
	if suite.measured(rows, "1") || suite.measured(rows, "2") || !suite.measured(first, "1") {
		t.Error("it is not known which plans were tried at which commit")
	}
	suite.judge(first)
	if first[0].Must != 0.9 || first[0].Predicted != 0.8 || first[0].Idea != "why" || first[1].Predicted != 0 {
		t.Errorf("%+v", first)
	}
	first[1].FractionOfCopy = 0.875
	var out strings.Builder
	WriteSpatialShort(&out, []SpatialSuiteRow{suite, {Case: "star7", DType: "float", Must: 1}}, first)
	if want := "short: star25 float: 0.875 of the copy bound, 0.90 are wanted\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	o := suite.options(SpatialOptions{Plans: []string{"x"}})
	if len(o.Plans) > 0 || len(o.PlanFile["star25"]["float"]) != 2 {
		t.Errorf("%+v", o)
	}
}

// Nothing is begun that would end after the budget.
func TestAllowance(t *testing.T) {
	var log strings.Builder
	a := newAllowance(time.Hour, &log)
	if a.spent(time.Now().Add(-time.Minute)); !a.allows(3) || log.Len() > 0 {
		t.Error("a minute is not there of an hour")
	}
	if a.spent(time.Now().Add(-2 * time.Hour)); a.allows(3) || !strings.Contains(log.String(), "3 rows are left") {
		t.Errorf("two hours are there of one: %s", log.String())
	}
	if none := newAllowance(0, &log); !none.allows(1) {
		t.Error("without a budget there is an end")
	}
}
