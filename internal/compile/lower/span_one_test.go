package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// A kernel of a loop may hold one iteration of a single statement, by the families that carry out several.
func TestSpanOfOneStatement(t *testing.T) {
	for n, config := range []string{
		"family=planes,block=4x32",
		"family=planes,block=8x32,rows=2,chunk=7,stages=1,copy=tensor,unroll=4,sizes=literals",
		"family=planes,block=4x16,stages=2,columns=none,refetch=no",
		"family=pipe,block=4x32,cells=2x2,stages=1",
		"family=pipe,block=8x32,cells=2x2,stages=0,chunk=7",
		"family=overlap,block=256,tile=4x8x32",
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			for k, name := range []string{"star", "wide", "box"} {
				for m, boundary := range []string{"boundary u, v : clamp;", ""} {
					source := fmt.Sprintf(carriedText, "double", boundary, "out[k][j][i] = "+faceSums[name]+";")
					size := []string{"L=14 M=33 N=70", "L=5 M=9 N=131"}[(k+m)%2]
					b := bind(t, load(t, "one", source), size).In(arith.Contract)
					if err := checkSpan(t, lower.GPU, b, "body[0:2]@1{"+config+"}", uint64(10*n+k+3*m)); err != nil {
						t.Errorf("%s, %s, %s: %v", name, boundary, size, err)
					}
				}
			}
		})
	}
}
