package sim

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// launchInfo is what decides how many blocks and threads a kernel has.
type launchInfo struct {
	blocks  [3][]*kernel.Loop
	threads [3][]*kernel.Loop
	lets    map[*kernel.Var]kernel.Expr
}

func launchOf(k *kernel.Kernel) launchInfo {
	info := launchInfo{lets: map[*kernel.Var]kernel.Expr{}}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Let:
			info.lets[s.Var] = s.Value
		case *kernel.Loop:
			if s.Tag.IsBlock() {
				info.blocks[s.Tag-kernel.BlockX] = append(info.blocks[s.Tag-kernel.BlockX], s)
			}
			if s.Tag.IsThread() {
				info.threads[s.Tag-kernel.ThreadX] = append(info.threads[s.Tag-kernel.ThreadX], s)
			}
		}
	}, nil)
	return info
}

// launcher evaluates what is known before a launch: expressions over scalars,
// literals and names for such.
type launcher struct {
	scalars map[*kernel.Var]op.Value
	lets    map[*kernel.Var]kernel.Expr
}

func (p *Program) launcher(args Args) *launcher {
	l := &launcher{map[*kernel.Var]op.Value{}, p.launch.lets}
	for i, v := range p.kernel.Scalars {
		l.scalars[v] = args.Scalars[i]
	}
	return l
}

func (l *launcher) eval(e kernel.Expr) op.Value {
	switch e := e.(type) {
	case *kernel.Lit:
		return e.Value
	case *kernel.Ref:
		if v, ok := l.scalars[e.Var]; ok {
			return v
		}
		v := l.eval(l.lets[e.Var])
		l.scalars[e.Var] = v
		return v
	case *kernel.Unary:
		return op.Unary(e.Op, l.eval(e.X))
	case *kernel.Binary:
		return op.Binary(e.Op, l.eval(e.X), l.eval(e.Y))
	case *kernel.Select:
		if l.eval(e.Cond).True() {
			return l.eval(e.X)
		}
		return l.eval(e.Y)
	case *kernel.Cast:
		return op.Convert(e.To, l.eval(e.X))
	case *kernel.Call:
		var args []op.Value
		for _, a := range e.Args {
			args = append(args, l.eval(a))
		}
		return op.Call(e.Func, args...)
	case *kernel.Random:
		return op.Random(e.T, l.eval(e.Seed).I, l.eval(e.Number).I)
	}
	panic(fmt.Sprintf("sim: %T before the launch", e))
}

// trips returns the number of iterations of a loop.
func (l *launcher) trips(loop *kernel.Loop) (int64, error) {
	lo, hi, step := l.eval(loop.Lo).I, l.eval(loop.Hi).I, l.eval(loop.Step).I
	if step < 1 {
		return 0, fmt.Errorf("the %s loop over %s has the step %d", loop.Tag, loop.Var.Name, step)
	}
	return trips(lo, hi, step), nil
}

func trips(lo, hi, step int64) int64 {
	if hi <= lo {
		return 0
	}
	return int64((uint64(hi)-uint64(lo)-1)/uint64(step)) + 1
}

// most returns the largest trip count of each dimension's loops: how many
// blocks or threads there are. None of a dimension means one, and a block has
// a thread even if no loop gives it work.
func (l *launcher) most(dims [3][]*kernel.Loop, least int64) ([3]int64, error) {
	out := [3]int64{1, 1, 1}
	for d, loops := range dims {
		for i, loop := range loops {
			n, err := l.trips(loop)
			if err != nil {
				return out, err
			}
			if i == 0 {
				out[d] = least
			}
			out[d] = max(out[d], n)
		}
	}
	return out, nil
}

const (
	maxThreads = 1 << 16
	maxBlocks  = 1 << 31
)

// machine prepares a run: it sizes the launch, checks the arguments and makes
// the memory that all blocks share.
func (p *Program) machine(args Args, opts Options) (*machine, error) {
	k := p.kernel
	if err := args.check(k); err != nil {
		return nil, err
	}
	m := &machine{p: p, opts: opts, left: opts.Steps, seen: map[faultKey]int{}, epoch: 1}
	if m.left == 0 {
		m.left = 1<<63 - 1
	}
	l := p.launcher(args)
	var err error
	if m.blocks, err = l.most(p.launch.blocks, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	if m.threads, err = l.most(p.launch.threads, 1); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	if n, ok := product(m.threads, maxThreads); !ok {
		return nil, fmt.Errorf("%s: a block of %d threads or more", k.Name, n)
	}
	if n, ok := product(m.blocks, maxBlocks); !ok {
		return nil, fmt.Errorf("%s: a launch of %d blocks or more", k.Name, n)
	}
	m.counts.Buffers = make([]Traffic, len(p.slots))
	m.sizes = make([]int, len(p.slots))
	for i, s := range p.slots {
		n := l.eval(s.buffer.Cells).I
		if n < 0 || n > 1<<40 {
			return nil, fmt.Errorf("%s: the buffer %s has %d cells", k.Name, s.buffer.Name, n)
		}
		m.sizes[i] = int(n)
		if i >= len(args.Buffers) {
			continue
		}
		mem := args.Buffers[i]
		if mem.n != m.sizes[i] {
			return nil, fmt.Errorf("%s: the buffer %s takes %d cells, not %d", k.Name, s.buffer.Name, n, mem.n)
		}
		mem.shadow = nil
		if s.buffer.Mode != kernel.In {
			mem.shadow = make([]shadow, mem.n)
		}
		m.mem = append(m.mem, mem)
	}
	for i, v := range k.Scalars {
		m.lits = append(m.lits, literal{p.scalars[i], op.Convert(v.Type, args.Scalars[i])})
	}
	m.lits = append(m.lits, p.lits...)
	return m, nil
}

// product multiplies three sizes; not ok says that it is the limit or more.
func product(size [3]int64, limit int64) (int64, bool) {
	n := int64(1)
	for _, s := range size {
		if s > limit || n*s > limit {
			return limit, false
		}
		n *= s
	}
	return n, true
}
