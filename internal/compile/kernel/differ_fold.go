package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
)

// A folding has accesses to grids touch a small part of each. The index of an access is a sum of a literal and of what
// is no literal, its base. Of the base the low bits alone are kept, which costs one instruction for all accesses that
// have it in common, as accesses to neighbours have. Then each base has a place of its own: sizes may be literals,
// and a compiler that sees a plane's stride vanish would take loads of several planes for one. Literals are brought
// closer together, in their order. Thus what a warp accesses together stays together, and vectors stay aligned.
type folding struct {
	k             *Kernel
	args          map[*Var]op.Value
	flags         map[*Buffer]bool
	loads, stores int64 // bytes that all loads touch, and all stores; 0 leaves them as they are
	boxes         bool  // copies to shared memory count as loads
	reach         map[*Buffer]*span
}

// span is where the accesses to a buffer are, beside the low bits of their bases.
type span struct {
	bases    []*baseSpan
	widest   int64 // elements of an access
	elements int64 // from the first place to the end of the last access
}

// baseSpan is what becomes of the literals that are added to one base.
type baseSpan struct {
	base     Expr // nil where all is literal
	literals map[int64]bool
	places   map[int64]int64
}

const (
	foldUnit = 16 // elements that no access is wider than: multiples of it stay multiples
	foldGap  = 16 // elements that literals are apart at the most
)

func newFolding(k *Kernel, args map[*Var]op.Value) *folding {
	return &folding{k: k, args: args, flags: Flags(k.Body), reach: map[*Buffer]*span{}}
}

// run returns the kernel with its indices folded.
func (f *folding) run() (*Kernel, error) {
	if !f.find() {
		return nil, absent("it has no accesses to grids that could be folded")
	}
	for _, s := range f.reach {
		s.place()
	}
	buffers := int64(max(1, len(f.reach)))
	near, far := f.loads/buffers, f.stores/buffers
	body := mapList(f.k.Body, func(s Stmt) []Stmt { return []Stmt{f.stmt(s, near, far)} })
	return rebuilt(f.k, body), nil
}

// grid reports whether accesses to a buffer are folded.
func (f *folding) grid(b *Buffer) bool {
	return (b.Space == Global || b.Space == Image) && !f.flags[b]
}

// find collects the accesses, and reports whether there are any.
func (f *folding) find() bool {
	note := func(b *Buffer, index Expr, elements int64) {
		if !f.grid(b) {
			return
		}
		if f.reach[b] == nil {
			f.reach[b] = &span{}
		}
		base, literal := apartFromLiteral(index)
		f.reach[b].of(base, true).literals[literal] = true
		f.reach[b].widest = max(f.reach[b].widest, elements)
	}
	boxes := false
	WalkStmts(f.k.Body, func(s Stmt) {
		switch s := s.(type) {
		case *Store:
			note(s.Buffer, s.Index, 1)
		case *StoreVector:
			note(s.Buffer, s.Index, int64(len(s.Values)))
		case *LoadVector:
			note(s.Buffer, s.Index, int64(len(s.Vars)))
		case *Prefetch:
			note(s.Buffer, s.Index, 1)
		case *AsyncCopy:
			note(s.From, s.Index, int64(s.Cells))
		case *BulkCopy:
			if n, fixed := s.To.Fixed(); fixed { // as much as there is room for
				note(s.From, s.Index, n)
			}
		case *TensorCopy:
			boxes = true
		}
	}, func(e Expr) {
		Walk(e, func(e Expr) {
			if l, ok := e.(*Load); ok {
				note(l.Buffer, l.Index, 1)
			}
		})
	})
	return len(f.reach) > 0 || boxes && f.boxes
}

// of returns the literals of a base, which are made if they are to be; nil otherwise.
func (s *span) of(base Expr, make bool) *baseSpan {
	for _, b := range s.bases {
		if b.base == nil && base == nil || b.base != nil && base != nil && Same(b.base, base) {
			return b
		}
	}
	if !make {
		return nil
	}
	b := &baseSpan{base, map[int64]bool{}, map[int64]int64{}}
	s.bases = append(s.bases, b)
	return b
}

// apartFromLiteral splits an index into what is no literal, nil if it is all literal, and the literal.
func apartFromLiteral(e Expr) (Expr, int64) {
	if v, ok := IntLit(e); ok {
		return nil, v
	}
	b, ok := e.(*Binary)
	if !ok || b.Op != op.Add && b.Op != op.Sub {
		return e, 0
	}
	x, a := apartFromLiteral(b.X)
	y, c := apartFromLiteral(b.Y)
	switch {
	case b.Op == op.Add && x == nil:
		return y, a + c
	case b.Op == op.Add && y == nil:
		return x, a + c
	case b.Op == op.Sub && y == nil:
		return x, a - c
	case a == 0 && c == 0:
		return e, 0
	case b.Op == op.Add:
		return Add(x, y), a + c
	}
	return e, 0
}

// place gives each literal of each base a place. Each keeps its remainder by foldUnit.
func (s *span) place() {
	next := int64(0)
	for _, b := range s.bases {
		at, before := int64(0), int64(0)
		for i, v := range sortedLiterals(b.literals) {
			switch gap := v - before; {
			case i == 0:
				at = next + (v%foldUnit+foldUnit)%foldUnit
			case gap <= foldGap:
				at += gap
			default:
				at += foldGap + gap%foldUnit
			}
			b.places[v], before = at, v
		}
		s.elements = at + max(s.widest, 1)
		next = (at + foldUnit) / foldUnit * foldUnit
	}
}

// index folds the index of an access to a buffer of which so many bytes are to be touched.
func (f *folding) index(b *Buffer, e Expr, bytes int64) Expr {
	s := f.reach[b]
	if bytes == 0 || s == nil || !f.grid(b) {
		return e
	}
	room := min(bytes/int64(b.Elem.Size()), Elements(b, f.args)-s.elements)
	if room < foldUnit {
		return e // a small array
	}
	kept := int64(foldUnit)
	for 2*kept <= room {
		kept *= 2
	}
	base, literal := apartFromLiteral(e)
	places := s.of(base, false)
	if places == nil {
		return e // it was written another way before its operands were rebuilt
	}
	t := e.Type()
	at := L(op.Int(t, places.places[literal]))
	if base == nil {
		return at
	}
	return Add(Bin(op.And, base, L(op.Int(t, kept-1))), at)
}

func (f *folding) stmt(s Stmt, near, far int64) Stmt {
	expr := func(e Expr) Expr {
		return Rewrite(e, func(e Expr) Expr {
			if l, ok := e.(*Load); ok {
				return &Load{l.Buffer, f.index(l.Buffer, l.Index, near), l.Via, l.Rank}
			}
			return e
		})
	}
	s = mapStmt(s, expr)
	switch s := s.(type) {
	case *Store:
		s.Index = f.index(s.Buffer, s.Index, far)
	case *StoreVector:
		s.Index = f.index(s.Buffer, s.Index, far)
	case *LoadVector:
		s.Index = f.index(s.Buffer, s.Index, near)
	case *Prefetch:
		s.Index = f.index(s.Buffer, s.Index, near)
	case *AsyncCopy:
		if f.boxes {
			s.Index = f.index(s.From, s.Index, near)
		}
	case *BulkCopy:
		if _, fixed := s.To.Fixed(); fixed && f.boxes {
			s.Index = f.index(s.From, s.Index, near)
		}
	case *TensorCopy:
		if f.boxes {
			s.Corner = f.corner(s.From, s.Corner, near)
		}
	}
	return s
}

// corner folds the indices of a box along the slowest axes, until so many bytes have all boxes. What is outside of the
// array is not read, so every corner is one.
func (f *folding) corner(b *Buffer, corner []Expr, bytes int64) []Expr {
	out := append([]Expr(nil), corner...)
	left := Elements(b, f.args) * int64(b.Elem.Size())
	for axis := 0; axis < len(out)-1 && left > bytes; axis++ {
		extent := b.Tensor.Extents[axis]
		if !uniform(extent, f.args) {
			return corner
		}
		n := Eval(extent, f.args).I
		kept := int64(1)
		for 2*kept <= n-b.Tensor.Box[axis] && (2*kept+b.Tensor.Box[axis])*left/max(n, 1) <= bytes {
			kept *= 2
		}
		out[axis] = Bin(op.And, out[axis], L(op.Int(out[axis].Type(), kept-1)))
		left = left / max(n, 1) * min(n, kept+b.Tensor.Box[axis])
	}
	return out
}
