package features

import (
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// share is a shape of a thread's cells, outermost axis first.
func share(stream int, vector int64, blocked ...int64) schedule.Shape {
	s := schedule.Shape{Stream: stream}
	for i, n := range blocked {
		x := schedule.Share{Threads: 1, Vector: 1, Blocked: n, Cyclic: 1}
		if i == len(blocked)-1 {
			x.Vector = vector
		}
		s.On = append(s.On, x)
	}
	return s
}

func facts(arrays ...[][]int64) *analysis.CallFacts {
	f := &analysis.CallFacts{}
	s := &analysis.StmtFacts{}
	for i, offsets := range arrays {
		s.Reads = append(s.Reads, analysis.Read{Array: string(rune('a' + i)), Offsets: offsets})
	}
	f.Statements = append(f.Statements, s)
	return f
}

// What a thread reads of a star is what one counts on paper.
func TestThreadReads(t *testing.T) {
	star := [][]int64{{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}}
	r := newThreadReads(facts(star), 2)
	for _, c := range []struct {
		on   schedule.Shape
		want readCount
	}{
		{share(-1, 1, 1, 1), readCount{5, 5, 5, 5, 1}},
		{share(-1, 1, 2, 1), readCount{4, 4, 4, 4, 2}},
		{share(-1, 4, 1, 1), readCount{3.5, 1.25, 3.5, 1.25, 4}},
		{share(0, 1, 1, 1), readCount{5, 5, 3, 3, 1}},
		{share(0, 4, 1, 1), readCount{3.5, 1.25, 1.5, 0.75, 4}},
	} {
		if got := r.of(c.on); got != c.want {
			t.Errorf("%+v: %+v, not %+v", c.on, got, c.want)
		}
	}
	two := newThreadReads(facts(star, [][]int64{{0, 0}}), 2)
	if got := two.of(share(-1, 1, 1, 1)); got.values != 6 {
		t.Errorf("a star and a point read %v values", got.values)
	}
}

// So is what it reads of any stencil, counted in another way: by a set of cells.
func TestThreadReadsOfAny(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		axes := 1 + r.IntN(3)
		offsets := make([][]int64, 1+r.IntN(9))
		for i := range offsets {
			for range axes {
				offsets[i] = append(offsets[i], r.Int64N(9)-4)
			}
		}
		blocked := make([]int64, axes)
		for i := range blocked {
			blocked[i] = 1 + r.Int64N(3)
		}
		vector, stream := int64(1)<<r.IntN(3), r.IntN(axes+1)-1
		on := share(stream, vector, blocked...)
		got := newThreadReads(facts(offsets), axes).of(on)
		for _, kept := range []int{-1, stream} {
			values, vectors, cells := map[[3]int64]bool{}, map[[3]int64]bool{}, map[[3]int64]bool{}
			var each func(axis int, cell []int64)
			each = func(axis int, cell []int64) {
				if axis < axes {
					n := blocked[axis]
					if axis == axes-1 {
						n *= vector
					}
					if axis == kept {
						n = 1
					}
					for i := range n {
						each(axis+1, append(cell[:axis:axis], i))
					}
					return
				}
				cells[[3]int64(append(append([]int64{}, cell...), 0, 0)[:3])] = true
				for _, o := range offsets {
					var at [3]int64
					for i := range axes {
						if i != kept {
							at[i] = cell[i] + o[i]
						}
					}
					values[at] = true
					for at[axes-1]%vector != 0 {
						at[axes-1]--
					}
					vectors[at] = true
				}
			}
			each(0, make([]int64, axes))
			v, w := float64(len(values))/float64(len(cells)), float64(len(vectors))/float64(len(cells))
			have, haveVectors := got.values, got.vectors
			if kept >= 0 {
				have, haveVectors = got.planeValues, got.planeVectors
			}
			if have != v || kept != axes-1 && haveVectors != w {
				t.Fatalf("%v, %d cells, vectors of %d, axis %d kept: %v values and %v vectors, not %v and %v", offsets,
					len(cells), vector, kept, have, haveVectors, v, w)
			}
		}
	}
}
