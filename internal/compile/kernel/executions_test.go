package kernel_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Stores are counted, and loops over m by their iterations. N is 100, n is not given.
func TestExecutions(t *testing.T) {
	const store = "(store w (i64 0) a)"
	loop := func(v, tag, lo, hi, step, body string) string {
		return fmt.Sprintf("(for %s i64 %s %s %s %s %s)", v, tag, lo, hi, step, body)
	}
	for _, c := range []struct{ body, want string }{
		{"", "0"},
		{store + " " + store, "2"},
		{loop("b", "block.x", "(i64 0)", "N", "(i64 32)",
			loop("t", "thread.x", "(i64 0)", "(i64 8)", "(i64 1)", store)), "32"},
		{loop("i", "serial", "N", "(i64 3)", "(i64 1)", store), "0"},
		// Loops in which it depends on the variable.
		{loop("i", "serial", "(i64 2)", "N", "(i64 7)", loop("j", "serial", "i", "(i64 10)", "(i64 1)", store)), "9"},
		{loop("i", "serial", "(i64 0)", "N", "(i64 1)",
			"(let x i64 (rem i (i64 3))) (if (eq x (i64 1)) (then "+store+") (else "+store+" "+store+"))"), "167"},
		// Variables that change.
		{"(var x i64 (i64 1)) " + loop("i", "serial", "(i64 0)", "(i64 4)", "(i64 1)",
			loop("j", "serial", "(i64 0)", "x", "(i64 1)", store)+" (set x (mul x (i64 3)))"), "40"},
		{"(var x i64 (i64 1)) " + loop("i", "serial", "(i64 0)", "(i64 4)", "(i64 1)",
			"(if (lt i (i64 2)) (then (set x (i64 5))))") + loop("j", "serial", "(i64 0)", "x", "(i64 1)", store), "5"},
		// A loop that is marked itself.
		{loop("m", "serial", "(i64 0)", "N", "(i64 3)", ""), "34"},
		{loop("m", "serial", "(i64 0)", "N", "(i64 3)", store), "68"},
		// What does not matter may be anything.
		{"(let x f64 (load u (i64 0))) (let y i64 (cast i64 n)) " + store, "1"},
		// What cannot be known.
		{"(let x f64 (load u (i64 0))) (if (lt x a) (then " + store + "))",
			"kernel k: how often statements run depends on u in memory"},
		{loop("i", "serial", "(i64 0)", "(cast i64 n)", "(i64 1)", store), "kernel k: the argument n is not given"},
	} {
		k := parse(t, signature+c.body+")")
		marked := map[kernel.Stmt]bool{}
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Store:
				marked[s] = true
			case *kernel.Loop:
				marked[s] = s.Var.Name == "m"
			}
		}, nil)
		n, err := kernel.Executions(k, map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 100)}, marked)
		got := fmt.Sprint(n)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\n%s, not %s", c.body, got, c.want)
		}
	}
}

// A condition that is marked counts whenever it is come to, whether its branches matter or not.
func TestMarkedConditionExecutions(t *testing.T) {
	for _, c := range []struct{ inner, want string }{
		{"(let x i64 i)", "100"},
		{"(if (lt i (i64 3)) (then (let x i64 i)))", "150"},
		{"(for j i64 serial (i64 0) (i64 2) (i64 1) (if (lt j (i64 1)) (then (let x i64 i))))", "200"},
	} {
		k := parse(t, signature+"(for i i64 serial (i64 0) N (i64 1) (if (lt i (i64 50)) (then "+c.inner+"))))")
		marked := map[kernel.Stmt]bool{}
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			if s, ok := s.(*kernel.If); ok {
				marked[s] = true
			}
		}, nil)
		args := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 100)}
		for _, sample := range []kernel.Sample{{}, {Iterations: 10}} {
			each, err := kernel.SampledExecutions(k, args, marked, sample)
			total := int64(0)
			for _, n := range each {
				total += n
			}
			if sample.Iterations == 0 && fmt.Sprint(total) != c.want || total < 100 || err != nil {
				t.Errorf("%s: %d with %+v, not %s; %v", c.inner, total, sample, c.want, err)
			}
		}
	}
}

// A sample stands for all blocks, threads and iterations; what a thread carries from one iteration to the next is
// followed through all of them.
func TestSampledExecutions(t *testing.T) {
	const store = "(store w (i64 0) a)"
	for _, c := range []struct {
		body   string
		lo, hi int64
	}{
		{"(for b i64 block.x (i64 0) (i64 1000) (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1) " +
			"(for i i64 serial (i64 0) (add b t) (i64 1) " + store + ")))", 15_600_000, 17_000_000}, // of 16,480,000
		{"(for b i64 block.x (i64 0) (i64 1000) (i64 1) (if (lt b (i64 500)) (then " + store + ")))", 480, 520},
		{"(for i i64 serial (i64 0) (i64 1000) (i64 1) (if (lt i (i64 250)) (then " + store + ")))", 230, 270},
		{"(var x i64 (i64 0)) (for i i64 serial (i64 0) (i64 1000) (i64 1) (set x (add x (i64 1)))" +
			"(if (lt x (i64 250)) (then " + store + ")))", 249, 249},
	} {
		k := parse(t, signature+c.body+")")
		var marked kernel.Stmt
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			if _, ok := s.(*kernel.Store); ok {
				marked = s
			}
		}, nil)
		each, err := kernel.SampledExecutions(k, nil, map[kernel.Stmt]bool{marked: true},
			kernel.Sample{Blocks: 25, ThreadsX: 2, Threads: 4, Iterations: 25})
		if n := each[marked]; err != nil || n < c.lo || n > c.hi {
			t.Errorf("%s: %d, %v", c.body, n, err)
		}
	}
}

// A count that would take too long is refused, and a sample of it is not.
func TestLongExecutions(t *testing.T) {
	const body = "(for b i64 block.x (i64 0) (i64 100000) (i64 1) (for i i64 serial (i64 0) (i64 100000) (i64 1) " +
		"(if (lt (add b i) (i64 100000)) (then (store w (i64 0) a)))))"
	k := parse(t, signature+body+")")
	marked := map[kernel.Stmt]bool{}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if _, ok := s.(*kernel.Store); ok {
			marked[s] = true
		}
	}, nil)
	if _, err := kernel.Executions(k, nil, marked); !errors.Is(err, kernel.ErrLong) {
		t.Errorf("%v, and not ErrLong", err)
	}
	each, err := kernel.SampledExecutions(k, nil, marked, kernel.Sample{Blocks: 50, Iterations: 50})
	for _, n := range each {
		if err != nil || n < 4_500_000_000 || n > 5_500_000_000 {
			t.Errorf("%d, %v", n, err)
		}
	}
}
