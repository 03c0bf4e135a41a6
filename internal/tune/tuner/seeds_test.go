package tuner

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/search"
)

const square = `
parameter M = 256, N = 256;
iterator j, i;
float u[M,N], next[M,N];
stencil five (out, in) { out[j][i] = 0.4*in[j][i] + 0.1*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]); }
five (next, u);
`

const line = `
parameter N = 4096;
iterator i;
float u[N], next[N];
stencil three (out, in) { out[i] = 0.4*in[i] + 0.3*(in[i-1] + in[i+1]); }
three (next, u);
`

// Every seed is a configuration of a plain kernel's space with all that the seed
// says: nothing of it is misspelt or has gone out of use.
func TestSeeds(t *testing.T) {
	for dims, source := range map[int]string{1: line, 2: square, 3: cube} {
		s, choice := kernelOnGPU(t, source)
		k := &kernelSearch{tuning: &tuning{subject: s, opts: Options{}}, call: s.calls[0],
			space: search.Of(choice.Space)}
		list := k.space.Schedule().SeedConfigs()
		seeds := choice.Space.Seeds()
		if want := map[int]int{1: 1, 2: 3, 3: 10}[dims]; len(seeds) != want || len(list) != want {
			t.Fatalf("%d dimensions: %d of %d seeds, not %d", dims, len(list), len(seeds), want)
		}
		wide := map[int]string{1: "vec=4", 2: "vec=4", 3: "vec=2"}[dims] // cells of 16 bytes
		for i, c := range list {
			for _, set := range strings.Split(seeds[i], ",") {
				if !strings.Contains(","+c.String()+",", ","+set+",") {
					t.Errorf("%s: has become %s", seeds[i], c)
				}
			}
		}
		if c := list[0].String(); !strings.Contains(c, ","+wide+",") {
			t.Errorf("%s has no vectors of 16 bytes", c)
		}
		if n := len(k.good()); n != len(list) {
			t.Errorf("%d points of %d seeds", n, len(list))
		}
	}
}
