package gen

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// pastRowEnds returns the grids that a call reads beyond an end of their rows
// that has a boundary.
func pastRowEnds(s *ir.Call, inner int) []*ir.Array {
	var list []*ir.Array
	for _, st := range s.Body {
		ir.Walk(st.Value, func(e ir.Expr) {
			x, ok := e.(*ir.Access)
			if !ok {
				return
			}
			for d, ix := range x.Index {
				faces := x.Array.Dims[d].Faces
				if ix.Axis == inner && (ix.Offset < 0 && faces.Low.Kind != ir.None || ix.Offset > 0 &&
					faces.High.Kind != ir.None) {
					list = append(list, x.Array)
				}
			}
		})
	}
	return list
}

// unlike reports whether two grids have rows of the same cells, but other
// boundaries at their ends or another type.
func unlike(a, b *ir.Array) bool {
	x, y := a.Dims[len(a.Dims)-1], b.Dims[len(b.Dims)-1]
	return x.Lo.Equal(y.Lo) && x.Hi.Equal(y.Hi) &&
		(a.Type != b.Type || x.Faces.Low.Kind != y.Faces.Low.Kind || x.Faces.High.Kind != y.Faces.High.Kind)
}

// oneEnded reports whether a grid has a boundary at one end of its rows only.
func oneEnded(a *ir.Array) bool {
	f := a.Dims[len(a.Dims)-1].Faces
	return (f.Low.Kind == ir.None) != (f.High.Kind == ir.None)
}

// What holds at the ends of one grid's rows does not hold at those of another
// with the same cells: many programs read past the ends of several such grids,
// short ones too.
func TestProgramsReadUnlikeGridsPastTheSameEnds(t *testing.T) {
	const programs = 300
	for _, c := range []struct{ size, least, leastEnded, leastTypes int }{
		{2, programs / 5, programs / 12, programs / 8},
		{8, programs / 3, programs / 6, programs / 4},
	} {
		all, ended, types := 0, 0, 0
		for seed := range uint64(programs) {
			found, one, mixed := false, false, false
			p := made(t, seed, Options{Size: c.size}).Program
			for _, s := range p.Calls {
				past := pastRowEnds(s, len(p.Axes)-1)
				for i, a := range past {
					for _, b := range past[:i] {
						if unlike(a, b) {
							found = true
							one = one || oneEnded(a) || oneEnded(b)
							mixed = mixed || a.Type != b.Type
						}
					}
				}
			}
			all += count(found)
			ended += count(one)
			types += count(mixed)
		}
		if all < c.least || ended < c.leastEnded || types < c.leastTypes {
			t.Errorf(
				"%d statements: of %d programs only %d read past the ends of unlike grids, %d with boundaries at one "+
					"end, %d of several types",
				c.size, programs, all, ended, types)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
