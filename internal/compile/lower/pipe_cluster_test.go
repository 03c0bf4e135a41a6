package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Blocks of a cluster compute one tile.
func TestPipeClusters(t *testing.T) {
	for n, c := range []struct{ program, size, plan string }{
		{"star in 3D", "L=11 M=23 N=60", "body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7,cluster=2}"},
		{"star in 3D", "L=11 M=23 N=60", "body[0:2]@3{family=pipe,block=4x32,cells=2x1,chunk=7,barrier=whole,cluster=2}"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			for _, p := range spanPrograms {
				if p.name == c.program {
					b := bind(t, load(t, "span", strings.Replace(p.text, "iterate T", "iterate 7", 1)), c.size)
					if err := checkSpan(t, lower.GPU, b.In(arith.Contract), c.plan, uint64(n)); err != nil {
						t.Errorf("%s, %s: %v", c.size, c.plan, err)
					}
				}
			}
		})
	}
}
