package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
)

// A folding has accesses to grids touch a small part of each. The index of an access is a sum of a literal and of what
// is no literal. The latter is folded: its low bits alone are kept, which costs one instruction for all accesses that
// have it in common, as accesses to neighbours have. Literals are brought closer together, in their order, so that no
// two accesses become the same. Thus what a warp accesses together stays together, and vectors stay aligned.
type folding struct {
	k             *Kernel
	args          map[*Var]op.Value
	flags         map[*Buffer]bool
	loads, stores int64 // bytes that all loads touch, and all stores; 0 leaves them as they are
	boxes         bool  // copies to shared memory count as loads
	reach         map[*Buffer]*span
}

// span is what the literals of a buffer's indices become, and the elements from the first of them to the end of the
// last access.
type span struct {
	literals map[int64]int64
	elements int64
}

const (
	foldUnit = 16 // elements that no access is wider than: multiples of it stay multiples
	foldGap  = 64 // elements that literals are apart at the most: lines of their own
)

func newFolding(k *Kernel, args map[*Var]op.Value) *folding {
	return &folding{k: k, args: args, flags: Flags(k.Body), reach: map[*Buffer]*span{}}
}

// run returns the kernel with its indices folded.
func (f *folding) run() (*Kernel, error) {
	widths, found := f.find()
	if !found {
		return nil, absent("it has no accesses to grids that could be folded")
	}
	for b, set := range widths.literals {
		f.reach[b] = spanOf(set, widths.most[b])
	}
	buffers := int64(len(f.reach))
	near, far := f.loads/buffers, f.stores/buffers
	if f.stores == 0 {
		far = 0
	}
	body := mapList(f.k.Body, func(s Stmt) []Stmt { return []Stmt{f.stmt(s, near, far)} })
	return rebuilt(f.k, body), nil
}

// grid reports whether accesses to a buffer are folded.
func (f *folding) grid(b *Buffer) bool {
	return (b.Space == Global || b.Space == Image) && !f.flags[b]
}

// widths are the literals of each buffer's indices, and the elements of its widest access.
type widths struct {
	literals map[*Buffer]map[int64]bool
	most     map[*Buffer]int64
}

// find collects the accesses.
func (f *folding) find() (widths, bool) {
	w := widths{map[*Buffer]map[int64]bool{}, map[*Buffer]int64{}}
	note := func(b *Buffer, index Expr, elements int64) {
		if !f.grid(b) {
			return
		}
		if w.literals[b] == nil {
			w.literals[b] = map[int64]bool{}
		}
		_, literal := apartFromLiteral(index)
		w.literals[b][literal] = true
		w.most[b] = max(w.most[b], elements)
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
	return w, len(w.literals) > 0 || boxes && f.boxes
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

// spanOf brings literals closer together. Each keeps its remainder by foldUnit.
func spanOf(set map[int64]bool, widest int64) *span {
	s := &span{literals: map[int64]int64{}}
	at, before := int64(0), int64(0)
	for i, v := range sortedLiterals(set) {
		switch gap := v - before; {
		case i == 0:
			at = (v%foldUnit + foldUnit) % foldUnit
		case gap <= foldGap:
			at += gap
		default:
			at += foldGap + gap%foldUnit
		}
		s.literals[v], before = at, v
	}
	s.elements = at + max(widest, 1)
	return s
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
	t := e.Type()
	at := L(op.Int(t, s.literals[literal]))
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
