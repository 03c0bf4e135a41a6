package features

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// counts are what some statements do, carried out once.
type counts struct {
	global, local         traffic
	barriers, ifs, bodies int64
	floats, others        int64 // operations on floating-point numbers, and on all else
}

// traffic is the accesses to one kind of memory.
type traffic struct{ loads, stores int64 }

// add adds other counts, so many times.
func (c *counts) add(o *counts, times int64) {
	c.global.add(o.global, times)
	c.local.add(o.local, times)
	c.barriers += times * o.barriers
	c.ifs += times * o.ifs
	c.bodies += times * o.bodies
	c.floats += times * o.floats
	c.others += times * o.others
}

func (t *traffic) add(o traffic, times int64) {
	t.loads += times * o.loads
	t.stores += times * o.stores
}

// most keeps the larger of each of two counts of accesses, or the smaller.
func (t *traffic) most(o traffic, fewest bool) {
	if fewest {
		t.loads, t.stores = min(t.loads, o.loads), min(t.stores, o.stores)
		return
	}
	t.loads, t.stores = max(t.loads, o.loads), max(t.stores, o.stores)
}

// counted is a kernel whose statements are counted.
type counted struct {
	lists []*list
	of    *kernel.Counted
	body  []kernel.Stmt // the kernel's, with marks
}

// list is statements that are carried out equally often. Its mark begins them, and tells how often.
type list struct {
	mark  kernel.Stmt
	stmts []kernel.Stmt
}

// countOf counts how often the lists of a kernel are carried out.
func countOf(k *kernel.Kernel, args map[*kernel.Var]op.Value) (*counted, error) {
	c := &counted{}
	marked := *k
	marked.Body = c.mark(k.Body)
	c.body = marked.Body
	marks := map[kernel.Stmt]bool{}
	for _, l := range c.lists {
		marks[l.mark] = true
	}
	var err error
	c.of, err = kernel.PiecewiseExecutions(&marked, args, marks)
	return c, err
}

// mark returns a list with a mark at its beginning, and those inside likewise.
func (c *counted) mark(stmts []kernel.Stmt) []kernel.Stmt {
	l := &list{mark: &kernel.Comment{Text: "mark"}}
	c.lists = append(c.lists, l)
	l.stmts = append(make([]kernel.Stmt, 0, len(stmts)+1), l.mark)
	for _, s := range stmts {
		switch x := s.(type) {
		case *kernel.Loop:
			inner := *x
			inner.Body = c.mark(x.Body)
			s = &inner
		case *kernel.If:
			inner := *x
			inner.Then = c.mark(x.Then)
			if x.Else != nil {
				inner.Else = c.mark(x.Else)
			}
			s = &inner
		}
		l.stmts = append(l.stmts, s)
	}
	return l.stmts
}

// all returns what all threads do together.
func (c *counted) all() counts { return c.sum(false) }

// sum adds up what statements do. Of a select that loads the side with most loads counts, or with fewest.
func (c *counted) sum(fewest bool) counts {
	var sum counts
	for _, l := range c.lists {
		if times := c.of.Times[l.mark]; times > 0 {
			var each counts
			for _, s := range l.stmts {
				c.stmt(s, &each, fewest)
			}
			sum.add(&each, times)
		}
	}
	for _, l := range c.lists {
		for _, s := range l.stmts {
			if x, ok := s.(*kernel.Loop); ok {
				c.loop(x, c.of.Times[l.mark], &sum)
			}
		}
	}
	return sum
}

// loop adds what a loop is as control flow: its iterations, or a condition, or nothing.
func (c *counted) loop(x *kernel.Loop, times int64, sum *counts) {
	trips, reached := c.of.Trips[x]
	switch {
	case !reached, x.Tag == kernel.Unroll, x.Tag.IsThread(), x.Tag.IsBlock(), x.Tag.IsCluster():
	case trips == [2]int64{1, 1}:
	case trips[1] <= 1:
		sum.ifs += times
	default:
		sum.bodies += c.of.Times[x.Body[0]]
	}
}

// stmt adds what a statement does, those inside of it left out.
func (c *counted) stmt(s kernel.Stmt, n *counts, fewest bool) {
	switch s := s.(type) {
	case *kernel.Let:
		n.expr(s.Value, fewest)
	case *kernel.Declare:
		n.expr(s.Init, fewest)
	case *kernel.Assign:
		n.expr(s.Value, fewest)
	case *kernel.Shuffle:
		n.expr(s.Value, fewest)
		n.expr(s.By, fewest)
	case *kernel.Store:
		n.expr(s.Index, fewest)
		n.expr(s.Value, fewest)
		n.access(s.Buffer).stores++
	case *kernel.LoadVector:
		n.expr(s.Index, fewest)
		n.access(s.Buffer).loads++
	case *kernel.StoreVector:
		n.expr(s.Index, fewest)
		for _, e := range s.Values {
			n.expr(e, fewest)
		}
		n.access(s.Buffer).stores++
	case *kernel.AsyncCopy:
		n.access(s.From).loads++
		n.access(s.To).stores++
	case *kernel.BulkCopy:
		n.access(s.From).loads++
		n.access(s.To).stores++
	case *kernel.TensorCopy:
		n.access(s.From).loads++
		n.access(s.To).stores++
	case *kernel.Loop:
		n.expr(s.Lo, fewest)
		n.expr(s.Hi, fewest)
		n.expr(s.Step, fewest)
	case *kernel.If:
		n.expr(s.Cond, fewest)
		n.ifs++
	case *kernel.Barrier:
		if s.Scope != kernel.WarpScope {
			n.barriers++
		}
	}
}

// access returns the counts of a buffer's memory.
func (c *counts) access(b *kernel.Buffer) *traffic {
	switch b.Space {
	case kernel.Shared:
		return &c.local
	case kernel.Private, kernel.Mbarrier:
		return &traffic{}
	}
	return &c.global
}

// expr adds the loads of an expression.
func (c *counts) expr(e kernel.Expr, fewest bool) {
	switch e := e.(type) {
	case *kernel.Load:
		c.access(e.Buffer).loads++
	case *kernel.Select:
		var x, y counts
		c.expr(e.Cond, fewest)
		x.expr(e.X, fewest)
		y.expr(e.Y, fewest)
		x.global.most(y.global, fewest)
		x.local.most(y.local, fewest)
		x.floats, x.others = x.floats+y.floats, x.others+y.others // threads of a warp differ: both are carried out
		c.add(&x, 1)
		c.operation(e)
		return
	case *kernel.Unary, *kernel.Binary, *kernel.Fma, *kernel.Cast, *kernel.FuncCall, *kernel.Random:
		c.operation(e)
	}
	for _, child := range kernel.Children(e) {
		c.expr(child, fewest)
	}
}

// operation counts an operation, by what comes out of it.
func (c *counts) operation(e kernel.Expr) {
	if e.Type().IsFloat() {
		c.floats++
	} else {
		c.others++
	}
}
