package analysis

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// members is what the statements of a group do, equal things once. Whether
// another statement may join is asked of these and not of every member, so that
// the time to partition a call grows with its statements and not with their
// square.
type members struct {
	f       *fuser
	loops   []*ir.Stmt                // one for each kind of loop, as sameLoop sees them
	reads   map[*ir.Array][]readCells // of arrays, by their members
	writes  map[*ir.Array][]*ir.Stmt  // one for each set of cells that is written
	reduced map[*ir.Scalar]bool
	seen    map[readCells]bool
	results bool // some member is an assignment or a reduction
	loner   bool // some member shares with temps alone
}

// readCells is an access and the cells at which it is evaluated.
type readCells struct {
	acc *ir.Access
	at  *Cells
}

func (f *fuser) members() *members {
	return &members{
		f: f, reads: map[*ir.Array][]readCells{}, writes: map[*ir.Array][]*ir.Stmt{},
		reduced: map[*ir.Scalar]bool{}, seen: map[readCells]bool{},
	}
}

// add makes a statement a member.
func (m *members) add(s *ir.Stmt) {
	f := m.f
	kind := true
	for _, l := range m.loops {
		if f.equalLoops(l, s) {
			kind = false
			break
		}
	}
	if kind {
		m.loops = append(m.loops, s)
	}
	for _, acc := range f.deps.of[s].distinct {
		for _, c := range f.deps.evaluated(s) {
			if r := (readCells{acc, c}); !m.seen[r] {
				m.seen[r] = true
				m.reads[acc.Array] = append(m.reads[acc.Array], r)
			}
		}
	}
	if s.Temp == nil {
		m.results = true
		m.loner = m.loner || f.loner(s)
	}
	if s.Reduce != nil {
		m.reduced[s.Reduce.Scalar] = true
	}
	if s.Array != nil {
		for _, w := range m.writes[s.Array] {
			if f.deps.cellsOf(w) == f.deps.cellsOf(s) {
				return
			}
		}
		m.writes[s.Array] = append(m.writes[s.Array], s)
	}
}

// takes reports whether a statement may follow all members in their group.
func (m *members) takes(s *ir.Stmt) bool {
	f := m.f
	switch {
	case f.separate && len(m.writes) > 0, !m.sameLoop(s), m.changes(s), m.changedBy(s):
		return false
	case s.Reduce != nil && m.reduced[s.Reduce.Scalar]:
		return false
	case s.Temp == nil && (m.loner || m.results && f.loner(s)):
		return false
	}
	for scalar := range m.reduced {
		if f.deps.of[s].scalars[scalar] {
			return false
		}
	}
	return true
}

// takesBefore reports whether a temp may precede all members in their group.
func (m *members) takesBefore(t *ir.Stmt) bool { return m.sameLoop(t) && !m.changes(t) }

func (m *members) sameLoop(s *ir.Stmt) bool {
	for _, l := range m.loops {
		if !m.f.sameLoop(l, s) {
			return false
		}
	}
	return true
}

// changes reports whether a member writes, at another cell, what s reads.
func (m *members) changes(s *ir.Stmt) bool {
	for _, acc := range m.f.deps.of[s].distinct {
		for _, w := range m.writes[acc.Array] {
			for _, c := range m.f.deps.evaluated(s) {
				if m.f.deps.moves(acc, c, w) {
					return true
				}
			}
		}
	}
	return false
}

// changedBy reports whether s writes, at another cell, what a member reads.
func (m *members) changedBy(s *ir.Stmt) bool {
	if s.Array == nil {
		return false
	}
	for _, r := range m.reads[s.Array] {
		if m.f.deps.moves(r.acc, r.at, s) {
			return true
		}
	}
	return false
}
