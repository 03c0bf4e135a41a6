package examples

import (
	"flag"
	"io/fs"
	"os"
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

// Examples are short: at most 40 lines, 70 for SW4, that are neither blank nor
// comments, and no line is wider than 120 columns.
func TestLength(t *testing.T) {
	for _, name := range programs(t) {
		lines, most := 0, 39
		if name == "sw4" {
			most = 70
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
			if err := finite(m.values(g.Name)); err != nil {
				t.Errorf("%s: %s: %v", name, g.Name, err)
			}
		}
	}
}
