package lang

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

var update = flag.Bool("update", false, "write what the code does into the golden files")

// testCase is one entry of a case file: a name, a source text and what is
// expected of it.
type testCase struct {
	name, source, want string
}

const (
	caseMark = "=== "
	wantMark = "---\n"
)

// runCases runs every case of a file under testdata:
//
//	=== name
//	source text
//	---
//	what do returns for it
func runCases(t *testing.T, file string, do func(t *testing.T, c testCase) string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	cases := readCases(t, path)
	var out strings.Builder
	for i := range cases {
		c := cases[i]
		var got string
		t.Run(c.name, func(t *testing.T) {
			got = do(t, c)
			if got != c.want && !*update {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
		out.WriteString(caseMark + c.name + "\n" + c.source + wantMark + got + "\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readCases(t testing.TB, path string) []testCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	for _, part := range strings.Split("\n"+string(data), "\n"+caseMark)[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		source, want, ok := strings.Cut("\n"+rest+"\n", "\n"+wantMark)
		if !ok {
			source, want = "\n"+rest, ""
		}
		want = strings.TrimRight(want, "\n")
		if want != "" {
			want += "\n"
		}
		source = strings.TrimRight(source, "\n")
		cases = append(cases, testCase{name, strings.TrimPrefix(source+"\n", "\n"), want})
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", path)
	}
	return cases
}

// fileName returns the name that a case's source goes by: x.idsl if the case
// asks for the ancestor's rules.
func (c testCase) fileName() string {
	if strings.Contains(c.name, ".idsl") {
		return "x.idsl"
	}
	return "x.loom"
}

func (c testCase) src() *diag.Source { return diag.NewSource(c.fileName(), c.source) }

func TestSyntaxErrors(t *testing.T) {
	runCases(t, "syntax.txt", func(t *testing.T, c testCase) string {
		src := c.src()
		_, diags := Parse(src)
		return diag.Render(src, diags, diag.Style{})
	})
}

func TestFormat(t *testing.T) {
	runCases(t, "format.txt", func(t *testing.T, c testCase) string {
		src := c.src()
		out, diags := Format(src)
		if diags.HasErrors() {
			t.Fatal(diag.Render(src, diags, diag.Style{}))
		}
		checkFormat(t, c.source)
		return out
	})
}
