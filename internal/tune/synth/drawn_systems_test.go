package synth

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
)

// Drawn systems have all kinds of differences, few and many, on grids that no cache keeps, and the texts of which
// recordings are made stay.
func TestDrawnSystems(t *testing.T) {
	for _, x := range []struct {
		suite               string
		leastGrids, grids   int // that are read
		of                  int // terms of each kind, at least
		leastFew, leastMany int // systems with few operations and with many
		texts               string
	}{
		{"drawnsystems", 3, 11, 15, 3, 8, "1e11abf6c4a8202f78ceb6b2ba8cdafd9d800e8def2593acde0a310f14cb1982"},
		{"drawnwide", 12, 21, 15, 0, 8, "7fb7d16499b5e975850d2d79a699289d9094e2de32bbe0351e40479dd2c316b0"},
	} {
		t.Run(x.suite, func(t *testing.T) {
			named := func(e drawnExtent) bool { return e.suite == x.suite }
			systems := drawnExtents[slices.IndexFunc(drawnExtents, named)]
			suite, err := FindSuite(x.suite)
			if err != nil {
				t.Fatal(err)
			}
			h := sha256.New()
			kinds, few, many := map[string]int{}, 0, 0
			for n, p := range suite.Programs() {
				d := systems.draw(n)
				if n := len(d.names); n < x.leastGrids || n > x.grids {
					t.Errorf("%s reads %d grids", p.Name, n)
				}
				for _, x := range d.terms {
					kinds[x.kind.name]++
				}
				cells := len(d.names) + len(d.results)
				for _, n := range p.Edges {
					cells *= n
				}
				if p.Points > mostSystemPoints+len(d.results) || cells < 16<<20 || cells > 512<<20 {
					t.Errorf("%s reads %d cells, on grids of %d", p.Name, p.Points, cells)
				}
				text, err := p.Source(Options{})
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(h, text)
				c := analysis.Analyze(checked(t, p.Name, text), nil).Calls[0]
				switch operations := c.Ops.Flops(); {
				case operations < 60:
					few++
				case operations > 200:
					many++
				}
			}
			for _, k := range drawnTermKinds {
				if kinds[k.name] < x.of {
					t.Errorf("%d terms are a %s", kinds[k.name], k.name)
				}
			}
			if few < x.leastFew || many < x.leastMany {
				t.Errorf("%d systems have few operations, and %d many", few, many)
			}
			if got := fmt.Sprintf("%x", h.Sum(nil)); got != x.texts {
				t.Errorf("other texts: %s", got)
			}
		})
	}
}
