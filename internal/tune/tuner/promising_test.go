package tuner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// worked is a stencil that adds so many square roots at a cell.
func worked(terms int) string {
	return fmt.Sprintf(`
parameter N = 64;
iterator k, j, i;
double u[N,N,N], v[N,N,N];
copyin u; copyout v;
stencil worked (out, in) { out[k,j,i] = in[k,j,i+1] + in[k,j,i-1] + sum (r in 1..%d) sqrt(in[k,j,i] + r); }
worked (v, u);
`, terms)
}

// threadCells returns the most cells of a thread along an axis in the trials of a search.
func threadCells(t *testing.T, r *Result) int64 {
	t.Helper()
	most := int64(0)
	for _, o := range r.Kernels[0].Trials {
		c, err := schedule.ParseConfig(o.Config)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Has("rows") {
			continue
		}
		vec, repeat, rows := c.Int("vec"), []int64{1, 1}, c.Ints("rows")
		if c.Has("repeat") {
			repeat = c.Ints("repeat")
		}
		most = max(most, vec*repeat[len(repeat)-1], rows[len(rows)-1]*repeat[len(repeat)-2])
	}
	return most
}

// The hierarchical search tries kernels with 8 cells of a thread along an axis at most where bandwidth binds in
// theory, and with 4 where arithmetic does; other searches try more.
func TestPromisingKernels(t *testing.T) {
	decides(t)
	many := func(text string) (float64, error) { // more cells are faster
		c, err := schedule.ParsePlan(text)
		if err != nil || len(c.Kernels) == 0 || !c.Kernels[0].Config.Has("rows") {
			return 1e-3, err
		}
		k := c.Kernels[0].Config
		n := k.Int("vec")
		for _, name := range []string{"rows", "repeat"} {
			if !k.Has(name) {
				continue
			}
			for _, x := range k.Ints(name) {
				n *= x
			}
		}
		return 1e-3 / float64(n), nil
	}
	var few schedule.Restrictions
	for _, text := range []string{"family=tile", "stages=0", "sizes=literals", "cse=no", "shuffle=no", "registers=0"} {
		few = append(few, schedule.LimitTo("", text))
	}
	for _, c := range []struct {
		terms           int
		strategy, class string
		most            int64
	}{
		{80, "hierarchical", "compute-bound", 4}, {2, "hierarchical", "bandwidth-bound", 8}, {2, "random", "", 0},
	} {
		b := program(t, worked(c.terms))
		s := newScripted(t, b, many)
		o := options(s, b, 36)
		o.Lab, o.Strategy, o.Restrict = h200(t, s), c.strategy, few.Apply
		r := tune(t, o)
		noted := slices.ContainsFunc(r.Notes, func(text string) bool {
			return c.class != "" && strings.Contains(text, "is "+c.class+" in theory: ")
		})
		got := threadCells(t, r)
		if noted != (c.class != "") || c.class != "" && got != c.most || c.class == "" && got <= 4 {
			t.Errorf("%s: %d cells of a thread along an axis; %q", c.strategy, got, r.Notes)
		}
	}
}

// Deeper kernels are tried only as long as bandwidth binds: those that wait for arithmetic end the search, though
// they are faster. Where arithmetic binds single iterations, nothing deeper is tried.
func TestPromisingDepths(t *testing.T) {
	search := func(terms int) (*Result, LoopResult) {
		b := program(t, strings.Replace(iterated(101), "in[j][i-1] +",
			fmt.Sprintf("in[j][i-1] + sum (r in 1..%d) sqrt(in[j][i] + r) +", terms), 1))
		s := newScripted(t, b, byDepth(map[int]float64{2: 0.6, 4: 0.5, 6: 0.45, 8: 0.42, 10: 0.4, 12: 0.38, 16: 0.36}))
		o := deepOptions(t, s, b, 20)
		o.Lab, o.Strategy = h200(t, s), "hierarchical"
		r := tune(t, o)
		return r, r.Loops[0]
	}
	r, l := search(6)
	if !strings.Contains(l.Stopped, "deeper ones are not promising") || len(l.Depths) < 2 {
		t.Errorf("%v: %s", depthsOf(r), l.Stopped)
	}
	for i, d := range l.Depths[1:] {
		bandwidth := d.Bottleneck == "memory" || d.Bottleneck == "shared memory"
		if last := i == len(l.Depths)-2; bandwidth == last {
			t.Errorf("depth %d is bound by %s: %v", d.Depth, d.Bottleneck, depthsOf(r))
		}
	}
	if r, l = search(24); len(l.Depths) != 1 || !strings.Contains(l.Stopped, "compute-bound in theory") {
		t.Errorf("%v: %s", depthsOf(r), l.Stopped)
	}
}
