package features

import (
	"slices"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// threadReads counts what a thread reads for its neighbouring cells: cells that share inputs read them once. It may be
// asked from several goroutines.
type threadReads struct {
	arrays [][][]int64 // by array, the offsets of all statements
	axes   int
	mutex  sync.Mutex
	known  map[readShape]readCount
}

// readShape is what the count depends on.
type readShape struct {
	cells  [3]int64 // neighbouring cells of a thread, innermost first
	vector int64
	stream int // axis; -1 if there is none
}

// readCount is what a thread reads by its neighbouring cells.
type readCount struct {
	values  float64
	vectors float64 // at multiples of their width
	// planeValues and planeVectors are those of a step along the stream, where what was read before is kept. Without a
	// stream they are the others.
	planeValues, planeVectors float64
	cells                     float64 // the neighbouring cells
}

func newThreadReads(f *analysis.CallFacts, axes int) *threadReads {
	r := &threadReads{axes: axes, known: map[readShape]readCount{}}
	of := map[string]int{}
	for _, s := range f.Statements {
		for _, x := range s.Reads {
			i, ok := of[x.Array]
			if !ok {
				i = len(r.arrays)
				of[x.Array], r.arrays = i, append(r.arrays, nil)
			}
			r.arrays[i] = append(r.arrays[i], x.Offsets...)
		}
	}
	for i, list := range r.arrays {
		list = slices.Clone(list)
		slices.SortFunc(list, slices.Compare[[]int64])
		r.arrays[i] = slices.CompactFunc(list, slices.Equal[[]int64])
	}
	return r
}

// mostNeighbours bounds the cells that are counted of a thread along an axis: more share no more.
const mostNeighbours = 64

// of returns the count for a shape.
func (r *threadReads) of(on schedule.Shape) readCount {
	s := readShape{stream: on.Stream, vector: 1}
	for i := range s.cells {
		s.cells[i] = 1
		if axis := r.axes - 1 - i; axis >= 0 {
			s.cells[i] = max(1, min(mostNeighbours, on.On[axis].Vector*on.On[axis].Blocked))
		}
	}
	if r.axes > 0 {
		s.vector = max(1, on.On[r.axes-1].Vector)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	n, ok := r.known[s]
	if !ok {
		n.cells = float64(s.cells[0] * s.cells[1] * s.cells[2])
		n.values, n.vectors = r.count(s, -1)
		n.planeValues, n.planeVectors = n.values, n.vectors
		if s.stream >= 0 {
			n.planeValues, n.planeVectors = r.count(s, s.stream)
		}
		r.known[s] = n
	}
	return n
}

// count returns the values and the vectors that a thread reads by its cells. Along the axis kept, cells that are read
// at one offset are there at all others.
func (r *threadReads) count(s readShape, kept int) (values, vectors float64) {
	cells := 1.0
	for i, n := range s.cells {
		if r.axes-1-i != kept {
			cells *= float64(n)
		}
	}
	for _, list := range r.arrays {
		touched := newTouched(r, list, s, kept)
		for _, o := range list {
			touched.add(o)
		}
		v, w := touched.counts()
		values, vectors = values+float64(v)/cells, vectors+float64(w)/cells
	}
	return values, vectors
}

// touched are the cells of a box that are read.
type touched struct {
	r     *threadReads
	shape readShape
	kept  int
	low   [3]int64 // of the box, innermost first
	size  [3]int64
	is    []bool
}

// newTouched makes the box that offsets and cells span.
func newTouched(r *threadReads, list [][]int64, s readShape, kept int) *touched {
	t := &touched{r: r, shape: s, kept: kept}
	n := int64(1)
	for i := range t.low {
		var low, high int64
		for _, o := range list {
			d := t.at(o, i)
			low, high = min(low, d), max(high, d)
		}
		if i == 0 {
			low = -(-low + s.vector - 1) / s.vector * s.vector
		}
		t.low[i] = low
		t.size[i] = high - low + t.cells(i)
		n *= t.size[i]
	}
	t.is = make([]bool, n)
	return t
}

// at returns an offset along an axis that is counted from the inside.
func (t *touched) at(o []int64, fromInner int) int64 {
	i := t.r.axes - 1 - fromInner
	if i < 0 || i >= len(o) || i == t.kept {
		return 0
	}
	return o[i]
}

// cells returns the neighbouring cells along an axis.
func (t *touched) cells(fromInner int) int64 {
	if t.r.axes-1-fromInner == t.kept {
		return 1
	}
	return t.shape.cells[fromInner]
}

// add marks what all cells read at an offset.
func (t *touched) add(o []int64) {
	x, y, z := t.at(o, 0)-t.low[0], t.at(o, 1)-t.low[1], t.at(o, 2)-t.low[2]
	for k := z; k < z+t.cells(2); k++ {
		for j := y; j < y+t.cells(1); j++ {
			row := t.is[(k*t.size[1]+j)*t.size[0]:]
			for i := x; i < x+t.cells(0); i++ {
				row[i] = true
			}
		}
	}
}

// counts returns the cells that are marked, and the vectors that have such cells.
func (t *touched) counts() (values, vectors int) {
	for at := int64(0); at < int64(len(t.is)); at += t.size[0] {
		row := t.is[at : at+t.size[0]]
		last := int64(-1)
		for i, is := range row {
			if !is {
				continue
			}
			values++
			if v := int64(i) / t.shape.vector; v != last {
				last = v
				vectors++
			}
		}
	}
	return values, vectors
}
