package synth

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
)

// Drawn systems have all kinds of differences, few and many, on grids that no cache keeps, and the texts of which
// recordings are made stay.
func TestDrawnSystems(t *testing.T) {
	h := sha256.New()
	kinds, few, many := map[string]int{}, 0, 0
	for n, p := range drawnSystems().Programs() {
		d := drawSystem(n)
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
		if kinds[k.name] < 15 {
			t.Errorf("%d terms are a %s", kinds[k.name], k.name)
		}
	}
	if few < 3 || many < 8 {
		t.Errorf("%d systems have few operations, and %d many", few, many)
	}
	const want = "1e11abf6c4a8202f78ceb6b2ba8cdafd9d800e8def2593acde0a310f14cb1982"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("other texts: %s", got)
	}
}
