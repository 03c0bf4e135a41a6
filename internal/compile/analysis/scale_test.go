package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// The analysis finds groups and dependences without looking at every pair of
// statements. What follows are the definitions, pair by pair.

// joins reports whether statement hi can join the group lo..hi-1.
func joins(f *fuser, lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if !compatible(f, f.call.Body[i], f.call.Body[hi]) {
			return false
		}
	}
	return true
}

// compatible reports whether a and the later b may share a group.
func compatible(f *fuser, a, b *ir.Stmt) bool {
	if f.separate && a.Array != nil || !f.sameLoop(a, b) || conflicts(f, a, b) || conflicts(f, b, a) {
		return false
	}
	if a.Reduce != nil {
		if f.deps.of[b].scalars[a.Reduce.Scalar] || b.Reduce != nil && b.Reduce.Scalar == a.Reduce.Scalar {
			return false
		}
	}
	alone := f.loner(a) || f.loner(b)
	return !alone || a.Temp != nil || b.Temp != nil
}

// conflicts reports whether s reads, at some cell where it is evaluated, what
// the array statement w writes at another.
func conflicts(f *fuser, s, w *ir.Stmt) bool {
	if w.Array == nil {
		return false
	}
	for _, acc := range f.deps.of[s].accesses {
		if acc.Array != w.Array {
			continue
		}
		cells := []Cells{{s.Domain, s.Color}}
		if s.Temp != nil {
			cells = nil
			for _, n := range f.deps.needed[s] {
				cells = append(cells, Cells{n.Domain, n.Color})
			}
		}
		for _, c := range cells {
			if moves(acc, c, w) {
				return true
			}
		}
	}
	return false
}

// cutByPairs is fuser.cut.
func cutByPairs(f *fuser) []int {
	end := func(lo int) int {
		hi := lo + 1
		for hi < len(f.call.Body) && joins(f, lo, hi) {
			hi++
		}
		return hi
	}
	var cuts []int
	for lo := 0; lo < len(f.call.Body); {
		hi := end(lo)
		if hi < len(f.call.Body) {
			cut, next := hi, end(hi)
			for c := hi - 1; c > lo && f.call.Body[c].Temp != nil && end(c) == next; c-- {
				cut = c
			}
			hi = cut
		}
		cuts = append(cuts, hi)
		lo = hi
	}
	return cuts
}

// edgesByPairs is gatherer.edges, without those of a statement on itself.
func edgesByPairs(g *gatherer) []Edge {
	all := newHistory(g)
	for i := range g.ir.Body {
		all.add(i)
	}
	out := []Edge{}
	for j := range g.ir.Body {
		for i := range j {
			out = append(out, g.between(all, i, j)...)
		}
	}
	return out
}

func TestGroupsAndEdgesAreThoseOfAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn, _ := randomCall(t)
		for _, separate := range []bool{false, true} {
			f := &fuser{call: drawn, deps: newReads(drawn), square: map[*ir.Stmt]bool{}, separate: separate}
			if got, want := f.cut(), cutByPairs(f); !slices.Equal(got, want) {
				t.Fatalf("groups end at %v, by pairs at %v\n%s", got, want, describe(FusableGroups(drawn)))
			}
		}
		g := newGatherer(&ir.Program{Axes: []string{"j", "i"}}, nil, drawn)
		got := slices.DeleteFunc(g.edges(), func(e Edge) bool { return e.From == e.To })
		if got, want := edgesText(got), edgesText(edgesByPairs(g)); got != want {
			t.Fatalf("dependences %s\nby pairs    %s\n%s", got, want, describe(g.fusion))
		}
	})
}

// TestWorkGrowsWithTheText counts what the analysis allocates for a program and
// for one that is twice as long.
func TestWorkGrowsWithTheText(t *testing.T) {
	for _, c := range []struct {
		name string
		body func(n int) string
	}{
		{"one grid summed up", func(n int) string {
			return lines(n, func(q int) string { return fmt.Sprintf("a[k][j][i] += %d*b[k][j][i+%d];", q, q%5) })
		}},
		{"scalar locals in a row", func(n int) string {
			return "double t0 = b[k][j][i];" + lines(n, func(q int) string {
				return fmt.Sprintf("double t%d = 0.5*t%d + b[k][j+%d][i];", q+1, q, q%3)
			}) + fmt.Sprintf("a[k][j][i] = t%d;", n)
		}},
		// Each is reached along as many paths as the Fibonacci numbers say.
		{"scalar locals of the two before", func(n int) string {
			return "double t0 = b[k][j][i], t1 = c[k][j][i+1];" + lines(n, func(q int) string {
				return fmt.Sprintf("double t%d = t%d*t%d + b[k-1][j][i];", q+2, q+1, q)
			}) + fmt.Sprintf("a[k][j][i] = t%d;", n+1)
		}},
		{"a group for every sum, scalar locals in all", func(n int) string {
			return lines(n, func(q int) string {
				return fmt.Sprintf(
					"double t%d = b[k][j][i]; a[k][j][i] = t%d + c[k][j][i-1]; c[k][j][i] = a[k][j][i+1] + t%d;", q, q,
					q)
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			work := func(n int) float64 {
				p, _ := oneCall(t, "", c.body(n))
				return testing.AllocsPerRun(1, func() { Analyze(p, nil) })
			}
			if small, large := work(150), work(300); large > 2.6*small {
				t.Errorf("%v allocations, %v for twice the text", small, large)
			}
		})
	}
}

func lines(n int, line func(q int) string) string {
	var out strings.Builder
	for q := range n {
		out.WriteString(line(q) + "\n")
	}
	return out.String()
}
