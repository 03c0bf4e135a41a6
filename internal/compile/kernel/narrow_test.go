package kernel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// sizes returns the ranges of arguments by their names.
func sizes(k *kernel.Kernel, of map[string]kernel.Interval) kernel.Ranges {
	r := kernel.Ranges{}
	for _, v := range k.Scalars {
		if i, ok := of[v.Name]; ok {
			r[v] = i
		}
	}
	return r
}

const sized = `(kernel k
  (buffer u f64 global in (mul M N))
  (buffer w f64 global out (mul M N))
  (buffer y i64 global out (mul M N))
  (buffer c i32 global in N)
  (scalar N i64)
  (scalar M i64)
  (scalar n i32)
  (scalar a f64)
  `

func narrows(t *testing.T, n, m kernel.Interval, before, after string) {
	t.Helper()
	k := parse(t, sized+before+")")
	if err := kernel.Verify(k); err != nil {
		t.Errorf("before: %v", err)
		return
	}
	text, want := kernel.Text(k), kernel.Text(parse(t, sized+after+")"))
	got := kernel.Narrow(k, sizes(k, map[string]kernel.Interval{"N": n, "M": m}))
	if err := kernel.Verify(got); err != nil {
		t.Errorf("after: %v", err)
	}
	if kernel.Text(got) != want {
		t.Errorf("%s\n gives\n%s\n where is wanted\n%s", before, kernel.Text(got), want)
	}
	if kernel.Text(k) != text {
		t.Errorf("the argument is changed:\n%s", kernel.Text(k))
	}
}

func TestNarrow(t *testing.T) {
	const most = math.MaxInt32
	small := kernel.Interval{Lo: 1, Hi: 1000}
	one := kernel.Exactly(1)

	// Everything fits: no I64 is left but the arguments.
	narrows(t, small, small,
		`(for j i64 block.y (i64 0) M (i64 1)
		   (for b i64 block.x (i64 0) (div (add N (i64 63)) (i64 64)) (i64 1)
		     (for t i64 thread.x (i64 0) (i64 64) (i64 1)
		       (let i i64 (add (mul b (i64 64)) t))
		       (if (lt i N) (then
		         (let at i64 (add (mul j N) i))
		         (store w at (mul (cast f64 i) (load u (sub at (i64 1))))))))))`,
		`(let N_int i32 (cast i32 N))
		 (for j i32 block.y (i32 0) (cast i32 M) (i32 1)
		   (for b i32 block.x (i32 0) (cast i32 (div (add N (i64 63)) (i64 64))) (i32 1)
		     (for t i32 thread.x (i32 0) (i32 64) (i32 1)
		       (let i i32 (add (mul b (i32 64)) t))
		       (if (lt i N_int) (then
		         (let at i32 (add (mul j N_int) i))
		         (store w at (mul (cast f64 i) (load u (sub at (i32 1))))))))))`)
	// What could overflow stays exactly there.
	narrows(t, kernel.Interval{Lo: 1, Hi: 1 << 20}, small,
		`(for j i64 serial (i64 0) M (i64 1) (let row i64 (mul j N)) (for i i64 vector (i64 0) N (i64 1) (store w (add row i) a)))`,
		`(let N_int i32 (cast i32 N))
		 (let M_int i32 (cast i32 M))
		 (for j i32 serial (i32 0) M_int (i32 1) (let row i32 (mul j N_int)) (for i i32 vector (i32 0) N_int (i32 1) (store w (add row i) a)))`)
	narrows(t, kernel.Interval{Lo: 1, Hi: 1 << 22}, small,
		`(for j i64 serial (i64 0) M (i64 1) (let row i64 (mul j N)) (for i i64 vector (i64 0) N (i64 1) (store w (add row (add i (i64 1))) a)))`,
		`(let N_int i32 (cast i32 N))
		 (let M_int i32 (cast i32 M))
		 (for j i32 serial (i32 0) M_int (i32 1) (let row i64 (mul (cast i64 j) N)) (for i i32 vector (i32 0) N_int (i32 1) (store w (add row (cast i64 (add i (i32 1)))) a)))`)
	// The counter's last step must not overflow either.
	count := `(for i i64 serial (i64 0) N (i64 2) (store w i a))`
	narrows(t, kernel.Exactly(most-1), one, count,
		`(let N_int i32 (cast i32 N)) (for i i32 serial (i32 0) N_int (i32 2) (store w i a))`)
	narrows(t, kernel.Exactly(most), one, count, count)
	narrows(t, kernel.Interval{Lo: math.MinInt64, Hi: math.MaxInt64}, one, count, count)
	// A condition says what an index is under it.
	narrows(t, kernel.Interval{Lo: 1, Hi: 1 << 40}, one,
		`(for i i64 serial (i64 0) N (i64 1) (if (land (lt (add i (i64 3)) M) (lt i M)) (then (let x i64 (mul i (i64 5))) (store w x a)) (else (store w i a))))`,
		`(for i i64 serial (i64 0) N (i64 1) (if (land (lt (add i (i64 3)) M) (lt i M)) (then (let x i32 (mul (cast i32 i) (i32 5))) (store w x a)) (else (store w i a))))`)
	// A product that overflows may be divided into something small.
	narrows(t, kernel.Interval{Lo: 1, Hi: 1 << 31}, one, `(let x i64 (div (mul N (i64 4)) (i64 8))) (store w x a)`,
		`(let x i32 (cast i32 (div (mul N (i64 4)) (i64 8)))) (store w x a)`)
	// Indices that are read from memory are anything; their remainders are not.
	narrows(t, small, small, `(let x i64 (cast i64 (load c N))) (let r i64 (rem (add (mul x x) N) (i64 7))) (store w (add x N) (add a (cast f64 r)))`,
		`(let x i32 (load c N)) (let r i32 (cast i32 (rem (add (mul (cast i64 x) (cast i64 x)) N) (i64 7)))) (store w (add (cast i64 x) N) (add a (cast f64 r)))`)
	// A variable is as large as all that it is given.
	narrows(t, small, small, `(var x i64 N) (if (lt N M) (then (set x (add M (i64 4))))) (store w x a)`,
		`(let N_int i32 (cast i32 N)) (let M_int i32 (cast i32 M)) (var x i32 N_int) (if (lt N M) (then (set x (add M_int (i32 4))))) (store w x a)`)
	narrows(t, small, small, `(var x i64 N) (for i i64 serial (i64 0) N (i64 1) (set x (mul x (i64 2)))) (store w x a)`,
		`(let N_int i32 (cast i32 N)) (var x i64 N) (for i i32 serial (i32 0) N_int (i32 1) (set x (mul x (i64 2)))) (store w x a)`)
	// One that a loop carries along ends a step after its last use.
	carried := `(var x i64 (i64 0)) (for i i64 serial (i64 0) M (i64 1) (store w x a) (set x (add x N)))`
	narrows(t, kernel.Exactly(most/10), kernel.Exactly(10), carried,
		`(let N_int i32 (cast i32 N)) (let M_int i32 (cast i32 M)) (var x i32 (i32 0)) (for i i32 serial (i32 0) M_int (i32 1) (store w x a) (set x (add x N_int)))`)
	narrows(t, kernel.Exactly(most/10+1), kernel.Exactly(10), carried,
		`(let M_int i32 (cast i32 M)) (var x i64 (i64 0)) (for i i32 serial (i32 0) M_int (i32 1) (store w x a) (set x (add x N)))`)
	// A chunk is as long as its parts say, wherever it starts.
	narrows(t, kernel.Exactly(1<<20), kernel.Exactly(1<<11),
		`(for b i64 block.x (i64 0) (div M (i64 32)) (i64 1)
		   (let lo i64 (mul b (i64 32)))
		   (let hi i64 (min (add lo (i64 32)) M))
		   (var x i64 (mul lo (sub N (i64 64))))
		   (for k i64 serial lo hi (i64 1) (store w x a) (set x (add x (sub N (i64 64))))))`,
		`(let N_int i32 (cast i32 N)) (let M_int i32 (cast i32 M))
		 (for b i32 block.x (i32 0) (cast i32 (div M (i64 32))) (i32 1)
		   (let lo i32 (mul b (i32 32)))
		   (let hi i32 (min (add lo (i32 32)) M_int))
		   (var x i32 (mul lo (sub N_int (i32 64))))
		   (for k i32 serial lo hi (i32 1) (store w x a) (set x (add x (sub N_int (i32 64))))))`)
	// Trip counts of unrolled loops stay in sight; reductions stay as they are.
	narrows(t, kernel.Interval{Lo: 0, Hi: 1 << 31}, one,
		`(for j i64 serial (i64 0) (i64 8) (i64 1) (for i i64 unroll (add N j) (add (add N j) (i64 4)) (i64 1) (store w i a)))`,
		`(for j i32 serial (i32 0) (i32 8) (i32 1) (for i i64 unroll (add N (cast i64 j)) (add (add N (cast i64 j)) (i64 4)) (i64 1) (store w i a)))`)
	narrows(t, small, one,
		`(var s i64 (i64 0)) (for i i64 vector (i64 0) N (i64 1) (reduce max s) (set s (max s i))) (store w s a)`,
		`(let N_int i32 (cast i32 N)) (var s i64 (i64 0)) (for i i32 vector (i32 0) N_int (i32 1) (reduce max s) (set s (max s (cast i64 i)))) (store w s a)`)
	// Values that are stored, seeds and numbers keep their type.
	narrows(t, small, one,
		`(for i i64 serial (i64 0) N (i64 1) (store y i (mul i (i64 2))) (store w i (random f64 i N)))`,
		`(let N_int i32 (cast i32 N)) (for i i32 serial (i32 0) N_int (i32 1) (store y i (cast i64 (mul i (i32 2)))) (store w i (random f64 (cast i64 i) N)))`)
	// Names that are taken.
	narrows(t, small, one, `(let N_int i64 (add N (i64 2))) (store w N_int a)`,
		`(let N_int i32 (cast i32 N)) (let N_int_2 i32 (add N_int (i32 2))) (store w N_int_2 a)`)
}

// Kernels compute what they did.
func TestRangedPassesComputeTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := kerneltest.Kernel(t)
		least := rapid.Int64Range(-3, kerneltest.Size).Draw(t, "least")
		most := rapid.Int64Range(kerneltest.Size, 1<<40).Draw(t, "most")
		r := sizes(k, map[string]kernel.Interval{"N": {Lo: least, Hi: most}})
		want := runRandom(t, k)
		for _, p := range ranged {
			next := p.pass(k, r)
			for i, got := range runRandom(t, next) {
				for c := range want[i].Len() {
					if !got.At(c).Same(want[i].At(c)) {
						t.Fatalf("%s: %s[%d] is %v, not %v\n%s\nafter\n%s",
							p.name, k.Buffers[i].Name, c, got.At(c), want[i].At(c), kernel.Text(k), kernel.Text(next))
					}
				}
			}
		}
	})
}

// runRandom simulates a kernel that kerneltest drew.
func runRandom(t *rapid.T, k *kernel.Kernel) []*sim.Memory {
	var mem []*sim.Memory
	for i, b := range k.Buffers {
		var list []op.Value
		for c := range int64(kerneltest.Cells) {
			list = append(list, op.Convert(b.Elem, op.Float(types.F64, 8*op.Random(types.F64, int64(i), c).F-3)))
		}
		mem = append(mem, sim.Values(b.Elem, list...))
	}
	simulate(t, k, mem, op.Int(types.I64, kerneltest.Size), op.Float(types.F64, 0.7), op.Int(types.I32, -5))
	return mem
}

func simulate(t *rapid.T, k *kernel.Kernel, mem []*sim.Memory, scalars ...op.Value) {
	r, err := sim.Run(k, sim.Args{Buffers: mem, Scalars: scalars}, sim.Options{})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, kernel.Text(k))
	}
}

// Whatever the sizes are, near the ends of either type or small, arithmetic on
// them comes to the same.
func TestRangedPassesNeverWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &indices{t: t, k: &kernel.Kernel{Name: "index"}}
		g.out = &kernel.Buffer{Name: "out", Elem: types.I64, Mode: kernel.Out, Cells: kernel.I(64)}
		g.k.Buffers = []*kernel.Buffer{g.out}
		ranges := kernel.Ranges{}
		var low, high []op.Value
		for i := range 3 {
			v := kernel.NewVar(fmt.Sprintf("n%d", i), types.I64)
			x := g.number()
			y := x
			if rapid.Bool().Draw(t, "wide") {
				y = g.number()
			}
			r := kernel.Interval{Lo: min(x, y), Hi: max(x, y)}
			ranges[v] = r
			g.k.Scalars, g.vars = append(g.k.Scalars, v), append(g.vars, v)
			low, high = append(low, op.Int(types.I64, r.Lo)), append(high, op.Int(types.I64, r.Hi))
		}
		g.k.Body = g.list(3)
		if err := kernel.Verify(g.k); err != nil {
			t.Fatalf("%v\n%s", err, kernel.Text(g.k))
		}
		var mixed []op.Value
		for i := range low {
			mixed = append(mixed, op.Int(types.I64, rapid.Int64Range(low[i].I, high[i].I).Draw(t, "size")))
		}
		for _, p := range ranged {
			next := p.pass(g.k, ranges)
			if err := kernel.Verify(next); err != nil {
				t.Fatalf("%s: %v\n%s\nof\n%s", p.name, err, kernel.Text(next), kernel.Text(g.k))
			}
			for _, args := range [][]op.Value{low, high, mixed} {
				want, got := blank(), blank()
				simulate(t, g.k, []*sim.Memory{want}, args...)
				simulate(t, next, []*sim.Memory{got}, args...)
				for c := range got.Len() {
					if !got.At(c).Same(want.At(c)) {
						t.Fatalf("%s of %v: cell %d is %v, not %v\n%s\nof\n%s",
							p.name, args, c, got.At(c), want.At(c), kernel.Text(next), kernel.Text(g.k))
					}
				}
			}
		}
	})
}

// ranged are the passes that are told what the arguments may be, and those that
// rearrange what indices are made of.
var ranged = []struct {
	name string
	pass func(*kernel.Kernel, kernel.Ranges) *kernel.Kernel
}{
	{"narrow", kernel.Narrow},
	{"decide", kernel.Decide},
	{"all", func(k *kernel.Kernel, r kernel.Ranges) *kernel.Kernel {
		return kernel.Apply(k, kernel.Asked{Indexing: true, Known: true, Arguments: r}, nil)
	}},
	{"strides and carry", func(k *kernel.Kernel, r kernel.Ranges) *kernel.Kernel {
		for _, p := range kernel.Passes {
			if p.Name == "strides" || p.Name == "carry" {
				k = p.Run(k, r)
			}
		}
		return k
	}},
}

func blank() *sim.Memory {
	var zeros []op.Value
	for range 64 {
		zeros = append(zeros, op.Int(types.I64, 0))
	}
	return sim.Values(types.I64, zeros...)
}

// indices draws arithmetic on sizes that may be large: nothing is indexed by it.
type indices struct {
	t     *rapid.T
	k     *kernel.Kernel
	out   *kernel.Buffer
	vars  []*kernel.Var // I64
	free  []*kernel.Var // of those, that may be assigned to
	named int
	cells int64
}

func (g *indices) upTo(n int) int { return rapid.IntRange(0, n).Draw(g.t, "n") }

// number draws a number that is small or near where a type ends.
func (g *indices) number() int64 {
	near := []int64{
		0, 1, 0, 46340, 65536, math.MaxInt32, math.MaxInt32, math.MinInt32, 1 << 32, math.MaxInt64, math.MinInt64,
	}
	at := near[g.upTo(len(near)-1)]
	return at + rapid.Int64Range(-6, 6).Draw(g.t, "off")
}

func (g *indices) fresh() *kernel.Var {
	g.named++
	return kernel.NewVar(fmt.Sprintf("x%d", g.named), types.I64)
}

func (g *indices) list(depth int) []kernel.Stmt {
	vars, free := len(g.vars), len(g.free)
	var out []kernel.Stmt
	for range 2 + g.upTo(3) {
		switch n := g.upTo(6); {
		case n < 2:
			v := g.fresh()
			out = append(out, &kernel.Let{Var: v, Value: g.expr(3)})
			g.vars = append(g.vars, v)
		case n == 2:
			v := g.fresh()
			out = append(out, &kernel.Declare{Var: v, Init: g.expr(2)})
			g.vars, g.free = append(g.vars, v), append(g.free, v)
		case n == 3 && len(g.free) > 0:
			v := g.free[g.upTo(len(g.free)-1)]
			out = append(out, &kernel.Assign{Var: v, Value: g.expr(2)})
		case n == 4 && depth > 0:
			out = append(out, &kernel.If{Cond: g.test(), Then: g.list(depth - 1), Else: g.list(depth - 1)})
		case n == 5 && depth > 0:
			out = append(out, g.loop(depth)...)
		case g.cells < 64:
			out = append(out, &kernel.Store{Buffer: g.out, Index: kernel.I(g.cells), Value: g.expr(3)})
			g.cells++
		}
	}
	g.vars, g.free = g.vars[:vars], g.free[:free]
	return out
}

// loop draws a loop that runs a few times from a number on, and a variable
// that it carries along.
func (g *indices) loop(depth int) []kernel.Stmt {
	lo, x := g.fresh(), g.fresh()
	l := &kernel.Loop{Var: g.fresh(), Lo: kernel.V(lo), Tag: kernel.Serial, Step: kernel.I(int64(1 + g.upTo(2)))}
	// The end is in the range of I64, or the loop would not be one.
	out := []kernel.Stmt{
		&kernel.Let{Var: lo, Value: kernel.Min(g.expr(1), kernel.I(math.MaxInt64-8))},
		&kernel.Declare{Var: x, Init: g.expr(1)},
	}
	g.vars = append(g.vars, lo)
	step := g.expr(1)
	l.Hi = kernel.Add(kernel.V(lo), kernel.I(int64(g.upTo(4))))
	if g.upTo(1) == 0 {
		l.Hi = kernel.Min(l.Hi, kernel.Max(kernel.V(lo), g.steady()))
	}
	g.vars = append(g.vars, x, l.Var)
	l.Body = append(g.list(depth-1), &kernel.Assign{Var: x, Value: &kernel.Binary{Op: op.Add, X: kernel.V(x), Y: step}})
	g.vars = g.vars[:len(g.vars)-1]
	return append(out, l)
}

// steady draws an argument.
func (g *indices) steady() kernel.Expr { return kernel.V(g.vars[g.upTo(2)]) }

func (g *indices) test() kernel.Expr {
	o := []op.Op{op.Lt, op.Le, op.Gt, op.Ge, op.Eq, op.Ne}[g.upTo(5)]
	var c kernel.Expr = &kernel.Binary{Op: o, X: g.expr(1), Y: g.expr(1)}
	switch g.upTo(4) {
	case 0:
		c = &kernel.Unary{Op: op.Not, X: c}
	case 1:
		c = &kernel.Binary{Op: []op.Op{op.LAnd, op.LOr}[g.upTo(1)], X: c, Y: g.test()}
	}
	return c
}

func (g *indices) expr(depth int) kernel.Expr {
	if depth == 0 || g.upTo(3) == 0 {
		if g.upTo(2) == 0 {
			return kernel.I(g.number())
		}
		return kernel.V(g.vars[g.upTo(len(g.vars)-1)])
	}
	x, y := g.expr(depth-1), g.expr(depth-1)
	switch g.upTo(12) {
	case 10, 11, 12: // as indices are
		last := kernel.V(g.vars[len(g.vars)-1])
		return &kernel.Binary{
			Op: op.Add,
			X:  &kernel.Binary{Op: op.Mul, X: &kernel.Binary{Op: op.Add, X: last, Y: x}, Y: g.steady()}, Y: y,
		}
	case 0:
		return &kernel.Unary{Op: op.Neg, X: x}
	case 1:
		return &kernel.Select{Cond: g.test(), X: x, Y: y}
	case 2:
		return &kernel.Cast{To: types.I64, X: &kernel.Cast{
			To: []types.Type{types.I32, types.U8, types.Bool, types.F64}[g.upTo(3)], X: x,
		}}
	}
	return &kernel.Binary{
		Op: []op.Op{op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Min, op.Max, op.And, op.Or}[g.upTo(8)], X: x, Y: y,
	}
}
