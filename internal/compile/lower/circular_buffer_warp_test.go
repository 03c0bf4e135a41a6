package lower_test

import (
	"fmt"
	"testing"
)

// The copy engine is told by whole warps, whatever the block's shape. In a warp in which some threads copy and some
// compute, those would wait for planes that these are to bring; one with too few threads would announce too little.
func TestRaggedWarps(t *testing.T) {
	blocks := []string{"3x24", "5x16", "1x48", "2x24", "7x24", "1x40", "3x32", "9x40"}
	copies := []string{"warp", "tensorwarp", "bulk", "tensor"}
	n := 0
	for _, name := range []string{"order 8", "box"} {
		p := load(t, "wide", wideProgram("double", "", wide[name]))
		for _, block := range blocks {
			for _, copy := range copies {
				n++
				text := fmt.Sprintf("family=stream,stream=k,chunk=%d,stages=%d,staging=all,copy=%s,block=%s,vec=2,"+
					"rows=%d,registers=80", 4*(n%3), 1+n%3, copy, block, 1+n%2)
				if n%3 == 0 && copy[0] == 't' {
					text += ",cluster=2"
				}
				b := bind(t, p, []string{"L=11 M=21 N=77", "L=9 M=13 N=50"}[n%2])
				if err := checkStream(t, b, text, uint64(n)); err != nil {
					t.Errorf("%s, %s: %v", name, text, err)
				}
			}
		}
	}
}
