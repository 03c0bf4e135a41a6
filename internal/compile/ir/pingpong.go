package ir

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// PingPong returns p with time loops written out as calls made loops again:
// a sequence of calls of one stencil in which the grids change places in the
// same way from each call to the next becomes an iterate of the first call and
// rotations.
//
//	(run jacobi)          (iterate (i32 4)
//	(run jacobi.2)          (run jacobi)
//	(run jacobi)     =>     (rotate out in))
//	(run jacobi.2)
//
// The result is the same bit for bit, rims included: contents move between
// names, and each call finds under its names what it would have found under
// the other call's. A loop makes whole rounds, after which every grid has its
// own name again; calls beyond the last whole round stay. Stencils that use
// step are left alone, for it would count the new loop. p is not changed; if
// there is nothing to do it is returned itself.
func PingPong(p *Program) *Program {
	body, changed := pingPongs(p, p.Body)
	if !changed {
		return p
	}
	out := *p
	out.Body, out.strict = body, nil
	used := map[*Call]bool{}
	markCalls(body, used)
	out.Calls = slices.DeleteFunc(slices.Clone(p.Calls), func(s *Call) bool { return !used[s] })
	return &out
}

func markCalls(body []Op, used map[*Call]bool) {
	for _, o := range body {
		switch o := o.(type) {
		case *Run:
			used[o.Call] = true
		case *Iterate:
			markCalls(o.Body, used)
		}
	}
}

func pingPongs(p *Program, body []Op) (out []Op, changed bool) {
	for i := 0; i < len(body); {
		if it, ok := body[i].(*Iterate); ok {
			inner, c := pingPongs(p, it.Body)
			if c {
				copied := *it
				copied.Body = inner
				out, changed = append(out, &copied), true
			} else {
				out = append(out, it)
			}
			i++
			continue
		}
		if loop, n := pingPong(p, body[i:]); loop != nil {
			out, changed = append(out, loop), true
			i += n
			continue
		}
		out = append(out, body[i])
		i++
	}
	return out, changed
}

// pingPong returns the loop that the first n ops of body are, or nil.
func pingPong(p *Program, body []Op) (loop *Iterate, n int) {
	var calls []*Call
	for _, o := range body {
		r, ok := o.(*Run)
		if !ok {
			break
		}
		calls = append(calls, r.Call)
	}
	if len(calls) < 2 || usesStep(calls[0]) {
		return nil, 0
	}
	// turn collects which grid takes whose place. It must stay the same from
	// call to call; a call need not have all the grids that take part.
	turn := map[*Grid]*Grid{}
	for k := 1; k < len(calls); k++ {
		next, ok := exchange(p, calls[k-1], calls[k])
		if !ok || !merge(turn, next) {
			break
		}
		cycles, round, ok := cyclesOf(p, turn)
		if whole := (k + 1) / round * round; ok && round > 1 && whole > n {
			n = whole
			loop = &Iterate{Count: Const{op.Int(types.I32, int64(n))}, Body: []Op{&Run{calls[0]}}}
			for _, c := range cycles {
				loop.Body = append(loop.Body, &Rotate{c})
			}
		}
	}
	return loop, n
}

func usesStep(s *Call) bool {
	uses := false
	check := func(e Expr) {
		if _, ok := e.(StepRef); ok {
			uses = true
		}
	}
	for _, st := range s.Body {
		Walk(st.Value, check)
	}
	for _, a := range s.Arrays {
		for _, d := range a.Dims {
			for _, b := range []Boundary{d.Faces.Low, d.Faces.High} {
				if b.Value != nil {
					Walk(b.Value, check)
				}
			}
		}
	}
	return uses
}

// exchange compares two calls. They are one if the second is the first with
// other grids in the same places; it returns which grid takes whose place.
func exchange(p *Program, a, b *Call) (map[*Grid]*Grid, bool) {
	if len(a.Arrays) != len(b.Arrays) || bodyText(p, a) != bodyText(p, b) {
		return nil, false
	}
	turn := map[*Grid]*Grid{}
	for i, x := range a.Arrays {
		y := b.Arrays[i]
		if x.Local != y.Local {
			return nil, false
		}
		if !x.Local {
			turn[x.Grid] = y.Grid
		}
	}
	return turn, true
}

// merge adds an exchange to turn, if they agree.
func merge(turn, more map[*Grid]*Grid) bool {
	for g, h := range more {
		if old := turn[g]; old != nil && old != h {
			return false
		}
		turn[g] = h
	}
	return true
}

// bodyText prints a call without the names that differ between two calls of
// one stencil: its own, its arrays' and their grids'.
func bodyText(p *Program, s *Call) string {
	plain := &Call{Stencil: s.Stencil, Temps: s.Temps, Hints: s.Hints}
	to := map[*Array]*Array{}
	for i, a := range s.Arrays {
		c := *a
		c.Name, c.Grid = fmt.Sprintf("array%d", i), nil
		plain.Arrays = append(plain.Arrays, &c)
		to[a] = &c
	}
	for _, st := range s.Body {
		c := *st
		if st.Array != nil {
			c.Array = to[st.Array]
		}
		c.Value = Rewrite(st.Value, func(e Expr) Expr {
			if a, ok := e.(*Access); ok {
				return &Access{to[a.Array], a.Index}
			}
			return e
		})
		plain.Body = append(plain.Body, &c)
	}
	return printer{p}.call(callKeyword, plain).String()
}

// cyclesOf returns the cycles of an exchange, each from its first grid in the
// program's order, and the number of exchanges after which every grid is in
// its place again. It fails if a grid's place stays empty or two grids take
// one.
func cyclesOf(p *Program, turn map[*Grid]*Grid) (cycles [][]*Grid, round int, ok bool) {
	round = 1
	seen := map[*Grid]bool{}
	for _, g := range p.Grids {
		if seen[g] || turn[g] == nil {
			continue
		}
		var c []*Grid
		h := g
		for ; h != nil && !seen[h]; h = turn[h] {
			seen[h] = true
			c = append(c, h)
		}
		if h != g {
			return nil, 1, false
		}
		if len(c) > 1 {
			cycles = append(cycles, c)
			round = lcm(round, len(c))
		}
	}
	return cycles, round, true
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}
