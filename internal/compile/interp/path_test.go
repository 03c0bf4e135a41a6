package interp_test

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
)

// The condition compares a result of rounding with itself: no bound decides it.
const undecided = `(program undecided
  (axes i)
  (arithmetic contract)
  (param N)
  (scalar top f64 reduced used)
  (grid u f64 copyout (dim i 0 N-1 (low clamp) (high clamp)))
  (stage s
    (array u read written (grid u))
    (set u (over i) (domain (i (lo 0) (hi N-1))) (fma (f64 0.3) (load u i) (f64 0.1)))
    (reduce max top (over i) (domain (i (lo 0) (hi N-1))) (load u i)))
  (body
    (until (gt (scalar top) (mul (mul (scalar top) (f64 0.5)) (f64 2))) (check 1) (max 5) (run s))))`

func TestSamePath(t *testing.T) {
	for _, same := range []bool{false, true} {
		s := start(t, undecided, "N=4", interp.Options{Bounds: interp.Unfused, SamePath: same})
		run(t, s)
		if !s.Undecided() {
			t.Error("the loop's end counts as decided")
		}
		scalar := s.Program().Scalar("top")
		_, top := s.Scalar(scalar)
		for k, b := range append([]float64{top}, s.Grid("u").Bound...) {
			if lost := math.IsInf(b, 1); lost == same || b == 0 {
				t.Errorf("same path %v: bound %d is %v", same, k, b)
			}
		}
	}
}
