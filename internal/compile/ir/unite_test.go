package ir

import (
	"testing"

	"pgregory.net/rapid"
)

func TestUnite(t *testing.T) {
	n := func(c int64) Affine { return ParamAffine(0).Add(c) }
	span := func(lo, hi Affine) Range { return Range{Lo: []Affine{lo}, Hi: []Affine{hi}} }
	clipped := func(r Range, s Range) Range { r.Clip(s); return r }
	extent := span(Num(0), n(-1))
	for _, c := range []struct {
		name    string
		a, b    Range
		want    Range
		refused bool
	}{
		{name: "the first plane and the rest", a: clipped(span(Num(0), Num(0)), extent), b: span(Num(1), n(-1)),
			want: extent},
		{name: "the last plane and the rest", a: span(n(-1), n(-1)), b: span(Num(0), n(-2)), want: extent},
		{name: "constant bounds", a: clipped(span(Num(0), Num(3)), extent), b: span(Num(4), n(-1)), want: extent},
		{name: "an overlap", a: span(Num(0), n(-2)), b: span(Num(1), n(-1)), want: extent},
		{name: "a gap at one size", a: span(Num(0), n(-3)), b: span(Num(2), n(-1)), refused: true},
		{name: "a part", a: extent, b: span(Num(1), n(-2)), want: extent},
		{name: "a gap", a: clipped(span(Num(0), Num(3)), extent), b: span(Num(5), n(-1)), refused: true},
		{name: "an end that is not known to be the last", a: span(Num(0), Num(5)), b: span(Num(3), n(-1)),
			refused: true},
	} {
		for _, swapped := range []bool{false, true} {
			a, b := Box{c.a}, Box{c.b}
			if swapped {
				a, b = b, a
			}
			got, ok := a.Unite(b)
			if ok == c.refused || ok && !got[0].Equal(c.want) {
				t.Errorf("%s: %v, %t", c.name, got, ok)
			}
		}
	}
}

// TestUniteIsTheUnion compares with the cells themselves at all small sizes at
// which both boxes hold cells.
func TestUniteIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Custom(func(t *rapid.T) Affine {
			a := Num(rapid.Int64Range(-2, 4).Draw(t, "const"))
			for p := range 2 {
				a = a.Plus(ParamAffine(p).Times(rapid.SampledFrom([]int64{0, 0, 1, 1, 2, -1}).Draw(t, "coef")))
			}
			return a
		})
		bounds := rapid.SliceOfN(bound, 1, 2)
		box := func(name string) Box {
			b := Box{}
			for range 2 {
				b = append(b, Range{Lo: bounds.Draw(t, name+" lo"), Hi: bounds.Draw(t, name+" hi")})
			}
			return b
		}
		b, c := box("b"), box("c")
		if rapid.Bool().Draw(t, "one axis") {
			c[0] = b[0]
		}
		u, ok := b.Unite(c)
		if !ok {
			return
		}
		for n := range int64(36) {
			sizes := []int64{n/6 + 1, n%6 + 1}
			if cells(b, sizes) == 0 || cells(c, sizes) == 0 {
				continue
			}
			for x := int64(-9); x <= 20; x++ {
				for y := int64(-9); y <= 20; y++ {
					in := holds(b, sizes, x, y) || holds(c, sizes, x, y)
					if in != holds(u, sizes, x, y) {
						t.Fatalf("at sizes %v the union %v of %v and %v is wrong at %d, %d", sizes, u, b, c, x, y)
					}
				}
			}
		}
	})
}

func cells(b Box, sizes []int64) int64 {
	n := int64(1)
	for _, r := range b {
		n *= r.Eval(sizes, Extent{}).Len()
	}
	return n
}

func holds(b Box, sizes []int64, at ...int64) bool {
	for i, r := range b {
		if e := r.Eval(sizes, Extent{}); at[i] < e.Lo || at[i] > e.Hi {
			return false
		}
	}
	return true
}
