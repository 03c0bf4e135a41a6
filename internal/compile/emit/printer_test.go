package emit_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// signature is what the bodies in the tests below may use.
const signature = `(kernel k
  (buffer u f64 global in N) (buffer v f64 global inout N) (buffer n i32 global inout N) (buffer f f32 global inout N)
  (scalar N i64) (scalar a f64) (scalar b f64) (scalar c f64) (scalar p bool) (scalar q bool) (scalar r bool)
  (scalar i i64) (scalar j i64) (scalar m i32) (scalar o i32) (scalar x f32) (scalar w u8)
`

// printed returns the C of a kernel's body, without indentation.
func printed(t *testing.T, body string) string {
	t.Helper()
	k, err := kernel.ParseText(signature + body + ")")
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if err := kernel.Verify(k); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	source := emit.Source(emit.C, &kernel.Module{Kernels: []*kernel.Kernel{k}})
	start := strings.Index(source, "static void k(")
	start += strings.Index(source[start:], "\n{\n") + 1
	lines := strings.Split(source[start:strings.Index(source, "\nvoid gl_k")], "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "    ")
	}
	return strings.Join(lines[1:len(lines)-2], "\n")
}

// Parentheses stand where they are needed, and where readers need them.
func TestPrecedence(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"(add (add a b) c)", "a + b + c"},
		{"(add a (add b c))", "a + (b + c)"},
		{"(sub a (sub b c))", "a - (b - c)"},
		{"(sub (sub a b) c)", "a - b - c"},
		{"(mul (add a b) c)", "(a + b) * c"},
		{"(add (mul a b) c)", "a * b + c"},
		{"(mul a (mul b c))", "a * (b * c)"},
		{"(div a (mul b c))", "a / (b * c)"},
		{"(div (div a b) c)", "a / b / c"},
		{"(neg (neg a))", "-(-a)"},
		{"(neg (f64 -1))", "-(-1.0)"},
		{"(sub a (neg b))", "a - -b"},
		{"(neg (add a b))", "-(a + b)"},
		{"(mul (neg a) b)", "-a * b"},
		{"(neg (mul a b))", "-(a * b)"},
		{"(add a (select p b c))", "a + (p ? b : c)"},
		{"(select p (select q a b) c)", "p ? (q ? a : b) : c"},
		{"(select p a (select q b c))", "p ? a : (q ? b : c)"},
		{"(select (lt a b) (add a b) (neg c))", "a < b ? a + b : -c"},
		{"(select (land p q) a b)", "p && q ? a : b"},
		{"(min a (add b c))", "gl_min_f64(a, b + c)"},
		{"(call sqrt (add a b))", "sqrt(a + b)"},
		{"(call hypot a (neg b))", "hypot(a, -b)"},
		{"(load u (add i (i64 1)))", "u[i + 1]"},
		{"(load u (sub (mul j N) i))", "u[j * N - i]"},
		{"(cast f64 (add m o))", "(double)(m + o)"},
		{"(cast f64 m)", "(double)m"},
		{"(neg (cast f64 m))", "-(double)m"},
		{"(cast f64 (neg m))", "(double)-m"},
		{"(mul (cast f64 x) a)", "(double)x * a"},
	} {
		if got := printed(t, "(store v i "+c.expr+")"); got != "v[i] = "+c.want+";" {
			t.Errorf("%s is printed as\n%s, want\nv[i] = %s;", c.expr, got, c.want)
		}
	}
	for _, c := range []struct{ cond, want string }{
		{"(land p (lor q r))", "p && (q || r)"},
		{"(lor (land p q) r)", "(p && q) || r"},
		{"(land (land p q) r)", "p && q && r"},
		{"(land p (land q r))", "p && (q && r)"},
		{"(not (not p))", "!(!p)"},
		{"(not (lt a b))", "!(a < b)"},
		{"(land (not p) q)", "!p && q"},
		{"(and (not p) q)", "(!p) & q"},
		{"(lor (lt a b) (ge i (i64 0)))", "a < b || i >= 0"},
		{"(land (eq a b) p)", "(a == b) && p"},
		{"(eq (lt a b) p)", "(a < b) == p"},
		{"(lt (and m o) (i32 3))", "(m & o) < 3"},
		{"(eq (or (or m o) (i32 1)) (rem m (i32 8)))", "(m | o | 1) == m % 8"},
		{"(ne (and (add m o) (i32 1)) o)", "((m + o) & 1) != o"},
		{"(cast bool m)", "m != 0"},
		{"(not (cast bool (sub a b)))", "!(a - b != 0)"},
		{"(eq (cast bool m) p)", "(m != 0) == p"},
	} {
		if got := printed(t, "(if "+c.cond+" (then (store v i a)))"); !strings.HasPrefix(got, "if ("+c.want+") {\n") {
			t.Errorf("%s is printed as\n%s, want\nif (%s)", c.cond, got, c.want)
		}
	}
	for _, c := range []struct{ index, want string }{
		{"(mul (i64 65536) (i64 65536))", "(int64_t)65536 * 65536"},
		{"(add (select p (i64 2147483647) (i64 0)) (i64 1))", "(int64_t)(p ? 2147483647 : 0) + 1"},
		{"(add (mul i (i64 65536)) (i64 65536))", "i * 65536 + 65536"},
		{"(rem (i64 4294967296) (i64 10))", "INT64_C(4294967296) % 10"},
		{"(div m o)", "gl_div_i32(m, o)"},
		{"(rem m (i32 -1))", "gl_rem_i32(m, -1)"},
		{"(rem m (i32 7))", "m % 7"},
		{"(div m (i32 0))", "gl_div_i32(m, 0)"},
		{"(div i j)", "i / j"},
		{"(cast i64 a)", "gl_long_f64(a)"},
		{"(cast i32 x)", "gl_int_f32(x)"},
		{"(cast i32 w)", "(int32_t)w"},
		{"(cast i64 (cast u8 a))", "(int64_t)(uint8_t)gl_int_f64(a)"},
		{"(call abs m)", "gl_abs_i32(m)"},
	} {
		want := "v[" + c.want + "] = a;"
		if got := printed(t, "(store v "+c.index+" a)"); got != want {
			t.Errorf("%s is printed as\n%s, want\n%s", c.index, got, want)
		}
	}
}

func TestLiterals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		value   op.Value
		c, cuda string
	}{
		{op.Float(types.F64, 0.1), "0.1", "0.1"},
		{op.Float(types.F64, 1), "1.0", "1.0"},
		{op.Float(types.F64, -3), "-3.0", "-3.0"},
		{op.Float(types.F64, math.Copysign(0, -1)), "-0.0", "-0.0"},
		{op.Float(types.F64, 1e300), "1e+300", "1e+300"},
		{op.Float(types.F64, math.MaxFloat64), "1.7976931348623157e+308", "1.7976931348623157e+308"},
		{op.Float(types.F64, math.SmallestNonzeroFloat64), "5e-324", "5e-324"},
		{op.Float(types.F64, inf), "(double)(INFINITY)", "(double)(__longlong_as_double(0x7ff0000000000000))"},
		{op.Float(types.F64, -inf), "(double)(-INFINITY)", "(double)(-__longlong_as_double(0x7ff0000000000000))"},
		{op.Float(types.F64, nan), "(double)NAN", "(double)__longlong_as_double(0x7ff8000000000000)"},
		{op.Float(types.F32, 0.1), "0.1f", "0.1f"},
		{op.Float(types.F32, 16777216), "1.6777216e+07f", "1.6777216e+07f"},
		{op.Float(types.F32, 2), "2.0f", "2.0f"},
		{op.Float(types.F32, math.MaxFloat32), "3.4028235e+38f", "3.4028235e+38f"},
		{op.Float(types.F32, math.SmallestNonzeroFloat32), "1e-45f", "1e-45f"},
		{op.Float(types.F32, -inf), "(float)(-INFINITY)", "(float)(-__longlong_as_double(0x7ff0000000000000))"},
		{op.Int(types.I32, math.MaxInt32), "2147483647", "2147483647"},
		{op.Int(types.I32, math.MinInt32), "(-2147483647 - 1)", "(-2147483647 - 1)"},
		{op.Int(types.I32, -1), "-1", "-1"},
		{op.Int(types.I64, -5), "-5", "-5"},
		{op.Int(types.I64, math.MaxInt32), "2147483647", "2147483647"},
		{op.Int(types.I64, math.MinInt32), "INT64_C(-2147483648)", "INT64_C(-2147483648)"},
		{op.Int(types.I64, 1<<40), "INT64_C(1099511627776)", "INT64_C(1099511627776)"},
		{op.Int(types.I64, math.MaxInt64), "INT64_C(9223372036854775807)", "INT64_C(9223372036854775807)"},
		{op.Int(types.I64, math.MinInt64), "(-INT64_C(9223372036854775807) - 1)",
			"(-INT64_C(9223372036854775807) - 1)"},
		{op.Int(types.U8, 255), "255", "255"},
		{op.BoolOf(true), "true", "true"},
		{op.BoolOf(false), "false", "false"},
	} {
		for dialect, want := range map[*emit.Dialect]string{emit.C: c.c, emit.CUDA: c.cuda} {
			out := &kernel.Buffer{Name: "out", Elem: c.value.T, Mode: kernel.Out, Cells: kernel.I(1)}
			k := &kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{out}, Body: []kernel.Stmt{
				&kernel.Store{Buffer: out, Index: kernel.I(0), Value: kernel.L(c.value)},
			}}
			source := emit.Source(dialect, &kernel.Module{Kernels: []*kernel.Kernel{k}})
			if !strings.Contains(source, "    out[0] = "+want+";\n") {
				t.Errorf("%s: %v of type %v is printed as\n%s\nwant %s", dialect.Name, c.value, c.value.T, source, want)
			}
		}
	}
}

// Names are the source's where the language lets them be, and never one for
// two things in one scope.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"u", "u"}, {"row_km1", "row_km1"}, {"slope.2", "slope_2"}, {"u.old", "u_old"},
		{"for", "v_for"}, {"double", "v_double"}, {"restrict", "v_restrict"}, {"class", "v_class"}, {"main", "v_main"},
		{"sin", "v_sin"}, {"sinf", "v_sinf"}, {"j0", "v_j0"}, {"gl_min_i64", "v_gl_min_i64"}, {"_t", "v_t"},
		{"__x", "v_x"}, {"INFINITY", "v_INFINITY"}, {"INT64_C", "v_INT64_C"}, {"args", "v_args"},
		{"complex", "v_complex"}, {"I", "v_I"}, {"errno", "v_errno"},
		{"step", "step"}, {"in", "in"}, {"out", "out"}, {"sum", "sum"}, {"L", "L"},
	} {
		v := kernel.NewVar(c.name, types.F64)
		out := &kernel.Buffer{Name: "result", Elem: types.F64, Mode: kernel.Out, Cells: kernel.I(1)}
		k := &kernel.Kernel{Name: "k", Buffers: []*kernel.Buffer{out}, Scalars: []*kernel.Var{v}, Body: []kernel.Stmt{
			&kernel.Store{Buffer: out, Index: kernel.I(0), Value: kernel.V(v)},
		}}
		source := emit.Source(emit.C, &kernel.Module{Kernels: []*kernel.Kernel{k}})
		if !strings.Contains(source, "double "+c.want+")") || !strings.Contains(source, "result[0] = "+c.want+";") {
			t.Errorf("%s is not called %s:\n%s", c.name, c.want, source)
		}
	}
	if got := emit.C.Symbol("double"); got != "v_double" {
		t.Errorf("the kernel double has the symbol %s", got)
	}
	if got := emit.EntryName(&kernel.Kernel{Name: "double"}); got != "gl_double" {
		t.Errorf("the kernel double has the entry %s", got)
	}
	// Two names that become one word stay two.
	got := printed(t, "(let s.2 f64 a) (let s_2 f64 b) (store v i (add s.2 s_2))")
	want := "const double s_2 = a;\nconst double s_2_ = b;\nv[i] = s_2 + s_2_;"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// A name is free again where its scope has ended.
	got = printed(t, "(if p (then (let s f64 a) (store v i s))) (if q (then (let s f64 b) (store v i s)))")
	want = "if (p) {\n    const double s = a;\n    v[i] = s;\n}\nif (q) {\n    const double s = b;\n    v[i] = s;\n}"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Long lines are broken before operators, never inside an index, and say the
// same once joined.
func TestLongLines(t *testing.T) {
	var sum, text strings.Builder
	sum.WriteString("(load u i)")
	text.WriteString("v[i] = u[i]")
	for n := 1; n <= 60; n++ {
		s := fmt.Sprintf("(add %s (mul a (load u (add (mul j N) (add i (i64 %d))))))", sum.String(), n)
		sum.Reset()
		sum.WriteString(s)
		fmt.Fprintf(&text, " + a * u[j * N + (i + %d)]", n)
	}
	lines := strings.Split(printed(t, "(store v i "+sum.String()+")"), "\n")
	if len(lines) < 10 {
		t.Errorf("%d lines", len(lines))
	}
	for i, l := range lines {
		if len(l)+4 > 110 {
			t.Errorf("a line of %d columns: %s", len(l)+4, l)
		}
		if i > 0 && !strings.HasPrefix(l, "        + ") {
			t.Errorf("a line goes on with %q", l)
		}
		if strings.Count(l, "[") != strings.Count(l, "]") {
			t.Errorf("broken in an index: %q", l)
		}
		lines[i] = strings.TrimSpace(l)
	}
	if got := strings.Join(lines, " "); got != text.String()+";" {
		t.Errorf("joined it says\n%s", got)
	}
	k := &kernel.Kernel{Name: "k", Doc: []string{strings.Repeat("word ", 60)}}
	source := emit.Source(emit.C, &kernel.Module{Kernels: []*kernel.Kernel{k}})
	for l := range strings.Lines(source) {
		if len(l) > 111 {
			t.Errorf("a comment of %d columns", len(l))
		}
	}
	if n := strings.Count(source, "word"); n != 60 {
		t.Errorf("%d of 60 words are left", n)
	}
}

// A file defines the helpers that it calls, each once and before its use, and
// no others.
func TestHelpers(t *testing.T) {
	for _, c := range []struct {
		body string
		want string
	}{
		{"(store v i a)", ""},
		{"(store v i (min a b))", "min_f64"},
		{"(store v (min i j) (max a b))", "min_i64 max_f64"},
		{"(store n i (div m o)) (store n i (rem m o))", "div_i32 rem_i32"},
		{"(store n i (div m (i32 3)))", ""},
		{"(store f i (random f32 i j))", "mix random_f32"},
		{"(store v i (random f64 i j)) (store f i (random f32 i j))", "mix random_f32 random_f64"},
		{"(store n i (cast i32 a))", "int_f64"},
		{"(store n i (call abs m)) (store v i (call abs a))", "abs_i32"},
		{"(store n i (min (max m o) (i32 3)))", "min_i32 max_i32"},
		{"(store v (cast i64 x) a)", "long_f32"},
	} {
		k, err := kernel.ParseText(signature + c.body + ")")
		if err != nil {
			t.Fatal(err)
		}
		second := *k
		second.Name = "again"
		source := emit.Source(emit.C, &kernel.Module{Kernels: []*kernel.Kernel{k, &second}})
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^static inline \w+ gl_(\w+)\(`).FindAllStringSubmatch(source, -1) {
			got = append(got, m[1])
			if first := strings.Index(source, "gl_"+m[1]+"("); first < strings.Index(source, "static inline") {
				t.Errorf("%s: %s is called before it is defined", c.body, m[1])
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: the helpers are %v, want %s", c.body, got, c.want)
		}
	}
}

// Loops are shared out, vectorised and reduced by pragmas, and launched where
// there are threads and blocks.
func TestPragmas(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"serial", "(for k i64 serial (i64 0) N (i64 1) (store v k a))",
			"for (int64_t k = 0; k < N; ++k) {\n    v[k] = a;\n}"},
		{"a step", "(for s i32 serial (i32 1) m (i32 3) (store n (cast i64 s) s))",
			"for (int32_t s = 1; s < m; s += 3) {\n    n[(int64_t)s] = s;\n}"},
		{"parallel", "(for s i64 parallel (i64 0) N (i64 1) (store v s a))",
			"#pragma omp parallel for schedule(static)\nfor (int64_t s = 0; s < N; ++s) {\n    v[s] = a;\n}"},
		{"threads", "(for s i64 parallel (i64 0) N (i64 1) (threads 4) (store v s a))",
			"#pragma omp parallel for schedule(static) num_threads(4)\n" +
				"for (int64_t s = 0; s < N; ++s) {\n    v[s] = a;\n}"},
		{"collapse", "(for s i64 parallel (i64 0) N (i64 8) (threads 2) (collapse 2) " +
			"(for y i64 parallel (i64 0) N (i64 1) (store v (add s y) a)))",
			"#pragma omp parallel for schedule(static) collapse(2) num_threads(2)\n" +
				"for (int64_t s = 0; s < N; s += 8) {\n" +
				"    for (int64_t y = 0; y < N; ++y) {\n        v[s + y] = a;\n    }\n}"},
		{"vector", "(for s i64 vector interior i j (i64 1) (store v s a))",
			"#pragma omp simd\nfor (int64_t s = i; s < j; ++s) {\n    v[s] = a;\n}"},
		{"reductions",
			"(var most f64 a) (var sum f64 b) (for s i64 vector (i64 0) N (i64 1) (reduce max most) (reduce add sum) " +
				"(set most (max most (load u s))) (set sum (add sum (load u s)))) (store v i (add most sum))",
			"double most = a;\ndouble sum = b;\n#pragma omp simd reduction(max : most) reduction(+ : sum)\n" +
				"for (int64_t s = 0; s < N; ++s) {\n" +
				"    most = gl_max_f64(most, u[s]);\n    sum = sum + u[s];\n}\nv[i] = most + sum;"},
		{"rows in parallel, lanes in vectors", "(for y i64 parallel (i64 0) N (i64 1) (let row i64 (mul y N)) " +
			"(for s i64 vector (i64 0) N (i64 1) (store v (add row s) a)))",
			"#pragma omp parallel for schedule(static)\nfor (int64_t y = 0; y < N; ++y) {\n" +
				"    const int64_t row = y * N;\n    #pragma omp simd\n" +
				"    for (int64_t s = 0; s < N; ++s) {\n        v[row + s] = a;\n    }\n}"},
		{"unrolled", "(for s i64 unroll (i64 0) (i64 4) (i64 1) (store v s a))",
			"for (int64_t s = 0; s < 4; ++s) {\n    v[s] = a;\n}"},
		{"a bound of two terms", "(for s i64 serial (add i j) (sub N (i64 1)) (i64 1) (store v s a))",
			"for (int64_t s = i + j; s < N - 1; ++s) {\n    v[s] = a;\n}"},
		{"a chosen bound", "(for s i64 serial (i64 0) (select p i j) (i64 1) (store v s a))",
			"for (int64_t s = 0; s < (p ? i : j); ++s) {\n    v[s] = a;\n}"},
		{"if and else", "(if p (then (store v i a)) (else (store v i b)))",
			"if (p) {\n    v[i] = a;\n} else {\n    v[i] = b;\n}"},
		{"a comment", `(comment "rows at the edge") (store v i a)`, "// rows at the edge\nv[i] = a;"},
	} {
		if got := printed(t, c.body); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A kernel is called through one pointer for all its arguments, and modes and
// types show in its head.
func TestEntries(t *testing.T) {
	k, err := kernel.ParseText(`(kernel mix
  (doc "what it does")
  (buffer u f64 global in N) (buffer b bool global out N) (buffer w u8 global inout N) (buffer n i32 global in N)
  (scalar N i64) (scalar p bool) (scalar x f32)
  (store b (i64 0) p))`)
	if err != nil {
		t.Fatal(err)
	}
	want := `#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// what it does
static void mix(const double *restrict u, uint8_t *restrict b, uint8_t *restrict w, const int32_t *restrict n,
        int64_t N, bool p, float x)
{
    b[0] = p;
}

void gl_mix(void **args)
{
    mix(*(const double **)args[0], *(uint8_t **)args[1], *(uint8_t **)args[2], *(const int32_t **)args[3],
            *(int64_t *)args[4], *(uint8_t *)args[5], *(float *)args[6]);
}
`
	if got := emit.Source(emit.C, &kernel.Module{Kernels: []*kernel.Kernel{k}}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
