// Package fission makes other versions of a source text, which compute the same. MaxFuse joins calls that follow each
// other. Trivial splits stencils that assign several arrays: into stencils that each assign one, with all that its
// values are computed from. A kernel of a small stencil needs fewer registers; what several of them need is computed
// several times. Recompute splits where a kernel would compute too many values again. These are the versions of Rawat
// et al. 2019, section VI-B. Statements cuts long statements. Share computes values once that are computed at several
// cells, and Inline computes anew what calls leave for others at other cells.
package fission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lang"
)

// Split is how a stencil is split: its parts are called one after the other.
type Split struct {
	Stencil string
	Parts   []*Part
}

// Part is a stencil that assigns some of the arrays and scalars of the stencil that is split.
type Part struct {
	Name    string
	Outputs []string // in the order in which they are first assigned
	// Statements are those of the body that the part consists of, ascending: those that assign its outputs, and those
	// that assign what they read of the stencil's own temporaries. Others may have these, too. Each name that is
	// declared counts as a statement; hints do not.
	Statements []int
}

// String returns the parts in a line.
//
// Example text:
//
//	flux: flux_rho assigns rho with 0 2; flux_e assigns e with 0 1 3
func (s *Split) String() string {
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, fmt.Sprintf("%s assigns %s with %s", p.Name, strings.Join(p.Outputs, " and "),
			strings.Trim(fmt.Sprint(p.Statements), "[]")))
	}
	return s.Stencil + ": " + strings.Join(parts, "; ")
}

// parts says of each part what it assigns.
func (s *Split) parts() []string {
	var list []string
	for _, p := range s.Parts {
		outputs := strings.Join(p.Outputs, ", ")
		list = append(list, fmt.Sprintf("%s assigns %s, a part of %s", p.Name, outputs, s.Stencil))
	}
	return list
}

// Trivial splits every stencil of a file that was checked into as many parts as it has outputs. Outputs that need each
// other, so that neither can be finished first, share a part. Stencils that remain whole are not in the list.
func Trivial(f *lang.File) []*Split {
	names := f.Names()
	var list []*Split
	for _, item := range f.Items {
		if def, ok := item.(*lang.StencilDef); ok {
			b := newBody(def, calls(f, def.Name.Name))
			if s := b.split(b.parts(), names); len(s.Parts) > 1 {
				list = append(list, s)
			}
		}
	}
	return list
}

// parts puts each output of a stencil into a part, joins parts that must not be apart, and brings them into order.
func (b *body) parts() []*Part {
	var parts []*Part
	for _, st := range b.statements {
		for _, name := range st.writes {
			has := func(p *Part) bool {
				return slices.ContainsFunc(p.Outputs, func(o string) bool { return b.same(o, name) })
			}
			switch at := slices.IndexFunc(parts, has); {
			case b.locals[name]:
			case at < 0:
				parts = append(parts, &Part{Outputs: []string{name}})
			case !slices.Contains(parts[at].Outputs, name):
				parts[at].Outputs = append(parts[at].Outputs, name)
			}
		}
	}
	for i, p := range parts {
		parts[i] = b.part(p.Outputs)
	}
	return b.ordered(parts)
}

// part returns the part of a stencil that has some outputs.
func (b *body) part(outputs []string) *Part {
	return &Part{Outputs: outputs, Statements: b.slice(outputs)}
}

// split gives parts their names, and the last one the temporaries that no output needs: what they read may be read
// nowhere else.
func (b *body) split(parts []*Part, names map[string]bool) *Split {
	s := &Split{Stencil: b.def.Name.Name, Parts: parts}
	if len(parts) < 2 {
		return s
	}
	var left []int
	for i := range b.statements {
		if !slices.ContainsFunc(parts, func(p *Part) bool { return slices.Contains(p.Statements, i) }) {
			left = append(left, i)
		}
	}
	last := parts[len(parts)-1]
	last.Statements = b.slice(last.Outputs, left...)
	for _, p := range parts {
		name := s.Stencil + "_" + strings.Join(p.Outputs, "_")
		if len(name) > longest {
			name = s.Stencil + "_" + p.Outputs[0]
		}
		p.Name = unused(name, names)
	}
	return s
}

// ordered returns the parts in an order in which each finds what it reads as the stencil finds it. Parts for which
// there is none are joined.
func (b *body) ordered(parts []*Part) []*Part {
	n := len(parts)
	before := make([][]bool, n) // the first is called before the second
	for x := range parts {
		before[x] = make([]bool, n)
		for y := range parts {
			before[x][y] = x != y && b.before(parts[x], parts[y])
		}
	}
	for via := range n {
		for x := range n {
			for y := range n {
				before[x][y] = before[x][y] || before[x][via] && before[via][y]
			}
		}
	}
	var out []*Part
	done := make([]bool, n)
	for len(out) < n {
		next := -1
		for x := range n {
			ready := !done[x]
			for y := range n {
				ready = ready && (done[y] || !before[y][x] || before[x][y])
			}
			if ready {
				next = x
				break
			}
		}
		if next < 0 {
			break
		}
		var outputs []string
		for y := range n {
			if y == next || before[next][y] && before[y][next] {
				outputs = append(outputs, parts[y].Outputs...)
				done[y] = true
			}
		}
		out = append(out, b.part(outputs))
	}
	return out
}

// before reports whether a statement of x comes before one of y, and one of them writes what the other reads or writes.
func (b *body) before(x, y *Part) bool {
	for _, i := range x.Statements {
		for _, j := range y.Statements {
			if i < j && b.conflict(b.statements[i], b.statements[j]) {
				return true
			}
		}
	}
	return false
}

// unused returns a name that a file does not have, and takes it.
func unused(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	taken[free] = true
	return free
}
