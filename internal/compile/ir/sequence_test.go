package ir_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Calls outside of loops are sequences if they assign two grids, with the grids that are of use inside of them alone.
func TestSequences(t *testing.T) {
	const head = `parameter N = 9;
iterator j, i;
double a[N,N], b[N,N], c[N,N], d[N,N];
copyin a; copyout d;
stencil copy (o, u) { o[j][i] = u[j][i]; }
stencil add (o, u) { o[j][i] += u[j][i]; }
`
	for _, c := range []struct{ name, steps, want string }{
		{"one statement", "copy (d, a);", "(sequence (run copy))"},
		{"a grid between two calls", "copy (b, a); copy (d, b);",
			"(sequence (temporary b) (run copy) (run copy.2))"},
		{"a loop reads it later", "copy (b, a); copy (c, b); iterate 3 { add (d, b); }",
			"(sequence (temporary c) (run copy) (run copy.2)) (iterate (i32 3) (run add))"},
		{"it changes places with another", "copy (b, a); copy (d, b); swap (b, c);",
			"(sequence (run copy) (run copy.2) (rotate b c))"},
		{"it is read first", "add (b, a); copy (d, b);", "(sequence (run add) (run copy))"},
		{"it is a result", "copy (d, a); add (d, a);", "(sequence (run copy) (run add))"},
		{"a loop parts two", "copy (b, a); copy (d, b); iterate 2 { add (d, a); } copy (c, a); add (d, c);",
			"(sequence (temporary b) (run copy) (run copy.2)) (iterate (i32 2) (run add)) " +
				"(sequence (temporary c) (run copy.3) (run add.2))"},
		{"a loop has one", "iterate 2 { copy (b, a); copy (d, b); }",
			"(iterate (i32 2) (temporary b) (run copy) (run copy.2))"},
		{"the loop around it reads what is left", "iterate 2 { iterate 3 { copy (b, a); copy (d, b); } add (d, b); }",
			"(iterate (i32 2) (iterate (i32 3) (run copy) (run copy.2)) (run add))"},
		{"the next iteration reads what is left", "iterate 2 { add (b, a); copy (d, b); }",
			"(iterate (i32 2) (run add) (run copy))"},
	} {
		src := diag.NewSource("t.loom", head+c.steps)
		p, list := lang.Load(src)
		if list.HasErrors() {
			t.Fatal(diag.Render(src, list, diag.Style{}))
		}
		text := ir.Text(p)
		body := strings.Join(strings.Fields(text[strings.Index(text, "(body"):]), " ")
		if want := "(body " + c.want + "))"; body != want {
			t.Errorf("%s: %s, and not %s", c.name, body, want)
		}
		if err := ir.Verify(p); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		again, err := ir.ParseText(text)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if ir.Text(again) != text {
			t.Errorf("%s: read again it is\n%s", c.name, ir.Text(again))
		}
		p.Keep(p.Grid("b"))
		for _, o := range p.Body {
			if it, ok := o.(*ir.Iterate); ok && it.Sequence && it.Range != it.Body[0].(*ir.Run).Call.Range {
				t.Errorf("%s: a sequence is at %v, and its first call at %v", c.name, it.Range,
					it.Body[0].(*ir.Run).Call.Range)
			}
		}
		if text := ir.Text(p); strings.Contains(text, "temporary b") {
			t.Errorf("%s: a grid that was asked for is left out\n%s", c.name, text)
		}
	}
}

// What a sequence must not be is found.
func TestWrongSequences(t *testing.T) {
	const head = `(program x (axes i) (param N) (grid a f64 (dim i 0 N-1) (copyin)) (grid b f64 (dim i 0 N-1))
  (grid d f64 (dim i 0 N-1))
  (stage s (array a read (grid a)) (array b written (grid b))
    (set b (over i) (domain (i (lo 0) (hi N-1))) (load a i)))
  (stage r (array b read (grid b)) (array d written (grid d))
    (set d (over i) (domain (i (lo 0) (hi N-1))) (load b i)))
  (body `
	for _, c := range []struct{ body, want string }{
		{"(iterate (i32 2) (sequence (run s) (run r)))", "outside of loops"},
		{"(sequence (run s) (iterate (i32 2) (run r)))", "outside of loops"},
		// No grid is named as a result: all are.
		{"(sequence (temporary b) (run s) (run r))", "b is no temporary grid of an iterate"},
	} {
		p, err := ir.ParseText(strings.Replace(head, "(copyin)", "", 1) + c.body + "))")
		if err == nil {
			err = ir.Verify(p)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, and not %s", c.body, err, c.want)
		}
	}
}
