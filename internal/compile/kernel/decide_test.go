package kernel_test

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

func decides(t *testing.T, n kernel.Interval, before, after string) {
	t.Helper()
	k := parse(t, sized+before+")")
	want := kernel.Text(parse(t, sized+after+")"))
	got := kernel.Decide(k, sizes(k, map[string]kernel.Interval{"N": n, "M": kernel.Exactly(8)}))
	if err := kernel.Verify(got); err != nil {
		t.Errorf("after: %v", err)
	}
	if kernel.Text(got) != want {
		t.Errorf("%s\n gives\n%s\n where is wanted\n%s", before, kernel.Text(got), want)
	}
}

func TestDecide(t *testing.T) {
	some := kernel.Interval{Lo: 2, Hi: 1000}
	bounds := `(let lo i64 (min (i64 1) N)) (let hi i64 (max (min (sub N (i64 1)) N) lo)) (for i i64 serial lo hi (i64 1) (store w i a))`
	decides(t, some, bounds,
		`(let lo i64 (i64 1)) (let hi i64 (sub N (i64 1))) (for i i64 serial lo hi (i64 1) (store w i a))`)
	decides(t, kernel.Interval{Lo: math.MinInt64, Hi: 9}, bounds, bounds) // N - 1 may be the greatest of all
	// A grid that the blocks divide needs no test for its end.
	grid := func(body string) string {
		return `(for b i64 block.x (i64 0) (div (add N (i64 31)) (i64 32)) (i64 1)
		  (for t i64 thread.x (i64 0) (i64 32) (i64 1)
		    (let i i64 (add (mul b (i64 32)) t))
		    ` + body + `))`
	}
	guarded := grid(`(if (lt i N) (then (store w i a)))`)
	decides(t, kernel.Exactly(64), guarded, `(for b i64 block.x (i64 0) (i64 2) (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1) (let i i64 (add (mul b (i64 32)) t)) (store w i a)))`)
	decides(t, some, guarded, guarded)
	// Indices around the end of a periodic axis take no division.
	decides(t, kernel.Exactly(64),
		`(for i i64 serial (i64 0) N (i64 1) (let ip1 i64 (select (gt (add i (i64 1)) (sub N (i64 1))) (rem (add (rem (add i (i64 1)) N) N) N) (add i (i64 1)))) (store w ip1 a))`,
		`(for i i64 serial (i64 0) N (i64 1) (let ip1 i64 (select (gt (add i (i64 1)) (sub N (i64 1))) (i64 0) (add i (i64 1)))) (store w ip1 a))`)
	decides(t, some, `(for i i64 serial (i64 0) M (i64 1) (let x i64 (rem i (add N (i64 8)))) (let q i64 (div i (i64 9))) (store w x (load u q)))`,
		`(for i i64 serial (i64 0) M (i64 1) (let x i64 i) (let q i64 (i64 0)) (store w x (load u q)))`)
	// A cell's colour stays one to be seen.
	color := `(for i i64 serial interior (i64 0) M (i64 1) (if (eq (rem i (i64 9)) (i64 2)) (then (store w i a))))`
	decides(t, some, color, color)
	// What holds under a condition.
	decides(t, some, `(for i i64 serial (i64 0) N (i64 1) (if (lt i M) (then (store w (min i (i64 7)) a)) (else (store w (max (i64 7) i) a))))`,
		`(for i i64 serial (i64 0) N (i64 1) (if (lt i M) (then (store w i a)) (else (store w i a))))`)
	// A warp that lacks a lane hands out anything for it.
	partial := `(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) (i64 6) (i64 1) (shuffle s i64 down t (i32 1)) (store w (max (i64 0) (min s (i64 7))) a)))`
	decides(t, some, partial, partial)
	// Comparisons of data stay.
	decides(t, some, `(if (lt (load u N) a) (then (store w N a)))`, `(if (lt (load u N) a) (then (store w N a)))`)
}
