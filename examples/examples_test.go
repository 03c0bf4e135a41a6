package examples

import (
	"flag"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

var update = flag.Bool("update", false, "bring the examples into canonical format")

// programs returns the names of all examples.
func programs(t *testing.T) []string {
	names, err := fs.Glob(FS, "*.loom")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".loom")
	}
	return names
}

func source(t *testing.T, name string) *diag.Source {
	text, err := FS.ReadFile(name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(name+".loom", string(text))
}

func TestFormat(t *testing.T) {
	for _, name := range programs(t) {
		src := source(t, name)
		got, diags := lang.Format(src)
		if diags != nil {
			t.Errorf("%s: %v", name, diags)
		}
		if got == src.Text {
			continue
		}
		if *update {
			if err := os.WriteFile(src.Name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Errorf("%s is not in canonical format; bring it there with -update", src.Name)
	}
}

// complexCodes holds the examples that are longer: eleven stencils of complex
// codes, and cheby, the smoother that goes with them. Each of them has an
// independent check in numpy/NAME.py.
var complexCodes = []string{"addsgd4", "addsgd6", "cheby", "diffterm", "helmholtz", "hypterm", "miniflux",
	"rhs4center", "rhs4sgcurv", "rician", "smooth27", "smooth7"}

// zeroResults holds the results that are zero by design, with the reason.
var zeroResults = map[string]string{
	"diffterm r_t": "neither friction nor conduction changes the density",
}

// Examples are short: at most 39 lines, 70 for SW4 and 120 for those of complex
// codes, that are neither blank nor comments, and no line is wider than 120
// columns.
func TestLength(t *testing.T) {
	for _, name := range programs(t) {
		lines, most := 0, 39
		switch {
		case name == "sw4":
			most = 70
		case slices.Contains(complexCodes, name):
			most = 120
		}
		for line := range strings.Lines(source(t, name).Text) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
			if len(line) > 120 {
				t.Errorf("%s: a line of %d columns", name, len(line))
			}
		}
		if lines > most {
			t.Errorf("%s has %d lines of source, more than %d", name, lines, most)
		}
	}
}

// Every example compiles without a warning and runs at its own size.
func TestExamplesRun(t *testing.T) {
	for _, name := range programs(t) {
		prog := load(t, name, nil)
		set := ""
		for _, s := range prog.Scalars {
			if s.Name == "steps" || s.Name == "sweeps" || s.Name == "generations" || s.Name == "passes" {
				set = s.Name + "=3"
			}
		}
		inputs := make(map[string]field)
		if prog.Grid("photo") != nil {
			inputs["photo"] = photo(t, map[bool]float64{true: 1, false: 255}[prog.Grid("photo").Type.IsFloat()])
		}
		m := run(t, prog, set, inputs)
		for _, g := range prog.Grids {
			if !g.CopyOut {
				continue
			}
			if zeroResults[name+" "+g.Name] != "" {
				if sumOfSquares(m.values(g.Name)) != 0 {
					t.Errorf("%s: %s is not zero", name, g.Name)
				}
				continue
			}
			if err := finite(m.values(g.Name)); err != nil {
				t.Errorf("%s: %s: %v", name, g.Name, err)
			}
		}
	}
}
