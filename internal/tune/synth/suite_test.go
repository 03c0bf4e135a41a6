package synth

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// checked returns a program as the compiler knows it, without a warning.
func checked(t *testing.T, name, text string) *ir.Program {
	t.Helper()
	src := diag.NewSource(name+".loom", text)
	p, list := lang.Load(src)
	if p == nil || len(list) > 0 {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return p
}

// bound returns a program of a text with its sizes.
func bound(t *testing.T, name, text string) *ir.Binding {
	t.Helper()
	b, list := checked(t, name, text).Bind(nil)
	if list.HasErrors() {
		t.Fatalf("%s: %s", name, list[0].Message)
	}
	return b
}

// Every program is right, differs from all others, and reads as many cells as it
// says. Programs of one group have one pattern.
func TestSuites(t *testing.T) {
	counts := map[string]int{
		"garvey": 104, "garvey416": 416, "omnitune": 29, "lift": 8, "drawn2d": 32, "drawn3d": 48, "drawnsystems": 32,
		"drawnwide": 16,
	}
	if len(Suites()) != len(counts) {
		t.Errorf("%d suites", len(Suites()))
	}
	patterns := map[string]string{}
	for _, s := range Suites() {
		list := s.Programs()
		if len(list) != counts[s.Name] {
			t.Errorf("%s has %d programs", s.Name, len(list))
		}
		names, texts := map[string]bool{}, map[string]string{}
		for _, p := range list {
			if names[p.Name] {
				t.Errorf("two programs of %s are %s", s.Name, p.Name)
			}
			names[p.Name] = true
			if was := patterns[p.Group]; was != "" && was != p.Pattern {
				t.Errorf("group %s has patterns %s and %s", p.Group, was, p.Pattern)
			}
			patterns[p.Group] = p.Pattern
			text, err := p.Source(Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(text, "\n")
			if was := texts[body]; was != "" {
				t.Errorf("%s of %s is %s", p.Name, s.Name, was)
			}
			texts[body] = p.Name
			facts := analysis.Analyze(checked(t, p.Name, text), nil)
			if c := facts.Calls[0]; len(facts.Calls) != 1 || c.Loads != float64(p.Points) {
				t.Errorf("%s of %s reads %g cells, not %d", p.Name, s.Name, c.Loads, p.Points)
			}
		}
	}
}

// Recordings were made of the texts of Garvey's kernels.
func TestTextsStay(t *testing.T) {
	h := sha256.New()
	s, err := FindSuite("garvey")
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range Kernels() {
		text := k.Source([3]int{256, 256, 256}, 1)
		if same, err := s.Programs()[i].Source(Options{}); same != text {
			t.Errorf("the program of %s is another one: %v", k.Name(), err)
		}
		h.Write([]byte(text))
		h.Write([]byte(k.Source([3]int{32, 24, 16}, 7)))
	}
	const want = "af6f1b59e9372edeb1152f274636977de78b403d7fca2ff4ff06710a0160a3cb"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("other texts: %s", got)
	}
}

// Programs are right at the smallest size, and in both types.
func TestOptions(t *testing.T) {
	for _, s := range Suites() {
		for n, p := range s.Programs() {
			if n%9 > 0 || p.Points > 150 {
				continue
			}
			least := p.least
			if least == nil {
				least = []int{1, 1}
			}
			text, err := p.Source(Options{Size: least})
			if err != nil {
				t.Fatal(err)
			}
			bound(t, p.Name, text)
			for _, typ := range s.Types {
				text, err := p.Source(Options{Size: least, Type: typ})
				if err != nil {
					t.Fatal(err)
				}
				for _, g := range bound(t, p.Name, text).Program.Grids {
					if g.Type.Word() != typ {
						t.Errorf("%s in %s has a grid of %s", p.Name, typ, g.Type.Word())
					}
				}
			}
			if !s.Seeded {
				continue
			}
			if other, err := p.Source(Options{Size: least, Seed: 2}); err != nil || other == text {
				t.Errorf("%s with another seed: %v", p.Name, err)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	if _, err := FindSuite("garvy"); err == nil || err.Error() !=
		`there is no suite "garvy"; there are garvey, garvey416, omnitune, lift, drawn2d, drawn3d, drawnsystems, drawnwide` {
		t.Error(err)
	}
	for _, c := range []struct {
		suite, name string
		o           Options
		want        string
	}{
		{"lift", "jacobi", Options{}, `suite lift has no program "jacobi"`},
		{"lift", "jacobi5", Options{Size: []int{4, 4, 4}}, "size 4x4x4: grids of suite lift have 2 axes: M, N"},
		{"lift", "jacobi5", Options{Size: []int{0}}, "size 0: M of jacobi5 is 1 to 1073741824"},
		{"lift", "jacobi5", Options{Type: "int"}, "type int: programs of suite lift are float or double"},
		{"lift", "jacobi5", Options{Seed: 3}, "seed 3: programs of suite lift have no random weights"},
		{"garvey", "star-zx-r5", Options{Size: []int{11, 1, 10}}, "size 11x1x10: NX of star-zx-r5 is 11 to 1073741824"},
		{"garvey416", "star-zyx-r1-a3m1", Options{}, `suite garvey416 has no program "star-zyx-r1-a3m1"`},
		{"omnitune", "simple-n1-s1-e1-w1-int", Options{Type: "int"},
			"type int: simple-n1-s1-e1-w1-int has types of its own"},
		{"omnitune", "plain-n1-s1-e1-w1-int", Options{},
			`"plain-n1-s1-e1-w1-int": a body is simple or complex; a name is like simple-n1-s10-e30-w30-int-float`},
		{"omnitune", "simple-n1-s1-e01-w1-int", Options{}, `"simple-n1-s1-e01-w1-int": part 4 is e with 0 to 999 cells, ` +
			`as in e1; a name is like simple-n1-s10-e30-w30-int-float`},
		{"omnitune", "simple-n1-s1-e1-w1-int-int", Options{}, `"simple-n1-s1-e1-w1-int-int": a type that is both that of ` +
			`the input and of the output is named once; a name is like simple-n1-s10-e30-w30-int-float`},
	} {
		s, err := FindSuite(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Find(c.name)
		if err == nil {
			_, err = p.Source(c.o)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %s: %v", c.suite, c.name, err)
		}
	}
}

// The generator makes programs of any border and of any types.
func TestBorders(t *testing.T) {
	for _, complex := range []bool{false, true} {
		for n := range 3 * 3 * 81 {
			b := Border{
				complex, n % 3, n / 3 % 3, n / 9 % 3, n / 27 % 3, borderTypes[n/81%3], borderTypes[n/243%3],
			}
			if again, err := ParseBorder(b.Name()); again != b {
				t.Errorf("%s is read as %v: %v", b.Name(), again, err)
			}
			if n%7 == 0 {
				bound(t, b.Name(), b.Source([2]int{3, 2}, 1))
			}
		}
	}
}
