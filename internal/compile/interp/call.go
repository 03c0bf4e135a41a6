package interp

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// compiledCall is a compiled ir.Call: its memory and its statements.
type compiledCall struct {
	stores []*store // of local grids and temps
	body   []*statement
}

// compileCall lays out a call's memory and compiles its statements.
func (s *State) compileCall(src *ir.Call) (*compiledCall, error) {
	out := &compiledCall{}
	c := scope{state: s, stores: map[*ir.Array]*store{}, temps: map[*ir.Temp]*store{}}
	for _, a := range src.Arrays {
		st, err := s.place(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name, err)
		}
		c.stores[a] = st
		if a.Grid == nil {
			out.stores = append(out.stores, st)
		}
	}
	used, err := s.usage(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	for _, st := range src.Body {
		var compiled *statement
		switch {
		case st.Temp == nil:
			compiled, err = c.statement(st, s.domain(st), st.Axes)
		case used[st.Temp] == nil:
			continue // a value that nothing reads
		default:
			u := used[st.Temp]
			t := newStore(st.Temp.Type, u.lo(), u.hi())
			t.axes, t.chain = u.axes, s.opts.Bounds == Fast && st.Temp.Type.IsFloat()
			c.temps[st.Temp] = t
			out.stores = append(out.stores, t)
			compiled, err = c.statement(st, u.dom, u.axes)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", src.Name, err)
		}
		if compiled.buffer != nil {
			out.stores = append(out.stores, compiled.buffer)
		}
		out.body = append(out.body, compiled)
	}
	return out, nil
}

// place returns where a call's array lies: a grid over its extents, a local
// grid over its own box.
func (s *State) place(a *ir.Array) (*store, error) {
	var lo, hi []int64
	for d, dim := range a.Dims {
		e := s.b.Extent(dim)
		if a.Grid == nil {
			e = s.b.Range(a.Holds(d))
		}
		if e.Len() == 0 {
			return nil, fmt.Errorf("%s has no cells", a.Name)
		}
		lo, hi = append(lo, e.Lo), append(hi, e.Hi)
	}
	st := newStore(a.Type, lo, hi)
	if a.Grid == nil {
		st.chain = s.opts.Bounds == Fast && a.Type.IsFloat()
		return st, nil
	}
	g := s.array(a.Grid)
	if g == nil || g.Type != a.Type || cellCount(g.Shape) != st.size() {
		return nil, fmt.Errorf("%s does not fit its grid", a.Name)
	}
	st.Array = g
	return st, nil
}

// domain returns where a statement that is not a temp's is evaluated, by axis.
func (s *State) domain(st *ir.Stmt) []ir.Extent {
	dom := make([]ir.Extent, len(s.b.Program.Axes))
	for _, axis := range st.Axes {
		dom[axis] = s.b.Range(st.Domain[axis])
	}
	return dom
}

// usage is where a temp is needed: the smallest box around all its uses.
type usage struct {
	axes []int // those it varies on
	dom  []ir.Extent
	seen []bool // axes on which dom is known
}

func (u *usage) lo() []int64 {
	lo := make([]int64, len(u.axes))
	for k, axis := range u.axes {
		lo[k] = u.dom[axis].Lo
	}
	return lo
}

func (u *usage) hi() []int64 {
	hi := make([]int64, len(u.axes))
	for k, axis := range u.axes {
		hi[k] = u.dom[axis].Hi
	}
	return hi
}

// include extends u to a use over dom on those axes.
func (u *usage) include(axes []int, dom []ir.Extent) {
	for _, axis := range axes {
		e := dom[axis]
		if u.seen[axis] {
			e = ir.Extent{Lo: min(e.Lo, u.dom[axis].Lo), Hi: max(e.Hi, u.dom[axis].Hi)}
		}
		u.dom[axis], u.seen[axis] = e, true
	}
}

// usage finds where a call's temps are needed, uses by other temps included;
// those that nothing uses are left out.
func (s *State) usage(src *ir.Call) (map[*ir.Temp]*usage, error) {
	rank := len(s.b.Program.Axes)
	axes := map[*ir.Temp][]int{}
	for _, st := range src.Body {
		if st.Temp != nil {
			axes[st.Temp] = ir.AxesOf(rank, st.Value, func(t *ir.Temp) []int { return axes[t] })
		}
	}
	used := map[*ir.Temp]*usage{}
	for k := len(src.Body) - 1; k >= 0; k-- {
		st := src.Body[k]
		over, dom := st.Axes, []ir.Extent(nil)
		if st.Temp == nil {
			dom = s.domain(st)
		} else {
			u := used[st.Temp]
			if u == nil {
				continue
			}
			over, dom = st.Axes[:0:0], u.dom
			for axis, seen := range u.seen {
				if !seen {
					continue
				}
				over = append(over, axis)
				if box := s.b.Range(st.Temp.Box[axis]); u.dom[axis].Lo < box.Lo || u.dom[axis].Hi > box.Hi {
					return nil, fmt.Errorf("%s is used from %d to %d on %s, but defined from %d to %d", st.Temp.Name,
						u.dom[axis].Lo, u.dom[axis].Hi, s.b.Program.Axes[axis], box.Lo, box.Hi)
				}
			}
		}
		ir.Walk(st.Value, func(e ir.Expr) {
			ref, ok := e.(ir.TempRef)
			if !ok {
				return
			}
			u := used[ref.Temp]
			if u == nil {
				u = &usage{axes: axes[ref.Temp], dom: make([]ir.Extent, rank), seen: make([]bool, rank)}
				used[ref.Temp] = u
			}
			u.include(over, dom)
		})
	}
	for _, st := range src.Body {
		if u := used[st.Temp]; st.Temp != nil && u != nil {
			for _, axis := range u.axes {
				if !u.seen[axis] {
					return nil, fmt.Errorf("%s varies on %s, on which its use does not run", st.Temp.Name,
						s.b.Program.Axes[axis])
				}
			}
		}
	}
	return used, nil
}

// memory returns the call's stores' bytes, bounds included.
func (g *compiledCall) memory(m Mode) int64 {
	n := int64(0)
	for _, st := range g.stores {
		n += st.memory(m)
	}
	return n
}

func (s *store) memory(m Mode) int64 {
	n := (s.size()*int64(s.Type.Size()) + 7) &^ 7
	if m != NoBounds {
		n += 8 * s.size()
		if s.chain {
			n += 16 * s.size()
		}
	}
	return n
}

// run executes a call in the memory that its stores share with those of other
// calls.
func (s *State) run(g *compiledCall, step int64) {
	words := s.arena
	take := func(n int64) []uint64 {
		out := words[:n:n]
		words = words[n:]
		return out
	}
	for _, st := range g.stores {
		n := st.size()
		st.Data = asBytes(take((n*int64(st.Type.Size()) + 7) / 8))[:n*int64(st.Type.Size())]
		if s.opts.Bounds != NoBounds {
			st.Bound = asFloats(take(n))
			if st.chain {
				st.sum, st.mag = asFloats(take(n)), asFloats(take(n))
			}
		}
		st.poison()
	}
	for _, st := range g.body {
		st.run(s, step)
	}
}
