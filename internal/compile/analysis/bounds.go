package analysis

import "github.com/gridloom/gridloom/internal/compile/ir"

// least returns the smallest value that a takes over all sizes, if it has one.
// Every parameter is at least 1.
func least(a ir.Affine) (int64, bool) {
	v := a.Const
	for _, t := range a.Terms {
		if t.Coef < 0 {
			return 0, false
		}
		v += t.Coef
	}
	return v, true
}

// atLeast reports whether a >= b for all sizes.
func atLeast(a, b ir.Affine) bool {
	v, ok := least(a.Minus(b))
	return ok && v >= 0
}

// aboveAll reports whether every position in r is at or above every bound in
// los, for all sizes: some lower bound of r is.
func aboveAll(r ir.Range, los []ir.Affine) bool {
	for _, lo := range los {
		ok := false
		for _, x := range r.Lo {
			ok = ok || atLeast(x, lo)
		}
		if !ok {
			return false
		}
	}
	return true
}

// belowAll is aboveAll for upper bounds.
func belowAll(r ir.Range, his []ir.Affine) bool {
	for _, hi := range his {
		ok := false
		for _, x := range r.Hi {
			ok = ok || atLeast(hi, x)
		}
		if !ok {
			return false
		}
	}
	return true
}

// disjoint reports whether r and s share no position, for all sizes.
func disjoint(r, s ir.Range) bool {
	for _, lo := range append(append([]ir.Affine(nil), r.Lo...), s.Lo...) {
		for _, hi := range append(append([]ir.Affine(nil), r.Hi...), s.Hi...) {
			if atLeast(lo.Add(-1), hi) {
				return true
			}
		}
	}
	return false
}

// single reports whether r holds the position c and no other, for all sizes.
func single(r ir.Range, c int64) bool {
	at := ir.Num(c)
	return aboveAll(r, []ir.Affine{at}) && belowAll(r, []ir.Affine{at})
}
