package ir

import (
	"testing"

	"pgregory.net/rapid"
)

var sizes = []*Param{{Name: "L"}, {Name: "M"}, {Name: "N"}}

func affines() *rapid.Generator[Affine] {
	return rapid.Custom(func(t *rapid.T) Affine {
		a := Num(rapid.Int64Range(-5, 5).Draw(t, "constant"))
		for p := range sizes {
			a = a.Plus(ParamAffine(p).Times(rapid.Int64Range(-2, 2).Draw(t, "factor")))
		}
		return a
	})
}

func TestAffineText(t *testing.T) {
	l, m, n := ParamAffine(0), ParamAffine(1), ParamAffine(2)
	for _, c := range []struct {
		a    Affine
		want string
	}{
		{Num(0), "0"},
		{Num(-3), "-3"},
		{n, "N"},
		{n.Add(-1), "N-1"},
		{n.Times(2).Add(1), "2*N+1"},
		{l.Minus(m).Plus(n.Times(3)), "L-M+3*N"},
		{l.Times(-1).Minus(m.Times(2)), "-L-2*M"},
		{l.Plus(m).Minus(l), "M"},
	} {
		if got := c.a.Text(sizes); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAffineArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := affines().Draw(t, "a"), affines().Draw(t, "b")
		c := rapid.Int64Range(-3, 3).Draw(t, "c")
		at := []int64{rapid.Int64Range(1, 9).Draw(t, "L"), rapid.Int64Range(1, 9).Draw(t, "M"),
			rapid.Int64Range(1, 9).Draw(t, "N")}
		for _, x := range []struct {
			name string
			got  int64
			want int64
		}{
			{"plus", a.Plus(b).Eval(at), a.Eval(at) + b.Eval(at)},
			{"minus", a.Minus(b).Eval(at), a.Eval(at) - b.Eval(at)},
			{"times", a.Times(c).Eval(at), c * a.Eval(at)},
			{"add", a.Add(c).Eval(at), a.Eval(at) + c},
		} {
			if x.got != x.want {
				t.Fatalf("%s of %s and %s: %d, want %d", x.name, a.Text(sizes), b.Text(sizes), x.got, x.want)
			}
		}
		if d, ok := a.Diff(b); ok != a.Minus(b).IsConst() || ok && d != a.Eval(at)-b.Eval(at) {
			t.Fatalf("the difference of %s and %s is %d, %t", a.Text(sizes), b.Text(sizes), d, ok)
		}
		r := &reader{p: &Program{Params: sizes}}
		if back := r.affine(printer{r.p}.affine(a)); !back.Equal(a) {
			t.Fatalf("%s reads back as %s", a.Text(sizes), back.Text(sizes))
		}
	})
}

// A clipped range holds what both hold, and a bound that another implies is
// gone.
func TestClip(t *testing.T) {
	n := ParamAffine(2)
	var r Range
	r.ClipLo(Num(0))
	r.ClipLo(Num(2))
	r.ClipLo(Num(1))
	r.ClipHi(n)
	r.ClipHi(Num(7))
	r.ClipHi(n.Add(-3))
	r.ClipHi(n.Add(-1))
	want := Range{Lo: []Affine{Num(2)}, Hi: []Affine{Num(7), n.Add(-3)}}
	if !r.Equal(want) {
		t.Errorf("got %v, want %v", r, want)
	}
	far := Extent{-100, 100}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Range {
			var r Range
			for range rapid.IntRange(0, 3).Draw(t, name) {
				r.ClipLo(affines().Draw(t, "lo"))
				r.ClipHi(affines().Draw(t, "hi"))
			}
			return r
		}
		a, b := draw("a"), draw("b")
		both := Box{a}.Clone()
		both.Clip(Box{b})
		at := []int64{rapid.Int64Range(1, 9).Draw(t, "L"), rapid.Int64Range(1, 9).Draw(t, "M"),
			rapid.Int64Range(1, 9).Draw(t, "N")}
		x, y, z := a.Eval(at, far), b.Eval(at, far), both[0].Eval(at, far)
		if z != (Extent{max(x.Lo, y.Lo), min(x.Hi, y.Hi)}) {
			t.Fatalf("%v and %v make %v", x, y, z)
		}
		if both[0].Empty() && z.Len() > 0 || a.Disjoint(b) && z.Len() > 0 {
			t.Fatalf("%v is not empty", z)
		}
		moved := a.Shift(3).Eval(at, far)
		if len(a.Lo) > 0 && moved != (Extent{x.Lo + 3, x.Hi + 3}) {
			t.Fatalf("%v moves to %v", x, moved)
		}
	})
}

// Above and Below are bounds for all sizes, and exact where one of the two is.
func TestAboveAndBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Affine {
			out := Num(rapid.Int64Range(-9, 9).Draw(t, name))
			for q := range 3 {
				out = out.Plus(ParamAffine(q).Times(rapid.Int64Range(-2, 2).Draw(t, name)))
			}
			return out
		}
		a, b := draw("a"), draw("b")
		above, below := Above(a, b), Below(a, b)
		for range 20 {
			var sizes []int64
			for range 3 {
				sizes = append(sizes, rapid.Int64Range(1, 50).Draw(t, "size"))
			}
			x, y := a.Eval(sizes), b.Eval(sizes)
			if above.Eval(sizes) < max(x, y) || below.Eval(sizes) > min(x, y) {
				t.Fatalf("at %v: %d and %d are not between %d and %d", sizes, x, y, below.Eval(sizes),
					above.Eval(sizes))
			}
		}
		if b.Minus(a).NeverNegative() && (!above.Equal(b) || !below.Equal(a)) {
			t.Fatalf("%v is never above %v, and they are between %v and %v", a, b, below, above)
		}
	})
}
