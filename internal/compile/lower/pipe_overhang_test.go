package lower_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Rows that are no whole vectors: the last tile ends in their padding, and is computed without guards, too, where rims
// are put in place late.
func TestPipeOverhang(t *testing.T) {
	for n, c := range []struct {
		kind, sum, config string
		rim, beyond       int // cells beyond the end that the loop without guards has
	}{
		{"float", "star", "@2{block=8x32,cells=2x2,stages=1,rims=step,sizes=literals}", 1, 1},
		{"double", "star", "@3{block=8x32,cells=3x2,stages=2,barrier=whole,sizes=literals}", 1, 1},
		{"float", "box", "@2{block=8x32,cells=2x4,stages=1,chunk=0,persistent=1,sizes=literals}", 1, 3},
		{"double", "wide", "@2{block=8x32,cells=3x2,stages=1,rimless=own,sizes=literals}", 2, 1},
		{"double", "wide", "@2{block=8x32,cells=3x2,stages=1}", 2, 0},
		{"float", "wide", "@2{block=8x32,cells=3x1,stages=1,rims=step,sizes=literals}", 2, 0},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(rimTilesText, c.kind, c.rim, c.rim+1, c.rim, c.rim+1, faceSums[c.sum])
			text := "body[0:2]" + strings.Replace(c.config, "{", "{family=pipe,", 1)
			for k, size := range []string{"L=17 M=41 N=97", "L=16 M=53 N=131", "L=19 M=24 N=157", "L=16 M=33 N=67"} {
				b := bind(t, load(t, "odd", source), size)
				m, err := lower.Program(b.Program, lower.Options{
					Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				var cells int
				if _, err := fmt.Sscanf(c.config[strings.Index(c.config, "cells=")+8:], "%d", &cells); err != nil {
					t.Fatal(err)
				}
				last := 32*cells - 1 - c.beyond // what is at the end at the latest, from the tile's first cell on
				s := kernel.Text(m.Kernels[len(m.Kernels)-1])
				want := regexp.MustCompile(fmt.Sprintf(`\(let inner bool .*\(le \(add x_start \(i\d+ %d\)\)`, last))
				if !want.MatchString(s) {
					t.Errorf("%s, %s: nothing is like %v", text, size, want)
				}
				if err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(10*n+k)); err != nil {
					t.Errorf("%s, %s, %s: %v", c.kind, size, text, err)
				}
			}
		})
	}
}
