package tuner

import (
	_ "embed"
	"strings"
	"testing"
)

// An operator like SW4's in curvilinear coordinates: three kernels of 80 statements
// each over 16 arrays, most of whose variants ask for more than a GPU has.
//
//go:embed testdata/curvilinear.loom
var curvilinear string

// Large bodies do not starve a search: all kernels get their trials.
func TestLargeBodies(t *testing.T) {
	decides(t)
	b := program(t, strings.Replace(curvilinear, "L = 320, M = 320, N = 320", "L = 12, M = 12, N = 12", 1))
	s := newScripted(t, b, smooth)
	o := options(s, b, 3)
	o.Lab = gpu(t, s)
	r := tune(t, o)
	if len(r.Kernels) != 3 || r.Trials != 3 || r.Compilers.Lowering <= 0 {
		t.Fatalf("%d kernels, %d trials, %+v", len(r.Kernels), r.Trials, r.Compilers)
	}
	for _, k := range r.Kernels {
		if len(k.Trials) == 0 {
			t.Errorf("%s: nothing was tried", k.Kernel)
		}
	}
}
