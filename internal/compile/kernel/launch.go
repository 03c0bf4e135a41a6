package kernel

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// Geometry is the size of a GPU launch: blocks of the grid and threads of a
// block along x, y and z.
type Geometry struct {
	Blocks, Threads [3]int64
}

// LaunchGeometry returns the trip counts of a kernel's block and thread loops
// for the given arguments. Loops that are not there count as one.
func LaunchGeometry(k *Kernel, args map[*Var]op.Value) (Geometry, error) {
	g := Geometry{[3]int64{1, 1, 1}, [3]int64{1, 1, 1}}
	env := map[*Var]op.Value{}
	for v, x := range args {
		env[v] = x
	}
	list := k.Body
	for {
		var inner []Stmt
		for _, s := range list {
			switch s := s.(type) {
			case *Let:
				if uniform(s.Value, env) {
					env[s.Var] = Eval(s.Value, env)
				}
			case *Loop:
				if !s.Tag.IsBlock() && !s.Tag.IsThread() {
					return g, nil
				}
				if !uniform(s.Lo, env) || !uniform(s.Hi, env) || !uniform(s.Step, env) {
					return g, fmt.Errorf("kernel %s: the range of %s depends on more than the arguments", k.Name, s.Var.Name)
				}
				lo, hi, step := Eval(s.Lo, env).I, Eval(s.Hi, env).I, Eval(s.Step, env).I
				trips := max(0, (hi-lo+step-1)/step)
				if s.Tag.IsBlock() {
					g.Blocks[s.Tag-BlockX] *= trips
				} else {
					g.Threads[s.Tag-ThreadX] *= trips
				}
				inner = s.Body
			default:
				return g, nil
			}
		}
		if inner == nil {
			return g, nil
		}
		list = inner
	}
}

// uniform reports whether e can be evaluated from env alone.
func uniform(e Expr, env map[*Var]op.Value) bool {
	ok := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Load:
			ok = false
		case *Ref:
			if _, known := env[e.Var]; !known {
				ok = false
			}
		}
	})
	return ok
}

// Eval evaluates an expression that loads nothing.
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
	case *Select:
		if Eval(e.Cond, env).True() {
			return Eval(e.X, env)
		}
		return Eval(e.Y, env)
	case *Cast:
		return op.Convert(e.To, Eval(e.X, env))
	case *Call:
		args := make([]op.Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = Eval(a, env)
		}
		return op.Call(e.Func, args...)
	}
	panic(fmt.Sprintf("kernel: %T cannot be evaluated here", e))
}
