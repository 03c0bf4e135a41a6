package kernel

import "github.com/gridloom/gridloom/internal/compile/ir"

// Side is one axis of the domain that a span's kernel works on.
type Side struct {
	Axis string
	Dim  ir.Dim // of the arrays
	// Least is how many cells the kernel needs along the axis to be right; 1 if any number does.
	Least int64
	// Tile is how many a block stores, 0 where that is as many as there are.
	Tile int64
}

// Cells returns how many cells the axis has for values of the program's parameters.
func (s *Side) Cells(params []int64) int64 { return s.Dim.Hi.Minus(s.Dim.Lo).Add(1).Eval(params) }

// Short returns an axis that has fewer cells than the kernel needs, or nil: then iterations are carried out one by
// one.
func (s *Span) Short(params []int64) *Side {
	return s.side(func(x *Side) bool { return x.Cells(params) < x.Least })
}

// Wide returns an axis that has fewer cells than a tile, or nil: threads of a block have nothing to do there.
func (s *Span) Wide(params []int64) *Side {
	return s.side(func(x *Side) bool { return x.Cells(params) < x.Tile })
}

func (s *Span) side(is func(*Side) bool) *Side {
	for i := range s.Domain {
		if is(&s.Domain[i]) {
			return &s.Domain[i]
		}
	}
	return nil
}
