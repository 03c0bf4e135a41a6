package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
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

// TestGlossaryOfFormerSpellings finds every former spelling there, with that of today.
func TestGlossaryOfFormerSpellings(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "### Former spellings")
	rows := 0
	for _, line := range strings.Split(table, "\n") {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	formers := schedule.Formers()
	if rows != len(formers) {
		t.Errorf("%d rows for %d former spellings", rows, len(formers))
	}
	for _, f := range formers {
		found := false
		for _, line := range strings.Split(table, "\n") {
			cells := strings.Split(line, "|")
			if len(cells) != 5 || !strings.Contains(cells[1], "`"+f.Name+"=") {
				continue
			}
			found = strings.Contains(cells[2], "`"+f.Now+"=") && strings.TrimSpace(cells[3]) == f.Since
			for _, v := range f.Values {
				is := func(cell, value string) bool {
					return strings.Contains(cell, "="+value+"`") || strings.Contains(cell, "`"+value+"`")
				}
				found = found && is(cells[1], v.Value) && is(cells[2], v.Now)
			}
		}
		if !found {
			t.Errorf("docs/glossary.md does not say that %s was %s before %s", f.Now, f.Name, f.Since)
		}
	}
}
