package kernel_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// everything is a text with every node, clause and literal.
const everything = `(kernel everything
  (doc "v = 2*u")
  (doc "a \"second\" line")
  (buffer u f64 global in (mul N M))
  (buffer t f32 constant in (i64 5))
  (buffer p f32 image in (i64 8) (texel 4))
  (buffer v f64 global out (mul N M))
  (buffer w u8 global inout N)
  (scalar N i64)
  (scalar M i64)
  (scalar a f32)
  (comment "one row after the other")
  (for j i64 parallel edge (i64 0) N (i64 1) (threads 4) (collapse 2)
    (for k i64 parallel (i64 0) M (i64 1)
      (let row i64 (add (mul j M) (phase u 64)))
      (var sum f64 (f64 0))
      (for interior i32 vector interior (i32 0) (i32 8) (i32 2) (reduce add sum) (reduce max sum)
        (set sum (add sum (cast f64 (load t (i64 3))))))
      (if (lt j (sub N (i64 1)))
        (then
          (store v (add row k) (select (not (eq a (f32 0.1))) (load u row) (f64 1e-300))))
        (else
          (store w j (u8 255))
          (alloc p f64 private (i64 8))))
      (if (bool true)
        (else
          (store v row (call pow (neg sum) (random f64 j k)))))
      (if (land (bool false) (ge (f64 -0) (f64 +Inf)))))))
`

// launched is a text with every node and clause that only GPUs have.
const launched = `(kernel launched
  (buffer u f64 global in N)
  (buffer v f64 global inout N)
  (scalar N i64)
  (for b i64 block.x (i64 0) N (i64 1)
    (for r i32 cluster.x (i32 0) (i32 2) (i32 1)
      (alloc s f64 shared (i64 64))
      (alloc full i64 mbarrier (i64 2))
      (for t i64 thread.x (i64 0) (i64 64) (i64 1)
        (loads (x y) u (mul t (i64 2)) (via readonly))
        (loads (p q) s (mul t (i64 2)))
        (stores v (mul t (i64 2)) ((add x p) y) (via streaming))
        (stores s (mul t (i64 2)) (x y))
        (shuffle left f64 up x (i32 1))
        (shuffle right f64 down left (i32 1))
        (shuffle other f64 xor right (i32 16))
        (shuffle first f64 from other (i32 0))
        (store v t (load u t (via readonly)) (via resident))
        (store s t (load s t (rank r)) (rank (sub (i32 1) r)))
        (prefetch u (mul t (i64 2)))
        (async s t u t 2)
        (async.commit)
        (async.wait 1)
        (async.fence)
        (mbarrier.init full (i64 0) (i32 1))
        (bulk s (i64 0) u b (i64 64) full (i64 0))
        (mbarrier.arrive full (i64 0))
        (mbarrier.arrive full (i64 0) (bytes (i32 512)))
        (mbarrier.arrive full (i64 1) (rank r))
        (mbarrier.wait full (i64 0) r)
        (barrier block (number 1) (threads 64))
        (barrier cluster)))))
`

// flagged is a text with every statement about flags.
const flagged = `(kernel flagged
  (buffer done i32 global inout N)
  (scalar N i64)
  (for b i64 block.x (i64 0) N (i64 1)
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (flag.set done b (i32 1))
      (barrier grid)
      (flag.wait done t (i32 1)))))
`

func TestFlagTextReadsBack(t *testing.T) {
	k, err := kernel.ParseText(flagged)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Verify(k); err != nil {
		t.Error(err)
	}
	if got := kernel.Text(k); got != flagged {
		t.Errorf("read back as\n%s", got)
	}
}

func TestLaunchedTextReadsBack(t *testing.T) {
	k, err := kernel.ParseText(launched)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Verify(k); err != nil {
		t.Error(err)
	}
	if got := kernel.Text(k); got != launched {
		t.Errorf("reads back as\n%s", got)
	}
	for _, p := range kernel.Passes {
		if err := kernel.Verify(p.Run(k, nil)); err != nil {
			t.Errorf("after %s: %v", p.Name, err)
		}
	}
}

func TestLines(t *testing.T) {
	k, err := kernel.ParseText(launched)
	if err != nil {
		t.Fatal(err)
	}
	lines, at := strings.Split(launched, "\n"), kernel.Lines(k)
	n := 0
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		n++
		first, _, _ := strings.Cut(kernel.StmtText(s), "\n")
		if got := strings.TrimSpace(lines[at[s]-1]); !strings.HasPrefix(got, first) {
			t.Errorf("line %d is %s, and not the first of %s", at[s], got, first)
		}
	}, nil)
	if n != len(at) || n != 28 {
		t.Errorf("%d lines of %d statements", len(at), n)
	}
}

func TestTextReadsBack(t *testing.T) {
	k, err := kernel.ParseText(everything)
	if err != nil {
		t.Fatal(err)
	}
	if got := kernel.Text(k); got != everything {
		t.Errorf("reads back as\n%s", got)
	}
	l := k.Body[1].(*kernel.Loop)
	if l.Path != kernel.Edge || l.Threads != 4 || l.Collapse != 2 || l.Tag != kernel.Parallel {
		t.Errorf("loop %+v", l)
	}
	in := l.Body[0].(*kernel.Loop).Body[2].(*kernel.Loop)
	if in.Var.Name != "interior" || in.Path != kernel.Interior || len(in.Reduce) != 2 || in.Reduce[1].Op != op.Max {
		t.Errorf("loop %+v", in)
	}
	zero := l.Body[0].(*kernel.Loop).Body[5].(*kernel.If).Cond.(*kernel.Binary).Y.(*kernel.Binary).X.(*kernel.Lit)
	if !math.Signbit(zero.Value.F) {
		t.Error("-0 reads back as 0")
	}
}

// A variable may have any name, also that of a path.
func TestVariableCalledInterior(t *testing.T) {
	const text = `(kernel k
  (scalar interior i64)
  (for i i64 serial interior interior interior)
  (for j i64 serial edge interior interior interior)
  (for k i64 serial edge interior interior interior (threads 2)
    (comment "")))
`
	k, err := kernel.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := kernel.Text(k); got != text {
		t.Errorf("reads back as\n%s", got)
	}
}

func TestNameThatIsNoAtom(t *testing.T) {
	for _, name := range []string{"", "two words"} {
		text := kernel.Text(&kernel.Kernel{Name: name})
		k, err := kernel.ParseText(text)
		if err != nil || k.Name != name {
			t.Errorf("%q reads back as %v, %v", text, k, err)
		}
	}
}

func TestFragments(t *testing.T) {
	s := &kernel.If{Cond: kernel.L(op.BoolOf(true)), Then: []kernel.Stmt{&kernel.Barrier{Scope: kernel.WarpScope}}}
	if got, want := kernel.StmtText(s), "(if (bool true)\n  (then\n    (barrier warp)))"; got != want {
		t.Errorf("got\n%s", got)
	}
	e := kernel.Add(kernel.V(kernel.NewVar("i", types.I64)), kernel.I(-1))
	if got, want := kernel.ExprText(e), "(sub i (i64 1))"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	in := func(body string) string {
		return "(kernel k (buffer u f64 global in (i64 4)) (scalar N i64)\n" + body + ")"
	}
	tests := []struct{ text, want string }{
		{"(kernel", "1:1: the list does not end"},
		{"(shader a)", "1:1: not a kernel: (shader a)"},
		{"(kernel (a))", "1:9: not a name: (a)"},
		{"(kernel k (doc a))", "1:16: not a string: a"},
		{"(kernel k (buffer u f16 global in (i64 4)))", `1:21: no type is called "f16"`},
		{"(kernel k (buffer u f64 local in (i64 4)))", "1:25: not a memory space: local"},
		{"(kernel k (buffer u f64 global rw (i64 4)))", "1:32: not a mode: rw"},
		{"(kernel k (buffer u f64 global in M))", "1:35: no variable is called M here"},
		{"(kernel k (scalar N i64) (buffer u f64 global in N))", "1:26: not a statement: (buffer u f64 global in N)"},
		{in("(let a i64 a)"), "2:12: no variable is called a here"},
		{in("(let a i64 N N)"), "2:1: let takes 3 parts: (let a i64 N N)"},
		{in("(for i i64 serial N N N (let a i64 N)) (let b i64 a)"), "2:51: no variable is called a here"},
		{in("(for i i64 serial i N N)"), "2:19: no variable is called i here"},
		{in("(for i i64 serial inner N N N (comment \"\"))"), "2:19: not a path: inner"},
		{in("(for i i64 thread N N N)"), "2:12: not a loop's tag: thread"},
		{in("(for i i64 serial N N)"), "2:1: for takes at least 6 parts: (for i i64 serial N N)"},
		{in("(for i i64 parallel N N N (threads many))"), "2:36: not a number: many"},
		{in("(for i i64 vector N N N (reduce plus N))"), "2:33: not an operator: plus"},
		{in("(if (bool true) (comment \"\"))"), "2:17: neither then nor else: (comment \"\")"},
		{in("(if (bool yes))"), "2:11: not a literal of type bool: yes"},
		{in("(let a i32 (i32 2147483648))"), "2:17: not a literal of type i32: 2147483648"},
		{in("(let a u8 (u8 -1))"), "2:15: not a literal of type u8: -1"},
		{in("(let a f32 (f32 1e39))"), "2:17: not a literal of type f32: 1e39"},
		{in("(let a f64 (load v N))"), "2:18: no buffer is called v here"},
		{in("(let a f64 (load N N))"), "2:18: no buffer is called N here"},
		{in("(set a N)"), "2:6: no variable is called a here"},
		{in("(let a i64 (plus N N))"), "2:12: not an expression: (plus N N)"},
		{in("(let a i64 (add N))"), "2:12: add takes 2 parts: (add N)"},
		{in("(let a i64 (neg N N))"), "2:12: neg takes 1 parts: (neg N N)"},
		{in("(let a f64 (call root (f64 1)))"), "2:18: no function is called root"},
		{in("(let a f64 (load u N (via slow)))"), "2:27: not a way to memory: slow"},
		{in("(let a f64 (load u N (rank N) (via readonly)))"), "2:31: not expected here: (via readonly)"},
		{in("(loads a u N)"), "2:8: not a list of names: a"},
		{in("(loads (a b) u N (rank N))"), "2:18: not expected here: (rank N)"},
		{in("(loads (a b) u N) (stores u N (a c))"), "2:34: no variable is called c here"},
		{in("(stores u N a)"), "2:13: not a list of values: a"},
		{in("(shuffle a f64 left N N)"), "2:16: not a shuffle: left"},
		{in("(async u N u N two)"), "2:16: not a number: two"},
		{in("(async.commit 1)"), "2:1: async.commit takes 0 parts: (async.commit 1)"},
		{in("(mbarrier.arrive u N (rank N) (bytes N))"), "2:31: not expected here: (bytes N)"},
		{in("(barrier block (number 1))"), "2:16: not expected here: (number 1)"},
		{in("(barrier thread)"), "2:10: not a scope: thread"},
		{in("(comment a)"), "2:10: not a string: a"},
		{in("(call sqrt N)"), "2:1: not a statement: (call sqrt N)"},
	}
	for _, test := range tests {
		if _, err := kernel.ParseText(test.text); err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestRandomKernelsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		text := kernel.Text(k)
		back, err := kernel.ParseText(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := kernel.Verify(k); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := kernel.Verify(back); err != nil {
			t.Fatalf("after reading: %v\n%s", err, text)
		}
		if got := kernel.Text(back); got != text {
			t.Fatalf("%s\nreads back as\n%s", text, got)
		}
		if !strings.Contains(text, "NaN") && !reflect.DeepEqual(k, back) {
			t.Fatalf("reads back as another kernel:\n%s", text)
		}
	})
}

func FuzzParseText(f *testing.F) {
	f.Add(everything)
	f.Add(launched)
	f.Add("(kernel k (scalar N i64) (let a i64 (select (bool true) N (i64 0))))")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := kernel.ParseText(text)
		if err != nil || kernel.Verify(k) != nil {
			return
		}
		back, err := kernel.ParseText(kernel.Text(k))
		if err != nil || kernel.Text(back) != kernel.Text(k) {
			t.Errorf("%s\nreads back as %v, %v", kernel.Text(k), back, err)
		}
	})
}
