package explain

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
)

// run is some statements of a call that share a node: lo..hi-1.
type run struct{ lo, hi int }

// runs cuts the statements of a call into at most limit runs: each by itself if
// there are so few, else the groups that one loop can execute, else as many of
// these groups together as it takes.
func runs(s *analysis.CallFacts, limit int) []run {
	var out []run
	if len(s.Statements) <= limit {
		for i := range s.Statements {
			out = append(out, run{i, i + 1})
		}
		return out
	}
	each := (len(s.Groups) + limit - 1) / limit
	lo, hi := 0, 0
	for i, g := range s.Groups {
		hi += len(g.Statements)
		if (i+1)%each == 0 || i == len(s.Groups)-1 {
			out = append(out, run{lo, hi})
			lo = hi
		}
	}
	return out
}

// node returns the node of a run; kind says what its arrays are drawn as.
func (r run) node(s *analysis.CallFacts, kind map[string]string) *node {
	const shown = 8 // statements in the text on hovering
	var title []string
	var targets []string
	seen := map[string]bool{}
	flops := 0.0
	class := ""
	for i, st := range s.Statements[r.lo:r.hi] {
		flops += st.Ops.Flops()
		if i < shown {
			text := st.Text
			if st.Domain != "" {
				text += "\non " + st.Domain
			}
			title = append(title, text)
		}
		// A run looks like the last of its results that is more than a scalar.
		if own := st.Kind; own != "temp" || class == "" {
			class = own
			if own == "array" {
				class = kind[st.Target]
			}
		}
		if st.Kind != "temp" && !seen[st.Target] {
			seen[st.Target] = true
			targets = append(targets, st.Target)
		}
	}
	if r.hi-r.lo == 1 {
		st := s.Statements[r.lo]
		return box(st.Target, count(flops, "flop"), title[0], class)
	}
	if r.hi-r.lo > shown {
		title = append(title, fmt.Sprintf("and %d more", r.hi-r.lo-shown))
	}
	label := "scalars"
	switch {
	case len(targets) > 3:
		label = strings.Join(targets[:3], ", ") + " ..."
	case len(targets) > 0:
		label = strings.Join(targets, ", ")
	}
	return box(label, fmt.Sprintf("%d statements, %s", r.hi-r.lo, count(flops, "flop")), strings.Join(title, "\n"),
		class)
}

// links gathers the edges between nodes, of which statements that share nodes
// may have several.
type links struct {
	g     *graph
	flows []*flow
	known map[flowKey]*flow
	pairs map[[2]*node]bool // with an edge between them
}

// flow is what one node reads of an array or a scalar that another gives it.
type flow struct {
	from, to *node
	offsets  [][]int64
}

type flowKey struct {
	from, to *node
	on       string
}

func newLinks(g *graph) *links {
	return &links{g: g, known: map[flowKey]*flow{}, pairs: map[[2]*node]bool{}}
}

func (l *links) flow(from, to *node, on string, offsets [][]int64) {
	if from == to {
		return
	}
	key := flowKey{from, to, on}
	if l.known[key] == nil {
		l.known[key] = &flow{from: from, to: to}
		l.flows = append(l.flows, l.known[key])
		l.pairs[[2]*node{from, to}] = true
	}
	l.known[key].offsets = append(l.known[key].offsets, offsets...)
}

// order links two nodes between which no value flows.
func (l *links) order(from, to *node) {
	if pair := [2]*node{from, to}; from != to && !l.pairs[pair] {
		l.pairs[pair] = true
		l.g.link(from, to, "", true)
	}
}
