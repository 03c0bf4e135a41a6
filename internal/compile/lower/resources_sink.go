package lower

import (
	"cmp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// sunk returns statements in another order: loads stand before the first that
// needs what they load, as a compiler puts them that is short of registers. No
// load passes a barrier. What it returns is good for counting alone.
func sunk(list []kernel.Stmt) []kernel.Stmt {
	type placed struct {
		at   int // the statement that it stands before, or itself
		sunk bool
		stmt kernel.Stmt
	}
	out := make([]placed, 0, len(list))
	first := map[*kernel.Var]int{} // where a variable is needed first
	barrier := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		p := placed{at: i, stmt: list[i]}
		if vars := loads(list[i]); vars != nil {
			p.at = barrier
			for _, v := range vars {
				if n, used := first[v]; used {
					p.at = min(p.at, n)
				}
			}
			p.sunk = true
		}
		switch s := p.stmt.(type) {
		case *kernel.Barrier, *kernel.AsyncWait, *kernel.MbarrierWait, *kernel.FlagWait:
			barrier = i
		case *kernel.Loop:
			l := *s
			l.Body = sunk(s.Body)
			p.stmt = &l
		case *kernel.If:
			c := *s
			c.Then, c.Else = sunk(s.Then), sunk(s.Else)
			p.stmt = &c
		}
		kernel.WalkStmts(list[i:i+1], nil, func(e kernel.Expr) {
			kernel.Walk(e, func(e kernel.Expr) {
				if r, ok := e.(*kernel.Ref); ok {
					first[r.Var] = p.at
				}
			})
		})
		out = append(out, p)
	}
	slices.Reverse(out)
	slices.SortStableFunc(out, func(p, q placed) int {
		if d := cmp.Compare(p.at, q.at); d != 0 || p.sunk == q.sunk {
			return d
		}
		if p.sunk {
			return -1
		}
		return 1
	})
	stmts := make([]kernel.Stmt, len(out))
	for i, p := range out {
		stmts[i] = p.stmt
	}
	return stmts
}

// loads returns the variables that a statement names with what it loads, nil
// if it is no load.
func loads(s kernel.Stmt) []*kernel.Var {
	switch s := s.(type) {
	case *kernel.LoadVector:
		return s.Vars
	case *kernel.Let:
		found := false
		kernel.Walk(s.Value, func(e kernel.Expr) {
			if _, ok := e.(*kernel.Load); ok {
				found = true
			}
		})
		if found {
			return []*kernel.Var{s.Var}
		}
	}
	return nil
}
