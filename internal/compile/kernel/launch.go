package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Geometry is the size of a GPU launch: blocks of the grid and threads of a
// block along x, y and z, and what else the launch has to ask for.
type Geometry struct {
	Blocks, Threads [3]int64
	Cluster         [3]int64 // blocks of a cluster; zeros if there are no clusters
	Shared          int64    // bytes of a block's shared memory, as DynamicShared says
	Cooperative     bool     // blocks wait for each other: all must run at once
	Delicate        bool     // as Delicate says
}

// LaunchGeometry returns the trip counts of a kernel's block, cluster and
// thread loops for the given arguments. Loops that are not there count as one;
// loops over the same threads must agree.
func LaunchGeometry(k *Kernel, args map[*Var]op.Value) (Geometry, error) {
	m := &measurer{kernel: k, env: maps.Clone(args)}
	if m.env == nil {
		m.env = map[*Var]op.Value{}
	}
	err := m.list(k.Body)
	g := Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{1, 1, 1}, Shared: DynamicShared(k)}
	for i, l := range m.loops {
		switch tag := ThreadX + Tag(i); {
		case l == nil:
		case tag.IsCluster():
			if g.Cluster == [3]int64{} {
				g.Cluster = [3]int64{1, 1, 1}
			}
			g.Cluster[tag-ClusterX] = m.trips[i]
		case tag.IsBlock():
			g.Blocks[tag-BlockX] = m.trips[i]
		default:
			g.Threads[tag-ThreadX] = m.trips[i]
		}
	}
	for i, n := range g.Cluster { // the loops over blocks count clusters
		g.Blocks[i] *= max(1, n)
	}
	WalkStmts(k.Body, func(s Stmt) {
		switch s := s.(type) {
		case *Barrier:
			g.Cooperative = g.Cooperative || s.Scope == GridScope
		case *FlagWait:
			g.Cooperative = true
		}
	}, nil)
	g.Delicate = Delicate(k)
	return g, err
}

// Delicate reports whether a kernel reads images or copies in bulk. NVIDIA's
// compiler has been seen to make wrong code of such kernels where it spills
// registers.
func Delicate(k *Kernel) bool {
	delicate := slices.ContainsFunc(k.Buffers, func(b *Buffer) bool { return b.Space == Image })
	WalkStmts(k.Body, func(s Stmt) {
		switch s.(type) {
		case *BulkCopy, *TensorCopy:
			delicate = true
		}
	}, nil)
	return delicate
}

// measurer collects the trip counts of the loops that a launch runs.
type measurer struct {
	kernel *Kernel
	env    map[*Var]op.Value // what is known before the launch
	loops  [ClusterZ - ThreadX + 1]*Loop
	trips  [ClusterZ - ThreadX + 1]int64
}

func (m *measurer) list(list []Stmt) error {
	for _, s := range list {
		var err error
		switch s := s.(type) {
		case *Let:
			if uniform(s.Value, m.env) {
				m.env[s.Var] = Eval(s.Value, m.env)
			}
		case *If:
			if err = m.list(s.Then); err == nil {
				err = m.list(s.Else)
			}
		case *Loop:
			if s.Tag.IsBlock() || s.Tag.IsThread() || s.Tag.IsCluster() {
				err = m.loop(s)
			}
			if err == nil {
				err = m.list(s.Body)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *measurer) loop(l *Loop) error {
	name, v := m.kernel.Name, l.Var.Name
	if !uniform(l.Lo, m.env) || !uniform(l.Hi, m.env) || !uniform(l.Step, m.env) {
		return fmt.Errorf("kernel %s: the range of %s depends on more than the arguments", name, v)
	}
	lo, hi, step := Eval(l.Lo, m.env).I, Eval(l.Hi, m.env).I, Eval(l.Step, m.env).I
	if step < 1 {
		return fmt.Errorf("kernel %s: the step of %s is %d", name, v, step)
	}
	trips := int64(0)
	if hi > lo {
		trips = (hi-lo-1)/step + 1
	}
	i := l.Tag - ThreadX
	if first := m.loops[i]; first != nil && m.trips[i] != trips {
		return fmt.Errorf("kernel %s: the %s loop over %s makes %d iterations, that over %s %d",
			name, l.Tag, first.Var.Name, m.trips[i], v, trips)
	}
	m.loops[i], m.trips[i] = l, trips
	return nil
}

// uniform reports whether e can be evaluated from env alone.
func uniform(e Expr, env map[*Var]op.Value) bool {
	ok := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Load, *Phase:
			ok = false
		case *Ref:
			if _, known := env[e.Var]; !known {
				ok = false
			}
		}
	})
	return ok
}

// Eval evaluates an expression that loads nothing, where every buffer begins at a multiple of what phases ask for.
func Eval(e Expr, env map[*Var]op.Value) op.Value {
	switch e := e.(type) {
	case *Lit:
		return e.Value
	case *Ref:
		return env[e.Var]
	case *Unary:
		return op.Unary(e.Op, Eval(e.X, env))
	case *Binary:
		return op.Binary(e.Op, Eval(e.X, env), Eval(e.Y, env))
	case *Fma:
		return op.Fma(Eval(e.X, env), Eval(e.Y, env), Eval(e.Z, env))
	case *Select:
		if Eval(e.Cond, env).True() {
			return Eval(e.X, env)
		}
		return Eval(e.Y, env)
	case *Cast:
		return op.Convert(e.To, Eval(e.X, env))
	case *FuncCall:
		args := make([]op.Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = Eval(a, env)
		}
		return op.Call(e.Func, args...)
	case *Phase:
		return op.Int(types.I64, 0)
	case *Random:
		return op.Random(e.T, Eval(e.Seed, env).I, Eval(e.Number, env).I)
	}
	panic(fmt.Sprintf("kernel: %T cannot be evaluated here", e))
}

// Sizes returns the values of a launch's arguments that a program's parameters tell, and as many steps and rounds as
// are given for those.
func (l *Launch) Sizes(params []int64, step, rounds int64) map[*Var]op.Value {
	values := map[*Var]op.Value{}
	for i, v := range l.Kernel.Scalars {
		switch a := l.Args[len(l.Kernel.Buffers)+i].(type) {
		case SizeArg:
			values[v] = op.Int(v.Type, params[a.Param])
		case StepArg:
			values[v] = op.Int(v.Type, step)
		case RoundsArg:
			values[v] = op.Int(v.Type, rounds)
		}
	}
	return values
}
