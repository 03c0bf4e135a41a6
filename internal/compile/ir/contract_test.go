package ir

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
)

// contracted is the value of a statement under contract.
func contracted(t *testing.T, value string) (string, *Program) {
	t.Helper()
	p, err := ParseText(`(program p (axes i) (param N) (scalar n i32 argument used) (scalar r f64 argument used)
	  (grid u f64 copyin (dim i 0 N-1)) (grid v f32 copyin (dim i 0 N-1)) (grid out f64 copyout (dim i 0 N-1))
	  (stage s (array u read (grid u)) (array v read (grid v)) (array out written (grid out)) (temp x f64)
	    (let x (mul (f64 3) (scalar r)))
	    (set out (over i) (domain (i (lo 0) (hi N-1))) ` + value + `))
	  (body (run s)))`)
	if err != nil {
		t.Fatal(err)
	}
	q := p.In(arith.Contract)
	if err := Verify(q); err != nil {
		t.Fatal(err)
	}
	body := q.Calls[0].Body
	return strings.Join(strings.Fields(q.ExprText(body[len(body)-1].Value)), " "), p
}

func TestContract(t *testing.T) {
	const a, b, c, d = "(load u i)", "(scalar r)", "(f64 3)", "(temp x)"
	names := strings.NewReplacer("A", a, "B", b, "C", c, "D", d)
	for _, test := range []struct{ value, want string }{
		{"(add A (mul B C))", "(fma B C A)"},
		{"(sub A (mul B C))", "(fma (neg B) C A)"},
		{"(add (mul B C) A)", "(fma B C A)"},
		{"(sub (mul B C) A)", "(fma B C (neg A))"},
		// The second operand comes first.
		{"(add (mul A B) (mul B C))", "(fma B C (mul A B))"},
		{"(sub (mul A B) (mul B C))", "(fma (neg B) C (mul A B))"},
		// Signs are seen through, and taken together.
		{"(add A (neg (mul B C)))", "(fma (neg B) C A)"},
		{"(sub A (neg (mul B C)))", "(fma B C A)"},
		{"(sub A (neg (neg (mul B C))))", "(fma (neg B) C A)"},
		{"(add (neg (mul B C)) A)", "(fma (neg B) C A)"},
		{"(sub (neg (mul B C)) A)", "(fma (neg B) C (neg A))"},
		{"(sub A (mul (neg B) C))", "(fma B C A)"},
		{"(sub A (mul C B))", "(fma (f64 -3) B A)"},
		{"(sub (mul B C) (f64 0.5))", "(fma B C (f64 -0.5))"},
		// Sums of several products, one after the other.
		{"(add (add A (mul B C)) (mul C D))", "(fma C D (fma B C A))"},
		{"(add (mul (add A (mul B C)) B) D)", "(fma (fma B C A) B D)"},
		// What is no product.
		{"(add A D)", "(add A D)"},
		{"(add A (powi 2 B))", "(add A (powi 2 B))"},
		{"(add A (div B C))", "(add A (div B C))"},
		{"(add A (call sqrt B))", "(add A (call sqrt B))"},
		{"(add A (cast f64 (mul B C)))", "(add A (cast f64 (mul B C)))"},
		{"(add A (select (lt A B) (mul B C) C))", "(add A (select (lt A B) (mul B C) C))"},
		{"(min A (mul B C))", "(min A (mul B C))"},
		{"(mul A (mul B C))", "(mul A (mul B C))"},
		// Integers have nothing to round. A product of another type is converted.
		{"(cast f64 (add (scalar n) (mul (scalar n) (scalar n))))",
			"(cast f64 (add (scalar n) (mul (scalar n) (scalar n))))"},
		{"(add A (cast f64 (mul (load v i) (load v i))))", "(add A (cast f64 (mul (load v i) (load v i))))"},
		{"(cast f64 (add (load v i) (mul (load v i) (load v i))))",
			"(cast f64 (fma (load v i) (load v i) (load v i)))"},
	} {
		got, _ := contracted(t, names.Replace(test.value))
		if want := names.Replace(test.want); got != want {
			t.Errorf("%s becomes\n  %s, want\n  %s", test.value, got, want)
		}
	}
}

func TestIn(t *testing.T) {
	_, p := contracted(t, "(add (load u i) (cast f64 (mul (scalar r) (f64 3))))")
	text := Text(p)
	c := p.In(arith.Contract)
	if c.In(arith.Strict) != p || p.In(arith.Strict) != p || c.In(arith.Contract) != c ||
		c.In(arith.Fast).Arithmetic != arith.Fast {
		t.Error("modes are not reached from each other")
	}
	if Text(p) != text {
		t.Error("the program itself has changed")
	}
	// Nothing keeps products from sums where all may be rearranged.
	if fast := Text(p.In(arith.Fast)); !strings.Contains(fast, "(arithmetic fast)") ||
		strings.Contains(fast, "(cast f64") {
		t.Error(fast)
	}
	back, err := ParseText(Text(c))
	if err != nil || Text(back) != Text(c) || back.Arithmetic != arith.Contract {
		t.Errorf("it does not read back: %v\n%s", err, Text(c))
	}
	defer func() {
		if recover() == nil {
			t.Error("what was read as contract became strict")
		}
	}()
	back.In(arith.Strict)
}

func TestFmaIsVerified(t *testing.T) {
	const head, tail = "(program p (axes i) ", " (grid u f64 copyout (dim i 0 3)) (grid v f32 (dim i 0 3)) " +
		"(stage s (array u read written (grid u)) (array v read (grid v)) (set u (over i) (domain (i (lo 0) (hi 3))) " +
		"VALUE)) (body (run s)))"
	for _, c := range []struct{ mode, value, want string }{
		{"(arithmetic contract)", "(fma (load u i) (load u i) (f64 1))", ""},
		{"", "(fma (load u i) (load u i) (f64 1))", "is fused, and the arithmetic is strict"},
		{"(arithmetic fast)", "(fma (load u i) (load u i) (f64 1))", "is fused, and the arithmetic is fast"},
		{"(arithmetic contract)", "(fma (load u i) (load u i) (load v i))", "has operands that do not fit"},
		{"(arithmetic contract)", "(cast f64 (fma (i32 1) (i32 2) (i32 3)))", "has operands that do not fit"},
	} {
		p, err := ParseText(head + c.mode + strings.Replace(tail, "VALUE", c.value, 1))
		if err != nil {
			t.Fatal(err)
		}
		err = Verify(p)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.mode, c.value, err, c.want)
		}
	}
	if _, err := ParseText(head + "(arithmetic loose)" + tail); err == nil || !strings.Contains(err.Error(), "loose") {
		t.Error(err)
	}
}
