package features

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A kernel's accesses touch as many lines as are listed for them, by hand.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		what, index string
		threads     [2]string // x and y
		want        float64
	}{
		{"neighbours", "(add (mul b (i64 64)) t)", [2]string{"32", "2"}, 2},
		{"all the same", "b", [2]string{"32", "1"}, 1},
		{"four apart, of the paper", "(mul t (i64 4))", [2]string{"32", "1"}, 8},
		{"each its own", "(mul t (i64 16))", [2]string{"32", "1"}, 32},
		{"backwards", "(sub (i64 1000) t)", [2]string{"32", "1"}, 3}, // the first begins a line
		{"two rows", "(add (mul s (i64 1008)) t)", [2]string{"16", "4"}, 2},
		{"fewer threads than a warp", "(mul t (i64 16))", [2]string{"8", "1"}, 8},
		{"at a boundary", "(select (lt t (i64 1)) (i64 999) t)", [2]string{"32", "1"}, 2},
	} {
		text := `(kernel k (buffer w f64 global out (i64 100000)) (scalar n i64)
			(for b i64 block.x (i64 0) (i64 9) (i64 1)
			(for s i64 thread.y (i64 0) (i64 ` + c.threads[1] + `) (i64 1)
			(for t i64 thread.x (i64 0) (i64 ` + c.threads[0] + `) (i64 1)
				(let at i64 ` + c.index + `) (store w at (f64 0))))))`
		k, err := kernel.ParseText(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := OfKernel(k, map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 7)})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range OfLowered {
			if f.Name == "cache_lines" && got[i] != c.want {
				t.Errorf("%s: %v lines, not %v", c.what, got[i], c.want)
			}
		}
	}
}

// The lines of whole kernels are those of the addresses that every thread of the warp computes on its own. Only where
// there are selects, a boundary may send threads at either end of a row elsewhere: two lines more.
func TestLinesOfExamples(t *testing.T) {
	t.Parallel()
	exact, n := 0, 0
	for i, c := range small {
		b := example(t, c.name, c.values)
		d := newDrawer(t, b, uint64(100+i))
		for range 2 {
			m, plan := d.draw(t)
			for _, x := range launchesOf(m) {
				f, err := Lowered(x, b)
				if err != nil {
					t.Fatal(err)
				}
				got, want := f[slices.IndexFunc(OfLowered, func(f Feature) bool { return f.Name == "cache_lines" })],
					bruteLines(t, x, b)
				n++
				switch {
				case got == want:
					exact++
				case !selects(x.Kernel) || math.Abs(got-want) > 2:
					t.Errorf("%s %v: %s: %v lines, not %v", c.name, plan, x.Kernel.Name, got, want)
				}
			}
		}
	}
	t.Logf("%d of %d launches exactly", exact, n)
	if exact < n*3/4 {
		t.Error("too few launches were compared")
	}
}

// selects reports whether a kernel has selects of integers.
func selects(k *kernel.Kernel) bool {
	found := false
	kernel.WalkStmts(k.Body, nil, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if s, ok := e.(*kernel.Select); ok && !s.Type().IsFloat() {
				found = true
			}
		})
	})
	return found
}

// bruteLines computes the mean lines of an access from the addresses of each thread.
func bruteLines(t *testing.T, x *kernel.Launch, b *ir.Binding) float64 {
	t.Helper()
	args := arguments(x, b)
	g, err := kernel.LaunchGeometry(x.Kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := countOf(x.Kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	var walks []*threadWalk
	for l := range min(warp, g.Threads[0]*g.Threads[1]*g.Threads[2]) {
		w := &threadWalk{env: maps.Clone(args), counted: c, thread: [3]int64{
			l % g.Threads[0], l / g.Threads[0] % g.Threads[1], l / g.Threads[0] / g.Threads[1],
		}}
		w.list(c.body)
		walks = append(walks, w)
	}
	accesses, lines := 0.0, 0.0
	for i, first := range walks[0].places {
		seen := map[int64]bool{}
		for _, w := range walks {
			seen[int64(math.Floor(float64(w.places[i].byte-first.byte)/lineBytes))] = true
		}
		accesses += float64(first.times)
		lines += float64(first.times) * float64(len(seen))
	}
	return lines / max(1, accesses)
}

// threadWalk walks through a kernel as one thread, and notes where it accesses memory.
type threadWalk struct {
	env     map[*kernel.Var]op.Value
	counted *counted
	thread  [3]int64
	times   int64
	places  []place
}

type place struct{ byte, times int64 }

func (w *threadWalk) list(list []kernel.Stmt) {
	before := w.times
	defer func() { w.times = before }()
	w.times = w.counted.of.Times[list[0]]
	for _, s := range list {
		kernel.WalkStmts(without(s), nil, func(e kernel.Expr) {
			kernel.Walk(e, func(e kernel.Expr) {
				if l, ok := e.(*kernel.Load); ok {
					w.access(l.Buffer, l.Index)
				}
			})
		})
		switch s := s.(type) {
		case *kernel.Let:
			w.set(s.Var, s.Value)
		case *kernel.Declare:
			w.set(s.Var, s.Init)
		case *kernel.Assign:
			w.set(s.Var, s.Value)
		case *kernel.Store:
			w.access(s.Buffer, s.Index)
		case *kernel.LoadVector:
			w.access(s.Buffer, s.Index)
		case *kernel.StoreVector:
			w.access(s.Buffer, s.Index)
		case *kernel.AsyncCopy:
			w.access(s.From, s.Index)
		case *kernel.If:
			w.list(s.Then)
			if s.Else != nil {
				w.list(s.Else)
			}
		case *kernel.Loop:
			lo, hi, step := kernel.Eval(s.Lo, w.env).I, kernel.Eval(s.Hi, w.env).I, kernel.Eval(s.Step, w.env).I
			switch {
			case s.Tag.IsThread():
				lo += w.thread[s.Tag-kernel.ThreadX] * step
			case s.Tag.IsBlock():
				lo += (hi - lo + step - 1) / step / 2 * step
			}
			w.env[s.Var] = op.Int(s.Var.Type, lo)
			w.list(s.Body)
		}
	}
}

// without returns a statement without the lists inside.
func without(s kernel.Stmt) []kernel.Stmt {
	switch s := s.(type) {
	case *kernel.If:
		return []kernel.Stmt{&kernel.If{Cond: s.Cond}}
	case *kernel.Loop:
		l := *s
		l.Body = nil
		return []kernel.Stmt{&l}
	}
	return []kernel.Stmt{s}
}

func (w *threadWalk) set(v *kernel.Var, value kernel.Expr) {
	known := !v.Type.IsFloat()
	kernel.Walk(value, func(e kernel.Expr) {
		switch e := e.(type) {
		case *kernel.Load:
			known = false
		case *kernel.Ref:
			known = known && w.env[e.Var].T != types.Invalid
		}
	})
	if known {
		w.env[v] = kernel.Eval(value, w.env)
	}
}

func (w *threadWalk) access(b *kernel.Buffer, index kernel.Expr) {
	if b.Space == kernel.Global || b.Space == kernel.Constant || b.Space == kernel.Image {
		if w.times > 0 {
			w.places = append(w.places, place{kernel.Eval(index, w.env).I * int64(b.Elem.Size()), w.times})
		}
	}
}
