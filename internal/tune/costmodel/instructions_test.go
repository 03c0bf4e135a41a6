package costmodel

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// An iteration of a loop counts what changes in it, once.
func TestInstructions(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"(let x f64 (fma a (f64 2) b))", "0 0 0 0 0 0"}, // as it was before
		{"(let x f64 (load u i))", "2 0 0 8 0 0"},
		{"(let x f64 (load u (add i (i64 1)))) (let y f64 (load u (add i (i64 2))))", "3 0 0 16 0 0"},
		{"(let x f64 (load u i)) (let y f64 (fma x (f64 2) x)) (let z f64 (fma x (f64 2) x))", "3 1 0 8 0 0"},
		{"(let x f32 (load s i)) (let y f32 (mul x x))", "3 0 4 0 0 0"},
		{"(let x f64 (load u i)) (shuffle y f64 up x (i32 1))", "4 0 8 8 0 0"},
		{"(let x f64 (load u i)) (store w i (div x x))", "25 22 0 8 8 0"},
		{"(loads (x y) u i) (stores w i (x y))", "3 0 0 16 16 0"},
		{"(set v (add v (f64 1))) (let x f64 (mul v v)) (set v (add v (f64 1))) (let y f64 (mul v v))", "4 4 0 0 0 0"},
		{"(let j i32 (rem (cast i32 i) (i32 3))) (barrier block) (barrier warp)", "7 0 0 0 0 1"},
		{"(async s i u i 2)", "2 0 8 16 0 0"},
		{"(if (lt i (i64 5)) (then (store w i a)))", "3 0 0 0 8 0"},
	} {
		k, err := kernel.ParseText("(kernel k (buffer u f64 global in (i64 99)) (buffer w f64 global out (i64 99)) " +
			"(scalar a f64) (scalar b f64) (alloc s f32 shared (i64 99)) (var v f64 (f64 0)) " +
			"(for i i64 serial (i64 0) (i64 90) (i64 1) " + c.body + "))")
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		loop := k.Body[len(k.Body)-1].(*kernel.Loop)
		b := &body{varies: variesIn(loop), versions: map[*kernel.Var]int{}, seen: map[string]bool{}}
		b.stmts(loop.Body, nil)
		got := fmt.Sprint(b.issue, b.double, b.shared, b.loaded, b.stored, b.barriers)
		if got != c.want {
			t.Errorf("%s\n%s, not %s", c.body, got, c.want)
		}
	}
}
