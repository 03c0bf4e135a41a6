package kernel_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Blocks at an edge, threads beside a domain and triangles are counted exactly, however many blocks there are. Both
// sides count of conditions that memory decides, and trips are told. N is 1000000.
func TestPiecewiseExecutions(t *testing.T) {
	const store = "(store w (i64 0) a)"
	loop := func(v, tag, lo, hi, step, body string) string {
		return fmt.Sprintf("(for %s i64 %s %s %s %s %s)", v, tag, lo, hi, step, body)
	}
	threads := func(body string) string {
		return loop("b", "block.x", "(i64 0)", "N", "(i64 96)", loop("t", "thread.x", "(i64 0)", "(i64 96)", "(i64 1)",
			body))
	}
	for _, c := range []struct {
		body        string
		times       int64
		least, most int64
	}{
		{store, 1, 0, 0},
		{threads(store), 10417 * 96, 0, 0},
		{threads("(if (lt (add b t) N) (then " + store + "))"), 1000000, 0, 0},
		{threads("(if (lt (rem t (i64 32)) (i64 2)) (then " + store + "))"), 10417 * 6, 0, 0},
		{threads(loop("m", "serial", "t", "(i64 100)", "(i64 96)", store)), 10417 * 100, 1, 2},
		{loop("i", "serial", "(i64 0)", "N", "(i64 1)", loop("m", "serial", "(i64 0)", "i", "(i64 1)", store)),
			499999500000, 0, 999999},
		{"(let x f64 (load u (i64 0))) (if (lt x a) (then " + store + ") (else " + store + " " + store + "))", 3, 0, 0},
	} {
		k := parse(t, signature+c.body+")")
		marked := map[kernel.Stmt]bool{}
		var m *kernel.Loop
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Store:
				marked[s] = true
			case *kernel.Loop:
				if s.Var.Name == "m" {
					m = s
				}
			}
		}, nil)
		size := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 1000000)}
		n, err := kernel.PiecewiseExecutions(k, size, marked)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		times := int64(0)
		for _, each := range n.Times {
			times += each
		}
		if trips := n.Trips[m]; times != c.times || trips != [2]int64{c.least, c.most} {
			t.Errorf("%s: %d times, trips %d, not %d and %d to %d", c.body, times, trips, c.times, c.least, c.most)
		}
	}
}
