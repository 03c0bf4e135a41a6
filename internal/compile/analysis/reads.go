package analysis

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// reads is what the statements of a call read, and where temps are needed.
type reads struct {
	of       map[*ir.Stmt]*readSet
	assigned map[*ir.Temp]*ir.Stmt
	needed   map[*ir.Stmt][]*ir.Stmt // temp statement to the assignments and reductions that use it
	uses     map[*ir.Temp]int        // how often the text reads a temp
	// through holds the distinct accesses of a statement, itself or through temps.
	through map[*ir.Stmt][]*ir.Access
	// where holds the cells at which a statement is evaluated, each once.
	where map[*ir.Stmt][]*Cells
	// Equal accesses are one pointer in distinct and through, and equal cells one in
	// where, so that what is known of a pair of them is found without a comparison.
	interned map[ir.Cell]*ir.Access
	cells    map[string]*Cells
	met      map[meeting]bool
}

// meeting is an access at some cells, and the cells of a statement that writes its array.
type meeting struct {
	acc       *ir.Access
	at, write *Cells
}

// readSet is what one statement reads itself, in the order of reading, as
// written: an access that stands twice is there twice.
type readSet struct {
	accesses []*ir.Access
	distinct []*ir.Access
	temps    []*ir.Temp // each once
	scalars  map[*ir.Scalar]bool
	axes     []int // on which the value varies, through temps too
}

func newReads(call *ir.Call) *reads {
	r := &reads{
		of: map[*ir.Stmt]*readSet{}, assigned: map[*ir.Temp]*ir.Stmt{}, needed: map[*ir.Stmt][]*ir.Stmt{},
		uses:    map[*ir.Temp]int{},
		through: map[*ir.Stmt][]*ir.Access{}, where: map[*ir.Stmt][]*Cells{},
		interned: map[ir.Cell]*ir.Access{}, cells: map[string]*Cells{}, met: map[meeting]bool{},
	}
	for _, s := range call.Body {
		set := &readSet{scalars: map[*ir.Scalar]bool{}}
		r.of[s] = set
		r.scan(set, s.Value)
		set.distinct = r.intern(set.accesses)
		set.axes = r.axes(s)
		r.through[s] = r.throughTemps(set)
		if s.Temp != nil {
			r.assigned[s.Temp] = s
			continue
		}
		r.where[s] = []*Cells{r.cellsOf(s)}
		for _, t := range r.temps(s) {
			r.needed[t] = append(r.needed[t], s)
			if c := r.where[s][0]; !slices.Contains(r.where[t], c) {
				r.where[t] = append(r.where[t], c)
			}
		}
	}
	return r
}

// intern returns the distinct ones among accesses, in their order.
func (r *reads) intern(accs []*ir.Access) []*ir.Access {
	var out []*ir.Access
	seen := map[*ir.Access]bool{}
	for _, a := range accs {
		key := a.Cell()
		one, ok := r.interned[key]
		if !ok {
			one, r.interned[key] = a, a
		}
		if !seen[one] {
			seen[one] = true
			out = append(out, one)
		}
	}
	return out
}

// throughTemps returns the distinct accesses of a set, and of the temps in it.
func (r *reads) throughTemps(set *readSet) []*ir.Access {
	if len(set.temps) == 0 {
		return set.distinct
	}
	var out []*ir.Access
	seen := map[*ir.Access]bool{}
	add := func(accs []*ir.Access) {
		for _, a := range accs {
			if !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	for _, t := range set.temps {
		add(r.through[r.assigned[t]])
	}
	add(set.distinct)
	return out
}

// cellsOf returns the cells of an assignment or a reduction.
func (r *reads) cellsOf(s *ir.Stmt) *Cells {
	key := fmt.Sprint(s.Domain)
	if s.Color != nil {
		key += fmt.Sprint(*s.Color)
	}
	if r.cells[key] == nil {
		r.cells[key] = &Cells{s.Domain, s.Color}
	}
	return r.cells[key]
}

func (r *reads) scan(set *readSet, e ir.Expr) {
	ir.Walk(e, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access:
			set.accesses = append(set.accesses, e)
			for _, dim := range e.Array.Dims {
				for _, b := range []ir.Boundary{dim.Faces.Low, dim.Faces.High} {
					if b.Value != nil {
						r.scan(set, b.Value)
					}
				}
			}
		case ir.TempRef:
			r.uses[e.Temp]++
			if !slices.Contains(set.temps, e.Temp) {
				set.temps = append(set.temps, e.Temp)
			}
		case ir.ScalarRef:
			set.scalars[e.Scalar] = true
		}
	})
}

func (r *reads) axes(s *ir.Stmt) []int {
	return ir.AxesOf(len(s.Domain), s.Value, func(t *ir.Temp) []int { return r.of[r.assigned[t]].axes })
}

// temps returns the statements of all temps that s reads, itself or through
// others, in the order in which they are evaluated.
func (r *reads) temps(s *ir.Stmt) []*ir.Stmt {
	var out []*ir.Stmt
	seen := map[*ir.Stmt]bool{}
	var visit func(s *ir.Stmt)
	visit = func(s *ir.Stmt) {
		for _, t := range r.of[s].temps {
			if a := r.assigned[t]; !seen[a] {
				seen[a] = true
				visit(a)
				out = append(out, a)
			}
		}
	}
	visit(s)
	return out
}

// evaluated returns the cells at which s is evaluated, each once: its own, or
// for a temp those of the statements that need it.
func (r *reads) evaluated(s *ir.Stmt) []*Cells { return r.where[s] }

// moves reports whether evaluating an access at some cell of c may read a value
// that the statement w, which writes its array, writes at another cell.
func (r *reads) moves(acc *ir.Access, c *Cells, w *ir.Stmt) bool {
	key := meeting{acc, c, r.where[w][0]}
	known, ok := r.met[key]
	if !ok {
		known = moves(acc, *c, w)
		r.met[key] = known
	}
	return known
}
