package lang

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
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

// checked checks a source and returns its diagnostics and, if it is right, its
// program, which must pass the verifier and survive its text form.
func checked(t *testing.T, src *diag.Source) (string, *ir.Program) {
	t.Helper()
	p, diags := Load(src)
	out := diag.Render(src, diags, diag.Style{})
	if (p == nil) != diags.HasErrors() {
		t.Fatalf("program %v with\n%s", p != nil, out)
	}
	if p == nil {
		return out, nil
	}
	if err := ir.Verify(p); err != nil {
		t.Fatalf("%v in\n%s", err, ir.Text(p))
	}
	text := ir.Text(p)
	back, err := ir.ParseText(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if again := ir.Text(back); again != text {
		t.Fatalf("text form changes from\n%s\nto\n%s", text, again)
	}
	return out, p
}

// TestCheckErrors shows what is said of mistakes; right programs show nothing.
func TestCheckErrors(t *testing.T) {
	runCases(t, "check.txt", func(t *testing.T, c testCase) string {
		out, _ := checked(t, c.src())
		return out
	})
}

// TestCheck shows programs and what the checker makes of them.
func TestCheck(t *testing.T) {
	runCases(t, "program.txt", func(t *testing.T, c testCase) string {
		out, p := checked(t, c.src())
		if p == nil {
			t.Fatal(out)
		}
		return out + ir.Text(p)
	})
}

func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.loom", "x.idsl"} {
			checked(t, diag.NewSource(name, text))
		}
	})
}
