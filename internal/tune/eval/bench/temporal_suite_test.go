package bench

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The list that comes with gridloom has all rows that are to be measured, once, and plans that an
// H200 has room for.
func TestTemporalSuite(t *testing.T) {
	list, err := TemporalSuite("h200")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, r := range list {
		keys[TemporalRow{Case: r.Case, DType: r.DType, Boundary: r.Boundary, Grid: r.Grid, Steps: r.Steps}.Key()] = true
	}
	if len(keys) != len(list) {
		t.Errorf("%d rows, %d different ones", len(list), len(keys))
	}
	var wanted []string
	for _, dtype := range []string{"double", "float"} {
		for _, name := range []string{"star5", "box9", "star9", "box25"} {
			wanted = append(wanted, name+" "+dtype+" none 16384x16384 1000 ", name+" "+dtype+" none 16384x16384 997 ")
		}
		for _, name := range []string{"star7", "star13", "poisson19", "box27"} {
			wanted = append(wanted, name+" "+dtype+" none 512x512x512 1000 ", name+" "+dtype+" none 512x512x512 997 ")
		}
		for _, boundary := range []string{"clamp", "periodic"} {
			wanted = append(wanted, "star5 "+dtype+" "+boundary+" 16384x16384 1000 ",
				"star7 "+dtype+" "+boundary+" 512x512x512 1000 ")
		}
		wanted = append(wanted, "star5 "+dtype+" none 16381x16381 1000 ", "star7 "+dtype+" none 509x511x521 1000 ",
			"star5-axes "+dtype+" none 16384x16384 1000 ", "star9-axes "+dtype+" none 16384x16384 1000 ",
			"star7-axes "+dtype+" none 512x512x512 1000 ", "star13-axes "+dtype+" none 512x512x512 1000 ",
			"wave "+dtype+" none 512x512x512 1000 ", "grayscott "+dtype+" none 512x512x512 1000 ")
	}
	wanted = append(wanted, "star5 float none 1024x1024 10000 ")
	for _, key := range wanted {
		if !keys[key] {
			t.Errorf("there is no row %s", key)
		}
	}
	for _, r := range list {
		if r.Steps == 997 { // has the plan of 1,000
			continue
		}
		w, err := r.wanted()
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.bind(w.set)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range slices.Concat(r.Plans, r.Bare, r.Single) {
			plan, err := schedule.ParsePlan(text)
			if err != nil {
				t.Fatal(err)
			}
			single, bare := i >= len(r.Plans)+len(r.Bare), i >= len(r.Plans)
			m, err := lower.Program(b.Program, lower.Options{
				Target: lower.GPU, Plan: plan, Bound: b, NoInitial: true, Sized: true, AnyIntegers: text != "",
				Bare: bare && !single, Count: i == 0,
			})
			if err != nil {
				t.Errorf("%v %s, %s: %v", w.temporalCase, r.Grid, text, err)
				continue
			}
			if single != (len(m.Spans) == 0) {
				t.Errorf("%v %s, %s: %d kernels of several iterations", w.temporalCase, r.Grid, text, len(m.Spans))
			}
			if i == 0 {
				if useful := m.Spans[0].Work.Useful(); useful < 0.4 || useful > 1 {
					t.Errorf("%v %s, %s: %v of the updates are useful", w.temporalCase, r.Grid, text, useful)
				}
			}
		}
	}
	if _, err := TemporalSuite("h900"); err == nil {
		t.Error("a list that does not exist is found")
	}
}

// Lists with mistakes are refused.
func TestParseSuite(t *testing.T) {
	const row = `{"case": "star5", "dtype": "float", "grid": "21x21", "steps": 9, "plans": ["x"]}`
	for _, c := range [][2]string{
		{`"star5"`, `"star6"`}, {`"float"`, `"byte"`}, {`"21x21"`, `"21"`}, {`9`, `0`}, {`["x"]`, `[]`}, {`"steps"`, `"step"`},
		{`"steps"`, `"boundary": "torus", "steps"`}, {`"case"`, `case`},
	} {
		if _, err := ParseSuite([]byte("[" + strings.Replace(row, c[0], c[1], 1) + "]")); err == nil {
			t.Errorf("%s in place of %s is taken", c[1], c[0])
		}
	}
	if list, err := ParseSuite([]byte("[" + row + "]")); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A list is measured row by row. What is there from the same commit is left out, unless it lacks
// something; a row that fails does not keep the others, and no row begins beyond the budget.
func TestMeasureSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	plans := []string{"body[0:2]@2{family=overlap,block=32,tile=8x32}"}
	list := []SuiteRow{
		{Case: "star5", DType: "float", Grid: "21x30", Steps: 7, Plans: plans},
		{Case: "star5", DType: "float", Grid: "21x30", Steps: 8, Plans: []string{"body[0:2]@2{family=none}"}},
		{Case: "star5", DType: "float", Boundary: "clamp", Grid: "21x30", Steps: 7, Plans: plans},
		{Case: "star5", DType: "double", Grid: "21x30", Steps: 7, Plans: plans},
	}
	var log strings.Builder
	counters := false
	measure := func(commit string, budget time.Duration, types ...string) (keys []string, err error) {
		t.Helper()
		have, err := ReadTemporal(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := MeasureSuite(t.Context(), TemporalOptions{
			Device: "opencl:0", DTypes: types, Commit: commit, Log: &log, Counters: counters,
			Each: func(r TemporalRow) error { return MergeTemporal(path, r) },
		}, list, have, budget)
		for _, r := range rows {
			keys = append(keys, strings.Join([]string{r.DType, r.Boundary, r.Grid}, " "))
		}
		return keys, err
	}
	keys, err := measure("a", 0, "float")
	if want := []string{"float none 21x30", "float clamp 21x30"}; !slices.Equal(keys, want) || err == nil ||
		!strings.Contains(err.Error(), "none of the plans") {
		t.Errorf("%v, %v", keys, err)
	}
	list = slices.Delete(list, 1, 2)
	if keys, err = measure("a", 0); err != nil || !slices.Equal(keys, []string{"double none 21x30"}) {
		t.Errorf("%v, %v", keys, err)
	}
	list[1].Single = []string{""}
	if keys, err = measure("a", 0); err != nil || !slices.Equal(keys, []string{"float clamp 21x30"}) {
		t.Errorf("%v, %v", keys, err)
	}
	counters = true // there are none, and what is measured stays
	if keys, err = measure("a", 0, "double"); err == nil || len(keys) != 0 ||
		!strings.Contains(err.Error(), "issue slots are not counted") {
		t.Errorf("%v, %v", keys, err)
	}
	counters = false
	if keys, err = measure("b", time.Nanosecond); err != nil || len(keys) != 0 ||
		!strings.Contains(log.String(), "3 rows are left") {
		t.Errorf("%v, %v\n%s", keys, err, log.String())
	}
}

// What rows do not reach is said.
func TestWriteShort(t *testing.T) {
	row := SuiteRow{
		Case: "star5-axes", DType: "float", Grid: "9x9", Steps: 1000, Of: "star5", Share: 0.85, Must: 100, Ratio: 3,
		Bare: []string{"x"},
	}
	base := TemporalRow{Case: "star5", DType: "float", Grid: "9x9", Steps: 1000, Device: "d", Rate: 200}
	for _, c := range []struct {
		row  TemporalRow
		want []string
	}{
		{TemporalRow{Rate: 180, Ratio: 3.5, Guarded: 0.96}, nil},
		{TemporalRow{Rate: 160, Ratio: 3.5, Guarded: 0.96}, []string{"0.800 of the 200 GStencil/s of star5"}},
		{TemporalRow{Rate: 90, Ratio: 2, Guarded: 0.9, Spills: 8, Differ: 3}, []string{
			"90.00 GStencil/s of 100", "0.450 of", "2.00 times", "0.900 of what", "8 bytes", "3 cells",
		}},
	} {
		c.row.Case, c.row.DType, c.row.Grid, c.row.Steps, c.row.Device = row.Case, row.DType, row.Grid, row.Steps, "d"
		var out strings.Builder
		WriteShort(&out, []SuiteRow{row}, []TemporalRow{base, c.row})
		if lines := strings.Count(out.String(), "\n"); lines != len(c.want) {
			t.Errorf("%d lines:\n%s", lines, out.String())
		}
		for _, part := range c.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("no %q in\n%s", part, out.String())
			}
		}
	}
}
