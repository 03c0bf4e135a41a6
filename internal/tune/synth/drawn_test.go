package synth

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
)

// Drawn programs are of all kinds, on grids that no cache keeps, and the texts of which recordings are made stay.
func TestDrawnPrograms(t *testing.T) {
	h := sha256.New()
	kinds, shapes, boundaries := map[string]int{}, map[string]int{}, map[string]int{}
	grids := map[int]int{}
	for _, s := range drawnPrograms() {
		for n, p := range s.Programs() {
			d := draw(n, []string{"k", "j", "i"}[3-len(s.Axes):])
			kinds[d.kind.name]++
			word, _, _ := strings.Cut(d.boundary, "(")
			boundaries[word]++
			for _, x := range d.inputs {
				shapes[x.shape]++
			}
			grids[len(d.inputs)+len(d.outputs)]++
			cells := 1
			for _, n := range p.Edges {
				cells *= n
			}
			if p.Points > mostDrawnPoints || cells < 8<<20 || cells > 96<<20 {
				t.Errorf("%s reads %d cells, on grids of %d", p.Name, p.Points, cells)
			}
			text, err := p.Source(Options{})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(h, text)
		}
	}
	for _, k := range drawnKinds {
		if kinds[k.name] == 0 {
			t.Errorf("no program is of %s", k.name)
		}
	}
	for _, name := range []string{"star", "box", "diamond", "line", "upwind", "sparse", "point"} {
		if shapes[name] < 4 {
			t.Errorf("%d grids are read as %s", shapes[name], name)
		}
	}
	for _, name := range []string{"", "clamp", "periodic", "mirror", "constant"} {
		if boundaries[name] < 4 {
			t.Errorf("%d programs have the boundary %q", boundaries[name], name)
		}
	}
	if len(grids) < 5 {
		t.Errorf("numbers of grids: %v", grids)
	}
	const want = "a91b222be91507bab4298c99f9e7fc5bc9b28e3506567c8cf390983b2a435507"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("other texts: %s", got)
	}
}

// What drawn programs compute depends on what they read: hardly any result is what bounds leave of it.
func TestDrawnProgramsRun(t *testing.T) {
	for _, s := range append(drawnPrograms(), drawnSystems()...) {
		for n, p := range s.Programs() {
			if n%3 > 0 {
				continue
			}
			size := slices.Clone(p.least)
			for i := range size {
				size[i] += 5
			}
			text, err := p.Source(Options{Size: size})
			if err != nil {
				t.Fatal(err)
			}
			b := bound(t, p.Name, text).In(arith.Strict)
			x, err := interp.New(b, interp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			x.RunInitial(nil)
			if err := x.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, g := range b.Program.Grids {
				a := x.Grid(g.Name)
				values := map[float64]bool{}
				for i := range a.Len() {
					values[a.At(i)] = true
				}
				if len(values) < 30 {
					t.Errorf("%s: %s has %d values", p.Name, g.Name, len(values))
				}
			}
		}
	}
}
