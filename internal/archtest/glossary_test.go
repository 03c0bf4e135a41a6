package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// TestGlossary finds every parameter of the families of kernels in the glossary.
func TestGlossary(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	axes, found := []string{"k", "j", "i"}, 0
	for _, target := range []lower.Target{lower.CPU, lower.GPU} {
		for _, family := range lower.Space(target, axes).Families {
			for _, p := range family.Params {
				found++
				if !hasRow(string(text), p.Name, family.Name) {
					t.Errorf("docs/glossary.md has no row for the parameter %s of the family %s", p.Name, family.Name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("there are %d parameters: the families have more", found)
	}
}

// hasRow reports whether a table has a row for a parameter of a family.
func hasRow(text, parameter, family string) bool {
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[1], "`"+parameter+"`") {
			continue
		}
		of := strings.TrimSpace(cells[2])
		if of == "all" || of == "GPU" && family != "loops" || strings.Contains(of, "`"+family+"`") {
			return true
		}
	}
	return false
}
