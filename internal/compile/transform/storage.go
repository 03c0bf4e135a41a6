package transform

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// StorageFold is a combination of arrays that a kernel can keep on chip in
// their place: whatever is read of them is part of it.
type StorageFold struct {
	Arrays  []*ir.Array // in the stage's order
	Value   ir.Expr     // what is kept of a cell, all reads at offset 0
	Offsets [][]int64   // where it is read, by axis of the program, ascending
}

// StorageFolds returns the pointwise combinations by which a stage reads arrays
// that it does not write: storage folding (Rawat et al. 2019, section III-B4).
// A plane of the combination takes the place of a plane of each array. Only
// what is read at two offsets or more is worth it. The same operations are
// done, so that no bit changes.
//
//	out[i] = a[i-1]*b[i-1] + a[i+1]*b[i+1]  keeps  a[i]*b[i]  at -1 and +1
func StorageFolds(p *ir.Program, s *ir.Stage) []StorageFold {
	f := &folder{program: p, stage: s, total: map[*ir.Array]int{}, fixed: map[*ir.Scalar]bool{}}
	for _, x := range p.Scalars {
		f.fixed[x] = true
	}
	for _, st := range s.Body {
		if st.Reduce != nil {
			f.fixed[st.Reduce.Scalar] = false
		}
	}
	for _, st := range s.Body {
		f.scan(st.Value)
	}
	return f.choose()
}

type folder struct {
	program  *ir.Program
	stage    *ir.Stage
	total    map[*ir.Array]int // reads of every array
	fixed    map[*ir.Scalar]bool
	patterns []*pattern
}

// pattern is a subexpression that reads several arrays at one offset.
type pattern struct {
	key     string
	value   ir.Expr // at offset 0
	size    int
	reads   map[*ir.Array]int // in all its occurrences
	offsets [][]int64
}

// scan notes the patterns of an expression, and returns the offset of its
// reads and whether there is one that all share.
func (f *folder) scan(e ir.Expr) (at offset, pointwise bool) {
	pointwise = true
	switch e := e.(type) {
	case *ir.Access:
		f.total[e.Array]++
		return f.offsetOf(e)
	case ir.TempRef, ir.StepRef:
		return nil, false
	case ir.ScalarRef:
		return nil, f.fixed[e.Scalar]
	}
	for _, c := range ir.Children(e) {
		o, ok := f.scan(c)
		switch {
		case !ok || o != nil && at != nil && !slices.Equal(o, at):
			pointwise = false
		case o != nil:
			at = o
		}
	}
	if !pointwise {
		return nil, false
	}
	if at != nil {
		f.note(e, at)
	}
	return at, true
}

// offsetOf returns the displacement of a read of what the stage only reads; it
// runs over all the array's axes.
func (f *folder) offsetOf(acc *ir.Access) (offset, bool) {
	at := make(offset, len(f.program.Axes))
	for d, ix := range acc.Index {
		if ix.Axis < 0 || ix.Axis != acc.Array.Dims[d].Axis {
			return nil, false
		}
		at[ix.Axis] = ix.Offset
	}
	return at, !acc.Array.Written
}

// note adds an occurrence of a pattern.
func (f *folder) note(e ir.Expr, at offset) {
	back := make(offset, len(at))
	for axis, d := range at {
		back[axis] = -d
	}
	value := shift(e, back, keepTemp)
	key := f.program.ExprText(value)
	i := slices.IndexFunc(f.patterns, func(p *pattern) bool { return p.key == key })
	if i < 0 {
		i = len(f.patterns)
		f.patterns = append(f.patterns, &pattern{key: key, value: value, reads: map[*ir.Array]int{}})
	}
	q := f.patterns[i]
	q.size = 0
	ir.Walk(e, func(e ir.Expr) {
		q.size++
		if acc, ok := e.(*ir.Access); ok {
			q.reads[acc.Array]++
		}
	})
	if !slices.ContainsFunc(q.offsets, func(o []int64) bool { return slices.Equal(o, at) }) {
		q.offsets = append(q.offsets, at)
	}
}

// choose returns the largest patterns that hold all reads of their arrays, of
// arrays that no larger one holds.
func (f *folder) choose() []StorageFold {
	slices.SortStableFunc(f.patterns, func(a, b *pattern) int { return b.size - a.size })
	taken := map[*ir.Array]bool{}
	var out []StorageFold
	for _, q := range f.patterns {
		var arrays []*ir.Array
		all := true
		for _, a := range f.stage.Arrays {
			if n := q.reads[a]; n > 0 {
				arrays = append(arrays, a)
				all = all && n == f.total[a] && !taken[a]
			}
		}
		if !all || len(arrays) < 2 || len(q.offsets) < 2 {
			continue
		}
		for _, a := range arrays {
			taken[a] = true
		}
		slices.SortFunc(q.offsets, func(a, b []int64) int { return slices.Compare(a, b) })
		out = append(out, StorageFold{arrays, q.value, q.offsets})
	}
	return out
}
