package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/graph"
)

// chains is two chains of calls, one between the calls of the other, and a call that needs both; then a loop of two
// that have nothing to do with each other.
const chains = `s (b, a); s (d, c); full (a, b); full (c, d); add (b, a, c);
iterate 9 { s (b, a); s (d, c); swap (a, b); swap (c, d); }
iterate 9 { s (b, a); swap (a, b); full (c, a); full (d, b); }`

// apart begins the refusals of sets of a sequence.
const apart = "the statements of sequence cannot share a kernel: "

// arranged are sets of calls, with the order that they are executed in or why there is none.
var arranged = []struct {
	loop  int
	depth int64
	sets  [][]int
	want  string
	hint  string // a part of it
}{
	{0, 1, [][]int{{0, 2}}, "sequence, 1 iteration: [0,2], 1 (s.2), 3 (full.2), 4 (add)", ""},
	{0, 1, [][]int{{1, 3}, {0, 2}}, "sequence, 1 iteration: [0,2], [1,3], 4 (add)", ""},
	{0, 1, [][]int{{1, 3}}, "sequence, 1 iteration: 0 (s), [1,3], 2 (full), 4 (add)", ""},
	{0, 1, [][]int{{0, 3}}, "sequence, 1 iteration: 1 (s.2), [0,3], 2 (full), 4 (add)", ""},
	{0, 1, [][]int{{1, 3, 4}}, "sequence, 1 iteration: 0 (s), 2 (full), [1,3:5]", ""},
	{0, 1, [][]int{{0, 4}}, apart + "of sequence[0,4] and 2 (full) each part would have " +
		"to come before the other: 0 (s) before 2 (full) (b), and 2 (full) before 4 (add) (a)",
		"name what comes in between, too: sequence[0,2,4]"},
	{0, 1, [][]int{{0, 3}, {1, 2}}, apart + "of sequence[0,3] and sequence[1:3] each " +
		"part would have to come before the other: 0 (s) before 2 (full) (b), and 1 (s.2) before 3 (full.2) (d)",
		"sequence[0:4]"},
	{0, 1, [][]int{{0, 2}, {2, 4}}, apart + "2 (full) is in two kernels", "in one kernel"},
	{0, 1, [][]int{{3, 7}}, apart + "7 is not of the loop, which has 0 to 4", ""},
	{1, 1, [][]int{{0, 1}}, "body, 1 iteration: [0:2], 2 (a rotation), 3 (a rotation)", ""},
	{1, 3, [][]int{{0, 2}, {1, 3}}, "body, 3 iterations: [0,2], [1,3]", ""},
	{1, 3, [][]int{{0, 2}}, "3 iterations of body cannot share a kernel: 1 (s.2) is in no kernel of so many iterations",
		"or all of body[0:4]"},
	{1, 3, [][]int{{0}, {1, 3}, {2}}, "3 iterations of body cannot share a kernel: of body[0:1] and body[2:3] each " +
		"part would have to come before the other: 0 (s) before 2 (a rotation) (b), and 2 (a rotation) before 0 (s) (a)",
		"name body[0,2]@3"},
	{2, 1, [][]int{{0, 3}}, "the statements of an iteration of body.2 cannot share a kernel: of body.2[0,3] and 1 " +
		"(a rotation) each part would have to come before the other: 0 (s) before 1 (a rotation) (b), and 1 (a rotation) before " +
		"3 (full.4) (b)", "body.2[0:2,3]"},
}

func TestArrange(t *testing.T) {
	_, p := load(t, "", chains)
	for _, c := range arranged {
		a, err := graph.Arrange(graph.Loops(p)[c.loop], c.depth, c.sets)
		if err != nil {
			r, ok := errors.AsType[*graph.Refusal](err)
			if !ok || err.Error() != c.want || !strings.Contains(r.Hint, c.hint) {
				t.Errorf("%v: %v; %+v", c.sets, err, r)
			}
			continue
		}
		if text := strings.TrimSpace(a.String()); text != c.want {
			t.Errorf("%v: %s", c.sets, text)
		}
		if err := a.Verify(); err != nil {
			t.Errorf("%v: %v", c.sets, err)
		}
	}
}

// The verifier finds parts that are missing, twice there or in a wrong order.
func TestWrongArrangements(t *testing.T) {
	_, p := load(t, "", chains)
	for _, c := range []struct {
		loop  int
		depth int64
		parts []graph.Part
		want  string
	}{
		{0, 1, []graph.Part{{[]int{1, 3}, true}, {[]int{0, 2}, true}}, "4 of 5 calls"},
		{0, 1, []graph.Part{{[]int{0, 2}, true}, {[]int{1, 2, 3, 4}, true}}, "2 (full) is in two parts"},
		{0, 1, []graph.Part{{[]int{1, 3, 4}, true}, {[]int{0, 2}, true}}, "4 (add) does not come after 0 (s)"},
		{0, 1, []graph.Part{{[]int{2, 0}, true}, {[]int{1, 3, 4}, true}}, "has the members [2 0]"},
		{1, 2, []graph.Part{{[]int{0, 2}, true}, {[]int{1}, false}, {[]int{3}, false}},
			"is by itself for 2 iterations"},
		{1, 2, []graph.Part{{[]int{0}, true}, {[]int{1, 2, 3}, true}}, "2 (a rotation) does not come after 0 (s)"},
	} {
		a := &graph.Arrangement{Loop: graph.Loops(p)[c.loop], Depth: c.depth, Parts: c.parts}
		if err := a.Verify(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.parts, err)
		}
	}
}

// A span of some calls stores what others may read, and leaves out what is temporary to those calls alone.
func TestSpansOfSets(t *testing.T) {
	_, p := load(t, "", "s (b, a); s (d, c); full (a, b); full (c, d); add (b, a, c);")
	l := graph.Loops(p)[0]
	l.Iterate.Temporary = append(l.Iterate.Temporary, p.Grid("b"), p.Grid("d"))
	for _, c := range []struct {
		set  []int
		want string
	}{
		{[]int{1, 3}, `
sequence[1,3]: 1 iterations over i
v0 = s.2[0] of iteration 0: out in d, other cells from d; reads in from c
v1 = full.2[0] of iteration 0: out in c; reads in from v0; stored to a spare of c
`},
		{[]int{0, 2}, `
sequence[0,2]: 1 iterations over i
v0 = s[0] of iteration 0: out in b, other cells from b; reads in from a; stored to b
v1 = full[0] of iteration 0: out in a; reads in from v0; stored to a spare of a
`},
	} {
		l.Set = c.set
		s, err := graph.NewSpan(p, l, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.String(); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s", got)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
	}
}

// Sets are proposed where calls that have to do with each other are interleaved with others, or where all together are
// too many or cannot share a kernel.
func TestPropose(t *testing.T) {
	for _, c := range []struct {
		name, stencils, loop string
		most                 int64
		want                 string
	}{
		{"two chains", "", "s (b, a); s (d, c); full (a, b); full (c, d);", 9, "[[0 2] [1 3]]"},
		{"all of them", "", chains, 9, "[]"},
		{"too many", "", chains, 3, "[[0 2 4] [1 3]]"},
		{"a reduction between", "stencil sum (u, once) { reduce sum once = u[i]; }",
			"s (b, a); sum (b, once); full (c, b); s (d, c);", 9, "[[0 2 3]]"},
		{"a reduction of what they compute, which a call needs",
			"stencil sum (u, once) { reduce sum once = u[i]; } stencil by (u, v, once) { u[i] = once*v[i]; }",
			"s (b, a); full (c, b); sum (c, once); by (d, c, once); s (a, d);", 9, "[[0 1] [3 4]]"},
		{"planes and rows", "stencil p (out, in) { out[j][i] = in[j][i+1]; }",
			"p (three, two); s (b, a); p (two, three); full (c, b);", 9, "[[0 2] [1 3]]"},
		{"one statement each", "", "s (b, a); full (d, c);", 9, "[]"},
	} {
		_, p := load(t, c.stencils, c.loop)
		l := graph.Loops(p)[0]
		sets := graph.Propose(p, l, c.most)
		if got := fmt.Sprint(sets); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
		if a, err := graph.Arrange(l, 1, sets); err != nil || a.Verify() != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
