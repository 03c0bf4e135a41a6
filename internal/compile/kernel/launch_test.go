package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// launch returns the geometry of a kernel with that body, or the error, as
// text. N is 100, n is 7.
func launch(t *testing.T, body string) string {
	t.Helper()
	k := parse(t, signature+body+")")
	g, err := kernel.LaunchGeometry(k, map[*kernel.Var]op.Value{
		k.Scalars[0]: op.Int(types.I64, 100),
		k.Scalars[1]: op.Float(types.F64, 2.5),
		k.Scalars[2]: op.Int(types.I32, 7),
	})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v %v", g.Blocks, g.Threads)
}

func TestLaunchGeometry(t *testing.T) {
	tests := []struct{ body, want string }{
		// What runs on one thread.
		{"", "[1 1 1] [1 1 1]"},
		{"(for i i64 parallel (i64 0) N (i64 1))", "[1 1 1] [1 1 1]"},

		// Every tag, in any order.
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1)))", "[100 1 1] [32 1 1]"},
		{"(for c i64 block.z (i64 0) (i64 2) (i64 1) (for b i64 block.y (i64 0) (i64 3) (i64 1) " +
			"(for a i64 block.x (i64 0) (i64 5) (i64 1) (for t i64 thread.z (i64 0) (i64 7) (i64 1) " +
			"(for s i64 thread.y (i64 0) (i64 11) (i64 1) (for r i64 thread.x (i64 0) (i64 13) (i64 1)))))))",
			"[5 3 2] [13 11 7]"},

		// Ranges that start elsewhere, steps, empty ranges.
		{"(for b i64 block.x (i64 3) N (i64 1))", "[97 1 1] [1 1 1]"},
		{"(for b i64 block.x (i64 0) N (i64 32))", "[4 1 1] [1 1 1]"},
		{"(for b i64 block.x (i64 1) (i64 97) (i64 32))", "[3 1 1] [1 1 1]"},
		{"(for b i64 block.x N (i64 0) (i64 1))", "[0 1 1] [1 1 1]"},
		{"(for b i64 block.x N N (i64 1) (for t i64 thread.x (i64 0) (i64 32) (i64 1)))", "[0 1 1] [32 1 1]"},
		{"(for b i32 block.x (i32 0) n (i32 2))", "[4 1 1] [1 1 1]"},

		// Bounds through names, which may themselves be named between loops.
		{"(let hi i64 (sub N (i64 1))) (let blocks i64 (div (add hi (i64 31)) (i64 32))) " +
			"(for b i64 block.x (i64 0) blocks (i64 1) (let w i64 (mul (cast i64 n) (i64 2))) " +
			"(for t i64 thread.x (i64 0) w (i64 1)))", "[4 1 1] [14 1 1]"},
		{"(let big bool (gt N (i64 50))) (for b i64 block.x (i64 0) (select big (i64 9) (i64 1)) (i64 1))",
			"[9 1 1] [1 1 1]"},
		{"(let x f64 (load u (i64 0))) (let y f64 (mul x a)) (for b i64 block.x (i64 0) N (i64 1))",
			"[100 1 1] [1 1 1]"},

		// Other statements do not hide the loops after and around them.
		{"(comment \"blocks\") (var s f64 a) (for b i64 block.x (i64 0) N (i64 1) (alloc tile f64 shared (i64 64)) " +
			"(comment \"threads\") (for r i64 serial (i64 0) N (i64 1) " +
			"(for t i64 thread.x (i64 0) (i64 64) (i64 1) (store tile t a)) (barrier block)))", "[100 1 1] [64 1 1]"},
		{"(for b i64 block.x (i64 0) N (i64 1) (if (lt b (i64 3)) " +
			"(then (for t i64 thread.x (i64 0) (i64 8) (i64 1))) (else (for s i64 thread.x (i64 0) (i64 8) (i64 1)))))",
			"[100 1 1] [8 1 1]"},
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) (i64 64) (i64 1)) " +
			"(for s i64 thread.x (i64 2) (i64 66) (i64 1)))", "[100 1 1] [64 1 1]"},

		// What cannot be launched.
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) (i64 64) (i64 1)) " +
			"(for s i64 thread.x (i64 0) (i64 32) (i64 1)))",
			"kernel k: the thread.x loop over t makes 64 iterations, that over s 32"},
		{"(for b i64 block.x (i64 0) N (i64 1) (for t i64 thread.x (i64 0) b (i64 1)))",
			"kernel k: the range of t depends on more than the arguments"},
		{"(for b i64 block.x (i64 0) (cast i64 (load c (i64 0))) (i64 1))",
			"kernel k: the range of b depends on more than the arguments"},
		{"(var s i64 N) (for b i64 block.x (i64 0) s (i64 1))",
			"kernel k: the range of b depends on more than the arguments"},
		{"(for b i64 block.x (i64 0) N (sub N N))", "kernel k: the step of b is 0"},
	}
	for _, test := range tests {
		if got := launch(t, test.body); got != test.want {
			t.Errorf("%s\n%s\nwant %s", test.body, got, test.want)
		}
	}
}

// Arguments that are missing are as good as unknown, and those given are left
// alone.
func TestLaunchGeometryArguments(t *testing.T) {
	k := parse(t, signature+"(let hi i64 (add N (i64 1))) (for b i64 block.x (i64 0) hi (i64 1)))")
	if _, err := kernel.LaunchGeometry(k, nil); err == nil ||
		err.Error() != "kernel k: the range of b depends on more than the arguments" {
		t.Error(err)
	}
	args := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 4)}
	g, err := kernel.LaunchGeometry(k, args)
	if err != nil || g.Blocks != [3]int64{5, 1, 1} || len(args) != 1 {
		t.Error(g, err, args)
	}
}

// The trip count is the number of iterations that the loop makes.
func TestLaunchTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Int64Range(-50, 50).Draw(t, "lo")
		hi := rapid.Int64Range(-50, 50).Draw(t, "hi")
		step := rapid.Int64Range(1, 20).Draw(t, "step")
		want := int64(0)
		for i := lo; i < hi; i += step {
			want++
		}
		k, err := kernel.ParseText(fmt.Sprintf(
			"(kernel k (for b i64 block.y (i64 %d) (i64 %d) (i64 %d)))", lo, hi, step))
		if err != nil {
			t.Fatal(err)
		}
		g, err := kernel.LaunchGeometry(k, nil)
		if err != nil || g.Blocks[1] != want {
			t.Fatalf("%v %v, want %d", g, err, want)
		}
	})
}

// Images and bulk copies make a kernel delicate, and nothing else does.
func TestDelicate(t *testing.T) {
	for text, want := range map[string]bool{
		`(kernel k (buffer p f32 global in (i64 8)) (buffer q f32 global out (i64 8)) (store q (i64 0) (load p (i64 0))))`:          false,
		`(kernel k (buffer p f32 image in (i64 8) (texel 1)) (buffer q f32 global out (i64 8)) (store q (i64 0) (load p (i64 0))))`: true,
	} {
		if g, err := kernel.LaunchGeometry(parse(t, text), nil); err != nil || g.Delicate != want {
			t.Errorf("%s: %v %v", text, g.Delicate, err)
		}
	}
	for _, e := range kerneltest.Temporals {
		k := parse(t, e.Text())
		copies := strings.Contains(e.Text(), "(bulk ")
		g, _ := kernel.LaunchGeometry(k, nil) // its arguments decide on sizes only
		if g.Delicate != copies {
			t.Errorf("%s: delicate %v, copies in bulk %v", k.Name, g.Delicate, copies)
		}
	}
}
