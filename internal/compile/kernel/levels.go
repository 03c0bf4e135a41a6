package kernel

// level says over which threads a value is the same.
type level uint8

const (
	perLaunch level = iota // one value for the whole launch, known before it starts
	perBlock               // one value for all threads of a block
	perThread              // each thread, or each iteration that runs at once, has its own
)

// levels finds the level of every variable of a kernel. What a variable that
// changes is given under a condition is no more uniform than the condition.
func levels(k *Kernel) map[*Var]level {
	a := &leveller{of: map[*Var]level{}}
	for changed := true; changed; {
		a.changed = false
		a.list(k.Body, perLaunch)
		changed = a.changed
	}
	return a.of
}

type leveller struct {
	of      map[*Var]level
	changed bool
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
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			l = max(l, a.of[e.Var])
		case *Load:
			l = max(l, perBlock)
			if e.Buffer.Space == Private {
				l = perThread
			}
		}
	})
	return l
}

func (a *leveller) list(list []Stmt, under level) {
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			a.raise(s.Var, a.expr(s.Value))
		case *Declare:
			a.raise(s.Var, max(perBlock, a.expr(s.Init)))
		case *Assign:
			a.raise(s.Var, max(under, a.expr(s.Value)))
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
	case l.Tag.IsBlock(), l.Tag == Serial, l.Tag == Unroll:
		return perBlock
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
