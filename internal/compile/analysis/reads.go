package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// reads is what the statements of a stage read, and where temps are needed.
type reads struct {
	of       map[*ir.Stmt]*readSet
	assigned map[*ir.Temp]*ir.Stmt
	needed   map[*ir.Stmt][]*ir.Stmt // temp statement to the assignments and reductions that use it
	uses     map[*ir.Temp]int        // how often the text reads a temp
}

// readSet is what one statement reads itself, in the order of reading, as
// written: an access that stands twice is there twice.
type readSet struct {
	accesses []*ir.Access
	temps    []*ir.Temp // each once
	scalars  map[*ir.Scalar]bool
	axes     []int // on which the value varies, through temps too
}

func newReads(stage *ir.Stage) *reads {
	r := &reads{of: map[*ir.Stmt]*readSet{}, assigned: map[*ir.Temp]*ir.Stmt{}, needed: map[*ir.Stmt][]*ir.Stmt{}, uses: map[*ir.Temp]int{}}
	for _, s := range stage.Body {
		set := &readSet{scalars: map[*ir.Scalar]bool{}}
		r.of[s] = set
		r.scan(set, s.Value)
		set.axes = r.axes(s)
		if s.Temp != nil {
			r.assigned[s.Temp] = s
			continue
		}
		for _, t := range r.temps(s) {
			r.needed[t] = append(r.needed[t], s)
		}
	}
	return r
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
	var visit func(s *ir.Stmt)
	visit = func(s *ir.Stmt) {
		for _, t := range r.of[s].temps {
			if a := r.assigned[t]; !slices.Contains(out, a) {
				visit(a)
				out = append(out, a)
			}
		}
	}
	visit(s)
	return out
}

// evaluated returns the cells at which s is evaluated: its own, or for a temp
// those of the statements that need it.
func (r *reads) evaluated(s *ir.Stmt) []Cells {
	if s.Temp == nil {
		return []Cells{Cells{s.Domain, s.Color}}
	}
	var out []Cells
	for _, n := range r.needed[s] {
		out = append(out, Cells{n.Domain, n.Color})
	}
	return out
}
