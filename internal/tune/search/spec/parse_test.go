package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// show writes an expression with all its parentheses.
func show(e Expr) string {
	switch e := e.(type) {
	case *Number:
		return fmt.Sprint(e.Value)
	case *Word:
		return fmt.Sprintf("%q%s", e.Text, question(e.Optional))
	case *Name:
		return e.Name + question(e.Optional)
	case *Call:
		var args []string
		for _, a := range e.Args {
			args = append(args, show(a))
		}
		return e.Func + "(" + strings.Join(args, " ") + ")"
	case *Unary:
		return "(" + e.Op + " " + show(e.X) + ")"
	case *Binary:
		return "(" + show(e.X) + " " + e.Op + " " + show(e.Y) + ")"
	}
	panic(fmt.Sprintf("%T", e))
}

func question(optional bool) string {
	if optional {
		return "?"
	}
	return ""
}

func TestPrecedence(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2*3 - 4/5%6":               "((1 + (2 * 3)) - ((4 / 5) % 6))",
		"a or b and c":                  "(a or (b and c))",
		"not a == 1 and b":              "((not (a == 1)) and b)",
		"not not a":                     "(not (not a))",
		"-a*b":                          "((- a) * b)",
		"a - -2":                        "(a - (- 2))",
		"(a + b)*c <= NX":               "(((a + b) * c) <= NX)",
		"(a < b) == (c < d)":            "((a < b) == (c < d))",
		`best(block.x*vec?)/min(1,2,3)`: "(best((block.x * vec?)) / min(1 2 3))",
		`product("block.*"?) != "x"`:    `(product("block.*"?) != "x")`,
		"rest1.5":                       "rest1.5",
	} {
		f, list := Parse(diag.NewSource("f", "a = 1 where "+text+";"))
		if list.HasErrors() {
			t.Errorf("%s: %s", text, list[0].Message)
			continue
		}
		e := f.Body[0].(*Step).Where
		if got := show(e); got != want {
			t.Errorf("%s is read as %s, not %s", text, got, want)
		}
		if r := e.Place(); f.Source.Text[r.Start:r.End] != strings.Trim(text, " ") && !strings.Contains(text, "(a") {
			t.Errorf("%s stands at %q", text, f.Source.Text[r.Start:r.End])
		}
	}
}

func TestFile(t *testing.T) {
	f, list := Parse(diag.NewSource("f", `# what it does
# and more
option n = -2;
alias W = block.x?;
limit W > 1;
each "f*"? { repeat n { singly a = all, b? = sample 2 of 1:8:*2; } }
c = {1, "w"}, d = 2:3
`))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	if f.Doc != "what it does" || len(f.Options) != 1 || f.Options[0].Value != -2 || len(f.Limits) != 1 {
		t.Errorf("%+v", f)
	}
	if a := f.Aliases[0]; a.Name != "W" || a.Of.Name != "block.x" || !a.Of.Optional {
		t.Errorf("%+v", a)
	}
	each := f.Body[0].(*Each)
	step := each.Body[0].(*Repeat).Body[0].(*Step)
	sample := step.Items[1].Values.(*Sample).Of.(*Progression)
	if !each.Target.Pattern || !each.Target.Optional || !step.Singly || !step.Items[1].Target.Optional ||
		!sample.Factor {
		t.Errorf("%+v %+v %+v", each.Target, step, sample)
	}
	last := f.Body[1].(*Step)
	if len(last.Items[0].Values.(*List).Each) != 2 || last.Items[1].Values.(*Progression).By != nil ||
		last.Where != nil {
		t.Errorf("%+v", last)
	}
	if got := f.Source.Text[last.Range.Start:last.Range.End]; got != `c = {1, "w"}, d = 2:3` {
		t.Errorf("the last step stands at %q", got)
	}
}

// TestErrorsGoOn reports the mistakes of several statements together, in order.
func TestErrorsGoOn(t *testing.T) {
	src := diag.NewSource("f", "a = ;\nb = 1;\nrepeat 2 {\n\tc = 1:;\n\td = 2;\n}\n@ e = 1;\n")
	f, list := Parse(src)
	var got []string
	for _, d := range list {
		p := src.Position(d.Range.Start)
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Col, d.Message))
	}
	want := []string{"1:5 ; stands where a value is expected", "4:8 ; stands where a value is expected",
		`7:1 "@" has no meaning here`}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q", got)
	}
	if len(f.Body) != 3 {
		t.Errorf("%d statements were read", len(f.Body))
	}
}
