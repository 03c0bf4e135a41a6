package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
)

// window has blocks do the work of a few blocks, whose part of the kernel's grids has about so many bytes. Every
// block does what some block of the kernel does, so all accesses are within their buffers, and all instructions stay:
// only the number of a block is another one, once a block. On processors it does that to the iterations of the
// outermost loops, for each thread of the team by itself, since threads that write the same lines would wait for each
// other.
func window(k *Kernel, s Surroundings, bytes int64) (*Kernel, error) {
	all := Footprint(k, s.Arguments)
	if all <= bytes {
		return nil, absent("its grids have %d bytes, which a cache keeps", all)
	}
	w := &windower{env: map[*Var]op.Value{}, part: float64(bytes) / float64(all), team: 1}
	for v, x := range s.Arguments {
		w.env[v] = x
	}
	if !OfBlocks(k) {
		w.team = max(1, s.Team)
	}
	body := w.list(k.Body)
	if !w.done {
		return nil, absent("no loop of it has iterations that could be others")
	}
	return rebuilt(k, body), nil
}

// windower rewrites the loops that it comes to first.
type windower struct {
	env  map[*Var]op.Value
	part float64 // of the iterations, that are to be left
	team int64
	done bool
}

func (w *windower) list(list []Stmt) []Stmt {
	out := make([]Stmt, 0, len(list))
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			if uniform(s.Value, w.env) {
				w.env[s.Var] = Eval(s.Value, w.env)
			}
		case *Loop:
			// Each loop nest of the kernel goes through the same grids: it has a part of its own.
			part, team := w.part, w.team
			l, lets := w.nest(s)
			w.part, w.team = part, team
			if len(lets) > 0 {
				w.done = true
				out = append(out, inject(l, lets, len(lets)))
				continue
			}
			inner := *s
			inner.Body = w.list(s.Body)
			out = append(out, &inner)
			continue
		case *If:
			out = append(out, &If{s.Cond, w.list(s.Then), w.list(s.Else)})
			continue
		}
		out = append(out, s)
	}
	return out
}

// nest rewrites a loop and those in it that are nested perfectly, and returns what names their variables inside of all.
func (w *windower) nest(l *Loop) (*Loop, []Stmt) {
	if !w.independent(l) || !uniform(l.Lo, w.env) || !uniform(l.Hi, w.env) || !uniform(l.Step, w.env) {
		return l, nil
	}
	lo, hi, step := Eval(l.Lo, w.env).I, Eval(l.Hi, w.env).I, Eval(l.Step, w.env).I
	trips := max(0, (hi-lo+step-1)/step)
	chunk := max(1, (trips+w.team-1)/w.team)
	kept := int64(w.part * float64(trips) / float64(w.team))
	fewest := int64(1)
	if l.Tag.IsBlock() {
		fewest = 2 // of one, a compiler knows all
	}
	next := *l
	next.Var = NewVar("every_"+l.Var.Name, l.Var.Type)
	kept = min(max(kept, fewest), chunk)
	lets := []Stmt{&Let{l.Var, w.moved(&next, chunk, kept)}}
	w.part = min(1, w.part*float64(chunk)/float64(kept))
	w.team = 1
	if inner := onlyLoop(l.Body); inner != nil && w.part < 1 && !reads(inner.Lo, l.Var) && !reads(inner.Hi, l.Var) {
		if below, more := w.nest(inner); len(more) > 0 {
			next.Body = []Stmt{below}
			lets = append(lets, more...)
		}
	}
	return &next, lets
}

// moved is the iteration that takes the place of another one: of each chunk the first few, one after the other; where
// all are one chunk, those in its middle.
func (w *windower) moved(l *Loop, chunk, kept int64) Expr {
	t := l.Var.Type
	lit := func(v int64) Expr { return L(op.Int(t, v)) }
	x := Bin(op.Div, Sub(V(l.Var), l.Lo), l.Step)
	if w.team > 1 {
		in := Bin(op.Rem, x, lit(chunk))
		x = Add(Sub(x, in), remainder(in, kept, lit))
	} else {
		x = Add(remainder(x, kept, lit), lit((chunk-kept)/2))
	}
	return Add(l.Lo, Mul(x, l.Step))
}

func remainder(x Expr, by int64, lit func(int64) Expr) Expr {
	if by == 1 {
		return lit(0)
	}
	return Bin(op.Rem, x, lit(by))
}

// independent reports whether any iteration of a loop may do the work of another: those of blocks and of threads may,
// and those one after the other unless they count something along.
func (w *windower) independent(l *Loop) bool {
	switch {
	case l.Tag.IsBlock() || l.Tag == Parallel:
		return true
	case l.Tag != Serial:
		return false
	}
	inside, free := map[*Var]bool{}, true
	WalkStmts(l.Body, func(s Stmt) {
		switch s := s.(type) {
		case *Declare:
			inside[s.Var] = true
		case *Assign:
			free = free && (inside[s.Var] || s.Var.Type.IsFloat())
		}
	}, nil)
	return free
}

// onlyLoop returns the loop that is all there is in a list, or nil.
func onlyLoop(list []Stmt) *Loop {
	if len(list) != 1 {
		return nil
	}
	l, _ := list[0].(*Loop)
	return l
}

// inject puts statements before the body of the last of so many loops that are nested perfectly. Loops that are started
// together, or collapsed, stay so: the statements go below them.
func inject(l *Loop, lets []Stmt, depth int) *Loop {
	next := *l
	inner := onlyLoop(l.Body)
	together := inner != nil && (inner.Tag.IsBlock() || inner.Tag.IsCluster() || l.Tag == Parallel && l.Collapse > 1)
	if depth > 1 || together {
		next.Body = []Stmt{inject(inner, lets, depth-1)}
	} else {
		next.Body = append(lets, l.Body...)
	}
	return &next
}

// muchMore is how many times the work of a block in the middle another has that no other stands for. The fewest blocks
// at an edge have so much more, but one that has a tile more of four has.
const muchMore = 1.2

// uneven reports whether some blocks of a kernel have much more work than one in the middle: some of those that go from
// tile to tile have a tile more. The kernel takes as long as they do.
func uneven(k *Kernel, args map[*Var]op.Value) bool {
	middle, known := workOfBlock(k, args, 1, 2)
	if !known || middle == 0 {
		return known && middle == 0
	}
	for _, at := range []int64{0, 1, 2, 3, 4, 5, 6, 7} {
		if n, known := workOfBlock(k, args, at, 8); known && float64(n) > muchMore*float64(middle) {
			return true
		}
	}
	return false
}

// workOfBlock counts what some threads of a block carry out: that which is so many parts of all blocks on, along each
// axis.
func workOfBlock(k *Kernel, args map[*Var]op.Value, part, of int64) (int64, bool) {
	one := *k
	one.Body = mapList(k.Body, func(s Stmt) []Stmt {
		l, ok := s.(*Loop)
		if !ok || !l.Tag.IsBlock() {
			return []Stmt{s}
		}
		lit := func(v int64) Expr { return L(op.Int(l.Var.Type, v)) }
		trips := Bin(op.Div, Add(Sub(l.Hi, l.Lo), Sub(l.Step, lit(1))), l.Step)
		at := NewVar(l.Var.Name+"_at", l.Var.Type)
		only := *l
		only.Lo = V(at)
		only.Hi = Add(V(at), lit(1))
		return []Stmt{&Let{at, Add(l.Lo, Mul(Bin(op.Div, Mul(trips, lit(part)), lit(of)), l.Step))}, &only}
	})
	marked := map[Stmt]bool{}
	WalkStmts(one.Body, func(s Stmt) {
		switch s.(type) {
		case *Loop, *If, *Comment, *Alloc:
		default:
			marked[s] = true
		}
	}, nil)
	each, err := SampledExecutions(&one, args, marked, Sample{ThreadsX: 4, Threads: 4, Iterations: 16})
	n := int64(0)
	for _, times := range each {
		n += times
	}
	return n, err == nil
}
