package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The manual has a section for every command, which names all of its options,
// and every command's help has examples.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		sections[title] = body
	}
	a := &app{}
	parser, err := a.grammar(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Children {
		body, ok := sections[n.Name]
		if !ok {
			t.Errorf("docs/cli.md has no section %s", n.Name)
		}
		leaves := append([]*kong.Node{n}, n.Children...)
		for _, leaf := range leaves {
			if !strings.Contains(leaf.Detail, "Examples:\n\n\t") {
				t.Errorf("gridloom %s --help has no examples", leaf.Path())
			}
			if leaf != n && !strings.Contains(body, "| `"+leaf.Name+"` |") {
				t.Errorf("docs/cli.md does not name %s", leaf.Path())
			}
			for _, f := range leaf.Flags {
				if !strings.Contains(body, "--"+f.Name) {
					t.Errorf("docs/cli.md does not name --%s of %s", f.Name, leaf.Path())
				}
				if f.Short != 0 && !strings.Contains(body, "`-"+string(f.Short)+"`") {
					t.Errorf("docs/cli.md does not name -%c of %s", f.Short, leaf.Path())
				}
			}
		}
	}
}
