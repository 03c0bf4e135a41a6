package examples

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The page about the examples has a section for each, in which every command
// names a program, grids, scalars and sizes that there are, and every picture
// shown is one that a command makes or that lies in the tree.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/examples.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), "\\\n", "")
	sections := strings.Split(page, "\n## ")[1:]
	var titles []string
	for _, s := range sections {
		title, body, _ := strings.Cut(s, "\n")
		titles = append(titles, title)
		made := commands(t, title, body)
		shown := strings.Count(body, "![")
		for _, part := range strings.Split(body, "](")[1:] {
			file, _, _ := strings.Cut(part, ")")
			if _, err := os.Stat("../docs/" + file); err != nil && !slices.Contains(made, "docs/"+file) {
				t.Errorf("%s: nothing makes %s", title, file)
			}
		}
		if shown == 0 {
			t.Errorf("%s has no picture", title)
		}
	}
	slices.Sort(titles)
	if want := programs(t); !slices.Equal(titles, want) {
		t.Errorf("sections are %v, examples %v", titles, want)
	}
}

// commands checks the commands of a section and returns the files they write.
func commands(t *testing.T, title, body string) (files []string) {
	prog := load(t, title, nil)
	for line := range strings.Lines(body) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "gridloom" {
			continue
		}
		if words[1] != "run" || words[2] != "examples/"+title+".loom" {
			t.Errorf("%s: %q", title, line)
		}
		for i := 3; i+1 < len(words); i++ {
			name, value, _ := strings.Cut(words[i+1], "=")
			switch words[i] {
			case "--out":
				if g := prog.Grid(name); g == nil || !g.CopyOut {
					t.Errorf("%s: --out %s", title, name)
				}
				files = append(files, value)
			case "--in":
				if g := prog.Grid(name); g == nil || !g.CopyIn {
					t.Errorf("%s: --in %s", title, name)
				}
			case "--set":
				if prog.Scalar(name) == nil && prog.Param(name) < 0 {
					t.Errorf("%s: --set %s", title, name)
				}
			case "--slice":
				if prog.Axis(name) < 0 {
					t.Errorf("%s: --slice %s", title, name)
				}
			}
		}
	}
	if files == nil {
		t.Errorf("%s: no command", title)
	}
	return files
}
