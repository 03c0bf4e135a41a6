package emit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// ptx compiles CUDA for an H200 as NVRTC would, without a CUDA kit.
func ptx(t *testing.T, source string, flags ...string) string {
	t.Helper()
	prelude, err := filepath.Abs("testdata/nvrtc.cuh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "kernels.cu"), filepath.Join(dir, "kernels.ptx")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
		"--cuda-gpu-arch=sm_90", "--cuda-feature=+ptx80",
		"-std=c++17", "-O3", "-Wall", "-Wno-unused-variable", "-Wno-bitwise-instead-of-logical", "-Wno-pass-failed",
		"-Werror",
		"-include", prelude, "-S", "-o", out, file}
	cmd := exec.Command("clang-19", append(args, flags...)...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.2000s", err, said)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkGPU lowers a program for GPUs with a plan and compiles what is printed.
func checkGPU(t *testing.T, p *ir.Program, plan schedule.Plan, flags ...string) {
	bound, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	o := lower.Options{Target: lower.GPU, Plan: plan, Bound: bound, Sized: true}
	m, err := lower.Program(p, o)
	if err != nil {
		t.Fatal(err)
	}
	source := emit.Source(emit.CUDA, m)
	if again := emit.Source(emit.CUDA, m); again != source {
		t.Error("the same module is printed in two ways")
	}
	code := ptx(t, source, flags...)
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			t.Error(err)
		}
		if !strings.Contains(code, fmt.Sprintf(".entry %s(", emit.CUDA.Symbol(k.Name))) {
			t.Errorf("the compiled code has no kernel %s", k.Name)
		}
	}
	// A float program has no hidden double arithmetic.
	double := false
	for _, k := range m.Kernels {
		double = double || strings.Contains(kernel.Text(k), "f64")
	}
	if !double && strings.Contains(code, ".f64") {
		t.Errorf("arithmetic in double:\n%s", source)
	}
	_, o.Lacks = emit.OpenCL.On(nil)
	m, err = lower.Program(p, o)
	if err != nil {
		return // the plan needs what OpenCL has no words for
	}
	for _, k := range m.Kernels {
		if emit.OpenCL.Lacks(k) != nil {
			return
		}
	}
	spir(t, emit.Source(emit.OpenCL, m), flags...)
}

func loadFile(t *testing.T, path string, change *strings.Replacer) *ir.Program {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource(filepath.Base(path), change.Replace(string(text)))
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return p
}

func needClang(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Fatal("clang-19, which compiles CUDA and OpenCL without a kit, is needed: apt-get install clang-19")
	}
}

// Any configuration of the benchmark's cases is CUDA that compiles, and OpenCL
// where that has words for it: one of each family.
func TestGPUSample(t *testing.T) {
	needClang(t)
	for n, c := range []struct{ name, dtype string }{
		{"star7", "double"}, {"box27", "float"}, {"star5", "float"}, {"himeno", "double"},
	} {
		p := loadFile(t, "../../tune/eval/bench/cases/"+c.name+".loom",
			strings.NewReplacer("double", c.dtype, "float", c.dtype))
		choices, err := lower.Choices(p, lower.Options{Target: lower.GPU})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for _, f := range choices[0].Space.Families {
			counter := schedule.Space{Families: []schedule.Family{f}}.Counter()
			cfg := counter.Draw(rng)
			for !fits(t, p, cfg) {
				cfg = counter.Draw(rng)
			}
			t.Run(c.name+"/"+c.dtype+"/"+cfg.String(), func(t *testing.T) {
				t.Parallel()
				var flags []string
				if strings.Contains(cfg.String(), "retime=yes") { // parts may be held a step longer than they are read
					flags = []string{"-Wno-unused-but-set-variable"}
				}
				checkGPU(t, p, schedule.Plan{Every: cfg}, flags...)
			})
		}
	}
}

// fits reports whether blocks have the memory that a configuration asks for.
func fits(t *testing.T, p *ir.Program, cfg schedule.Config) bool {
	bound, list := p.Bind(nil)
	if list.HasErrors() {
		t.Fatal(list)
	}
	_, err := lower.Program(p, lower.Options{
		Target: lower.GPU, Plan: schedule.Plan{Every: cfg}, Bound: bound, Sized: true,
	})
	var resourceLimit *lower.ResourceLimit
	return !errors.As(err, &resourceLimit)
}

// A stencil may be called like a function that every CUDA program has.
func TestCUDASymbols(t *testing.T) {
	for name, want := range map[string]string{
		"heat": "heat", "rsqrt": "v_rsqrt", "rsqrtf": "v_rsqrtf", "atomicAdd": "v_atomicAdd", "printf": "v_printf",
		"gl_min_i64": "v_gl_min_i64", "sqrt": "v_sqrt",
	} {
		if got := emit.CUDA.Symbol(name); got != want {
			t.Errorf("%s is printed as %s, want %s", name, got, want)
		}
	}
}

// Every operator, function, conversion and kind of literal.
func TestGPUExpressions(t *testing.T) {
	var body strings.Builder
	n := 0
	value := func(typ types.Type, expr string) {
		n++
		fmt.Fprintf(&body, "(let x%d %s %s) (store %v_out (i64 %d) x%d)\n", n, typ, expr, typ, n, n)
	}
	both := func(typ types.Type, head string, arity int) string {
		return fmt.Sprintf("(%s%s)", head,
			[]string{"", fmt.Sprintf(" %v_x", typ), fmt.Sprintf(" %v_x %v_y", typ, typ)}[arity])
	}
	all := []types.Type{types.Bool, types.U8, types.I32, types.I64, types.F32, types.F64}
	for _, typ := range []types.Type{types.I32, types.I64, types.F32, types.F64} {
		for o := op.Add; o <= op.Ge; o++ {
			switch {
			case o == op.LAnd, o == op.LOr, o == op.Not:
				value(types.Bool, both(types.Bool, o.String(), o.Arity()))
			case typ.IsFloat() && (o == op.Rem || o == op.And || o == op.Or):
			case o.IsComparison():
				value(types.Bool, both(typ, o.String(), 2))
			default:
				value(typ, both(typ, o.String(), o.Arity()))
			}
		}
		if typ.IsFloat() {
			for f := op.Sqrt; f <= op.InvSqrt; f++ {
				value(typ, both(typ, "call "+f.String(), f.Arity()))
			}
			for _, lit := range []string{"0.1", "-3", "1e300", "NaN", "+Inf", "-Inf", "-0"} {
				if typ == types.F64 || lit != "1e300" {
					value(typ, fmt.Sprintf("(%s %s)", typ, lit))
				}
			}
			value(typ, fmt.Sprintf("(random %s i64_x i64_x)", typ))
		}
	}
	for _, lit := range []string{"-2147483648", "2147483647"} {
		value(types.I32, fmt.Sprintf("(i32 %s)", lit))
	}
	for _, lit := range []string{"-9223372036854775807", "9223372036854775807", "4294967296", "-2147483648"} {
		value(types.I64, fmt.Sprintf("(i64 %s)", lit))
	}
	value(types.I32, "(call abs i32_x)")
	for _, from := range all {
		for _, to := range all {
			if from != to && !(from.IsFloat() && to == types.I64) {
				value(to, fmt.Sprintf("(cast %s %s_x)", to, from))
			}
		}
	}
	text := "(kernel all\n"
	for _, typ := range all {
		text += fmt.Sprintf("(buffer %v_out %v global out (i64 %d))\n", typ, typ, n+1)
	}
	for _, typ := range all {
		text += fmt.Sprintf("(scalar %v_x %v)\n(scalar %v_y %v)\n", typ, typ, typ, typ)
	}
	k, err := kernel.ParseText(text + body.String() + ")")
	if err != nil {
		t.Fatal(err)
	}
	m := &kernel.Module{Kernels: []*kernel.Kernel{k}}
	needClang(t)
	ptx(t, emit.Source(emit.CUDA, m))
	spir(t, emit.Source(emit.OpenCL, m))
}

// A prefetch is an instruction in CUDA, and a function in OpenCL.
func TestPrefetch(t *testing.T) {
	k, err := kernel.ParseText(`(kernel k
  (buffer u f64 global in N)
  (buffer v f64 global inout N)
  (scalar N i64)
  (for b i64 block.x (i64 0) N (i64 1)
    (for t i64 thread.x (i64 0) (i64 64) (i64 1)
      (prefetch u (add t (i64 8)))
      (store v t (load u t)))))
`)
	if err != nil {
		t.Fatal(err)
	}
	m := &kernel.Module{Kernels: []*kernel.Kernel{k}}
	if text := ptx(t, emit.Source(emit.CUDA, m)); !strings.Contains(text, "prefetch.global.L1") {
		t.Errorf("no prefetch:\n%s", text)
	}
	if text := emit.Source(emit.OpenCL, m); !strings.Contains(text, "prefetch(&u[t + 8], 1);") {
		t.Errorf("no prefetch:\n%s", text)
	}
}

// Loops over threads and blocks may start anywhere and take any step; those
// that are for one thread run on one.
func TestCUDAIndices(t *testing.T) {
	k, err := kernel.ParseText(`(kernel k
  (buffer u f64 global out N)
  (scalar N i64)
  (scalar s i64)
  (for b i64 block.x (i64 3) N (i64 32)
    (for c i32 block.y (i32 0) (i32 4) (i32 1)
      (for t i64 thread.x (sub N (i64 1)) (add N (i64 31)) (add s (i64 1))
        (store u b (f64 1))))))`)
	if err != nil {
		t.Fatal(err)
	}
	source := emit.Source(emit.CUDA, &kernel.Module{Kernels: []*kernel.Kernel{k}})
	body := source[strings.Index(source, "{\n    const"):]
	want := `{
    const int64_t b = 3 + (int64_t)blockIdx.x * 32;
    const int32_t c = blockIdx.y;
    const int64_t t = N - 1 + (int64_t)threadIdx.x * (s + 1);
    u[b] = 1.0;
}
`
	if body != want {
		t.Errorf("%s\nwant\n%s", source, want)
	}
	needClang(t)
	ptx(t, source)
}

// The examples use the whole language, and all of it is CUDA and OpenCL too.
func TestGPUExamples(t *testing.T) {
	needClang(t)
	files, err := filepath.Glob("../../../examples/*.loom")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".loom"), func(t *testing.T) {
			t.Parallel()
			checkGPU(t, loadFile(t, file, strings.NewReplacer()), schedule.Plan{})
		})
	}
}
