package ir_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// jacobi is a program with calls of one stencil over three grids: ab reads a
// and writes b, and so on.
func jacobi(body string) string {
	var calls strings.Builder
	for _, c := range []string{"ab", "ba", "bc", "ca", "ac"} {
		fmt.Fprintf(&calls, `(stage %s (stencil jacobi)
		  (array out written (grid %c)) (array in read (grid %c)) (array f read (grid f))
		  (temp x f64 (box (i (lo 0) (hi 6))))
		  (let x (load f i))
		  (set out (over i) (domain (i (lo 1) (hi 5))) (add (mul (f64 0.3) (load in i-1)) (mul (temp x) (load in i+1)))))
		`, c, c[1], c[0])
	}
	for _, c := range []string{"ab", "ba"} {
		fmt.Fprintf(&calls, `(stage step-%s (stencil stepped)
		  (array out written (grid %c)) (array in read (grid %c))
		  (set out (over i) (domain (i (lo 1) (hi 5))) (add (load in i) (cast f64 (step)))))
		`, c, c[1], c[0])
	}
	// Two fields at once, and a call in which only one of them changes places.
	for _, c := range []string{"abcd", "badc", "badd"} {
		if c[2] == c[3] {
			continue
		}
		fmt.Fprintf(&calls, `(stage two-%s (stencil two)
		  (array o written (grid %c)) (array p read (grid %c)) (array q written (grid %c)) (array r read (grid %c))
		  (set o (over i) (domain (i (lo 1) (hi 5))) (add (load p i+1) (load r i-1)))
		  (set q (over i) (domain (i (lo 2) (hi 6))) (mul (load r i-2) (load p i))))
		`, c, c[0], c[1], c[2], c[3])
	}
	grids := ""
	for _, g := range []string{"a", "b", "c", "d", "f"} {
		grids += fmt.Sprintf("(grid %s f64 (dim i 0 6))\n", g)
	}
	return "(program p (axes i)\n" + grids + calls.String() + "(body " + body + "))"
}

func parsed(t *testing.T, text string) *ir.Program {
	t.Helper()
	p, err := ir.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// bodyOf returns the body of a program's text on one line.
func bodyOf(p *ir.Program) string {
	text := strings.Join(strings.Fields(ir.Text(p)), " ")
	return strings.TrimSuffix(text[strings.Index(text, "(body")+len("(body"):], "))")
}

func TestPingPong(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"(run ab) (run ba)", " (iterate (i32 2) (run ab) (rotate a b))"},
		{"(run ba) (run ab) (run ba) (run ab) (run ba)", " (iterate (i32 4) (run ba) (rotate a b)) (run ba)"},
		{"(run ab)", ""},
		{"(run ab) (run ab)", ""},
		{"(run ab) (run bc)", ""},
		{"(run ab) (run bc) (run ca)", " (iterate (i32 3) (run ab) (rotate a b c))"},
		{"(run ab) (run bc) (run ca) (run ab) (run bc)",
			" (iterate (i32 3) (run ab) (rotate a b c)) (run ab) (run bc)"},
		{"(run ca) (run ab) (run ba)", " (run ca) (iterate (i32 2) (run ab) (rotate a b))"},
		{"(run ab) (rotate a c) (run ba)", ""},
		{"(iterate (i32 5) (run ac) (run ab) (run ba))",
			" (iterate (i32 5) (run ac) (iterate (i32 2) (run ab) (rotate a b)))"},
		{"(run two-abcd) (run two-badc)", " (iterate (i32 2) (run two-abcd) (rotate a b) (rotate c d))"},
		{"(run step-ab) (run step-ba)", ""},
	} {
		p := parsed(t, jacobi(c.body))
		before := ir.Text(p)
		q := ir.PingPong(p)
		if ir.Text(p) != before {
			t.Fatalf("%s: the program has been changed", c.body)
		}
		if c.want == "" {
			if p != q {
				t.Errorf("%s becomes%s", c.body, bodyOf(q))
			}
			continue
		}
		if got := bodyOf(q); got != c.want {
			t.Errorf("%s becomes\n    %s, want\n    %s", c.body, got, c.want)
		}
		if err := ir.Verify(q); err != nil {
			t.Error(err)
		}
		if got, want := final(t, q), final(t, p); !bytes.Equal(got, want) {
			t.Errorf("%s: the loop has another result", c.body)
		}
	}
}

func TestPingPongDropsCalls(t *testing.T) {
	q := ir.PingPong(parsed(t, jacobi("(run ab) (run ba)")))
	if len(q.Calls) != 1 || q.Calls[0].Name != "ab" {
		t.Errorf("the calls left are %v", q.Calls)
	}
}

// final runs a program from grids that are all different, rims too, and
// returns their contents.
func final(t *testing.T, p *ir.Program) []byte {
	t.Helper()
	b, errs := p.Bind(nil)
	if errs != nil {
		t.Fatal(errs[0].Message)
	}
	s, err := interp.New(b, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for k, g := range p.Grids {
		a := s.Grid(g.Name)
		for i := range a.Len() {
			a.Set(i, float64(k+1)+float64(i*i)/7)
		}
	}
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, g := range p.Grids {
		all = append(all, s.Grid(g.Name).Data...)
	}
	return all
}
