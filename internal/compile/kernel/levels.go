package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// level says over which threads a value is the same.
type level uint8

const (
	perLaunch  level = iota // one value for the whole launch, known before it starts
	perGrid                 // one value for the whole launch at a time
	perCluster              // one value for all threads of a cluster
	perBlock                // one value for all threads of a block
	perWarp                 // one value for all threads of a warp
	perThread               // each thread, or each iteration that runs at once, has its own
)

// warpSize is the number of threads that execute together.
const warpSize = 32

// levels finds the level of every variable of a kernel. What a variable that
// changes is given under a condition is no more uniform than the condition.
func levels(k *Kernel) *leveller {
	a := &leveller{of: map[*Var]level{}, rows: map[*Var]bool{}}
	a.measure(k)
	for changed := true; changed; {
		a.changed = false
		a.list(k.Body, perLaunch)
		changed = a.changed
	}
	return a
}

type leveller struct {
	of      map[*Var]level
	changed bool
	// clusters says that there are any; whole that a warp's threads differ in x
	// alone, and warps start at multiples of their size there. Rows are the
	// variables that hold a thread's x, counted from 0.
	clusters, whole bool
	rows            map[*Var]bool
}

// measure finds out how threads fall into warps.
func (a *leveller) measure(k *Kernel) {
	others, multiple, any := false, true, false
	WalkStmts(k.Body, func(s Stmt) {
		l, ok := s.(*Loop)
		switch {
		case !ok:
		case l.Tag.IsCluster():
			a.clusters = true
		case l.Tag == ThreadX:
			n, known := Trips(l)
			multiple = multiple && known && n%warpSize == 0
			any = true
			lo, from := IntLit(l.Lo)
			by, step := IntLit(l.Step)
			if from && lo == 0 && step && by == 1 {
				a.rows[l.Var] = true
			}
		case l.Tag.IsThread():
			others = true
		}
	}, nil)
	a.whole = any && (multiple || !others)
}

func (a *leveller) raise(v *Var, to level) {
	if a.of[v] < to {
		a.of[v] = to
		a.changed = true
	}
}

// expr returns the level of an expression.
func (a *leveller) expr(e Expr) level {
	l := perLaunch
	if e == nil {
		return l // the verifier says so
	}
	switch e := e.(type) {
	case *Ref:
		return a.of[e.Var]
	case *Load:
		l = perBlock
		if e.Buffer.Space == Private {
			l = perThread
		}
	case *Binary:
		if a.tellsWarps(e) {
			return perWarp
		}
	}
	for _, c := range Children(e) {
		l = max(l, a.expr(c))
	}
	return l
}

// tellsWarps reports whether e divides a thread's x by a multiple of the size
// of a warp, or tells whether it is below one.
func (a *leveller) tellsWarps(e *Binary) bool {
	n, literal := IntLit(e.Y)
	if !a.whole || !literal || n <= 0 || !a.isRow(e.X) {
		return false
	}
	switch e.Op {
	case op.Div, op.Lt, op.Ge:
		return n%warpSize == 0
	case op.Le, op.Gt:
		return n%warpSize == warpSize-1
	}
	return false
}

// isRow reports whether e is a thread's x, from 0.
func (a *leveller) isRow(e Expr) bool {
	if c, ok := e.(*Cast); ok && (c.To == types.I32 || c.To == types.I64) {
		e = c.X
	}
	r, ok := e.(*Ref)
	return ok && a.rows[r.Var]
}

func (a *leveller) list(list []Stmt, under level) {
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			a.raise(s.Var, a.expr(s.Value))
			a.rows[s.Var] = a.isRow(s.Value)
		case *Declare:
			a.raise(s.Var, max(perGrid, a.expr(s.Init)))
		case *Assign:
			a.raise(s.Var, max(under, a.expr(s.Value)))
		case *LoadVector:
			for _, v := range s.Vars {
				a.raise(v, a.expr(&Load{Buffer: s.Buffer, Index: s.Index}))
			}
		case *Shuffle:
			l := perThread
			if s.fromFirst() {
				l = min(max(perGrid, a.expr(s.Value)), perWarp)
			}
			a.raise(s.Var, l)
		case *Loop:
			bounds := max(a.expr(s.Lo), a.expr(s.Hi), a.expr(s.Step))
			a.raise(s.Var, max(bounds, a.counter(s)))
			a.list(s.Body, max(under, a.control(s)))
		case *If:
			l := max(under, a.expr(s.Cond))
			a.list(s.Then, l)
			a.list(s.Else, l)
		}
	}
}

// counter is the level of a loop's variable, its bounds apart.
func (a *leveller) counter(l *Loop) level {
	switch {
	case l.Tag == Serial, l.Tag == Unroll:
		return perGrid
	case l.Tag.IsBlock() && a.clusters:
		return perCluster
	case l.Tag.IsBlock(), l.Tag.IsCluster():
		return perBlock
	case (l.Tag == ThreadY || l.Tag == ThreadZ) && a.whole:
		return perWarp
	}
	return perThread
}

// control is the level of what decides whether a thread runs the body once
// more. All blocks and threads run the bodies of their loops.
func (a *leveller) control(l *Loop) level {
	if l.Tag == Serial || l.Tag == Unroll {
		return max(a.expr(l.Lo), a.expr(l.Hi), a.expr(l.Step))
	}
	return perLaunch
}
