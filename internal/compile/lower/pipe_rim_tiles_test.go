package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

const rimTilesText = `
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
copyin u, v;
stencil s (out, in) {
  [2:L-3, %d:M-%d, %d:N-%d] : out[k][j][i] = %s;
}
iterate 7 { s (v, u); swap (v, u); }
copyout u, v;
`

// The loop without guards puts rims in place at the ends of all tiles, where these are the domain's and the rims are
// no wider than the halo that a stage leaves. Rims have unlike widths, and the domains tiles at the edges and inside.
func TestPipeRimTiles(t *testing.T) {
	sizes := []string{"L=19 M=53 N=130", "L=16 M=24 N=64", "L=17 M=47 N=97", "L=16 M=15 N=40"}
	const all = "y y n y" // for each size: rows of 97 cells are no whole vectors
	for n, c := range []struct {
		kind, sum, config      string
		low, high, first, last int // rims: first and last rows, and first and last cells of a row
		tiles                  string
	}{
		{"float", "star", "@2{block=8x32,cells=2x2,stages=1,rims=step}", 1, 1, 1, 1, all},
		{"double", "star", "@2{block=8x32,cells=2x2,stages=2,rimvec=1}", 1, 1, 1, 1, all},
		{"float", "star", "@3{block=8x32,cells=3x2,stages=1,barrier=whole,rimvec=2}", 1, 1, 1, 1, all},
		{"float", "star", "@2{block=8x32,cells=2x1,stages=1,chunk=0,persistent=1}", 1, 1, 1, 1, "y y y y"},
		{"double", "wide", "@2{block=8x32,cells=3x2,stages=1,rims=step}", 2, 2, 2, 2, all},
		{"float", "wide", "@2{block=8x32,cells=3x4,stages=1}", 2, 2, 2, 2, "n y n y"},
		{"double", "wide", "@2{block=8x32,cells=3x2,stages=1,rimless=own}", 2, 2, 2, 2, all},
		{"double", "box", "@2{block=8x32,cells=2x2,stages=1}", 1, 1, 1, 1, all},
		{"float", "box", "@4{block=8x32,cells=3x2,stages=1,rims=step}", 1, 1, 1, 1, all},
		{"double", "star", "@2{block=8x32,cells=2x2,stages=1}", 1, 2, 1, 1, "n n n n"}, // wider than the halo
		{"double", "star", "@2{block=8x32,cells=2x2,stages=1}", 1, 1, 1, 3, "n n n n"},
		{"double", "star", "@2{block=8x32,cells=2x2,stages=1,cluster=2}", 1, 1, 1, 1, "n n n n"},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			source := fmt.Sprintf(rimTilesText, c.kind, c.low, c.high+1, c.first, c.last+1, faceSums[c.sum])
			text := "body[0:2]" + strings.Replace(c.config, "{", "{family=pipe,sizes=literals,rimtiles=all,", 1)
			for k, size := range sizes {
				b := bind(t, load(t, "tiles", source), size)
				m, err := lower.Program(b.Program, lower.Options{
					Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				got := "n"
				if strings.Contains(kernel.Text(m.Kernels[len(m.Kernels)-1]), "first_lane") {
					got = "y"
				}
				if want := strings.Split(c.tiles, " ")[k]; got != want {
					t.Errorf("%s, %s: rims are put in place at all tiles: %s; %s is right", text, size, got, want)
				}
				if err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(10*n+k)); err != nil {
					t.Errorf("%s, %s, %s: %v", c.kind, size, text, err)
				}
			}
		})
	}
}
