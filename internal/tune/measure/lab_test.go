package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	runexec "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/session"
)

func TestMain(m *testing.M) {
	os.Setenv("OMP_WAIT_POLICY", "passive")
	between()
	worker.Main(append(target.Services(), Service)...)
	status := m.Run()
	if remove, _ := pretend(); remove != nil && pretended {
		remove()
	}
	os.Exit(status)
}

// pretend installs a pretended GPU, when a test first wants it.
var pretend = sync.OnceValues(func() (func(), error) {
	if !pretended {
		return nil, nil
	}
	return cudatest.Install()
})

var pretended bool

// The call of these tests doubles each cell of u into v, and sums v up. What
// the code does instead is put in the place of HERE.
const doubling = `#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
void gl_double(void **args)
{
	double *v = *(double **)args[0];
	const double *u = *(const double **)args[1];
	double *sum = *(double **)args[2];
	const int64_t n = *(int64_t *)args[3];
	double s = 0;
	HERE
	for (int64_t i = 0; i < n; i++)
		s += v[i] = 2 * u[i];
	*sum = s;
}
`

const cells = 6 * 7

var doubled = Setting{
	Name:  "test",
	Grids: []Grid{{"v", types.F64, []int{6, 7}}, {"u", types.F64, []int{6, 7}}},
	Cells: []Cell{{"sum", types.F64}},
}

// openLab opens a Lab on a device.
func openLab(t *testing.T, id string, o device.CompilerOptions) Lab {
	t.Helper()
	at, err := target.Open(id, target.Options{Arithmetic: arith.Contract, CompilerOptions: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	l, err := Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// lab opens a Lab on the processor, with memory for the call, and returns what
// makes code of it.
func lab(t *testing.T) (Lab, func(instead string) Code) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	l := openLab(t, "cpu", Compilers(cache, 0))
	if err := l.Arrange(t.Context(), doubled); err != nil {
		t.Fatal(err)
	}
	return l, func(instead string) Code {
		t.Helper()
		made, err := l.Compile(t.Context(), Text{Source: strings.Replace(doubling, "HERE", instead, 1)})
		if err != nil {
			t.Fatal(err)
		}
		n := runexec.Arg{Kind: runexec.ValueArg}
		device.Encode(n.Bits[:], op.Int(types.I64, cells))
		return Code{
			Name: "double", Image: made.Image, Kernels: []string{"double"}, To: 1,
			Use: Use{Reads: []bool{false, true}, Writes: []bool{true, false}, Reduces: []int{0}},
			Launches: []runexec.Launch{{Args: []runexec.Arg{
				{Kind: runexec.GridArg}, {Kind: runexec.GridArg, Index: 1}, {Kind: runexec.CellArg}, n,
			}, Geometry: kernel.Geometry{}}},
		}
	}
}

var margins = Margins{Grids: []Margin{{Absolute: 1e-12}, {}}, Cells: []Margin{{Absolute: 1e-10}}}

var rule = Rule{Least: time.Microsecond, Batches: 2}

// expected has the plain kernel compute what others are compared with.
func expected(t *testing.T, l Lab, plain Code) Values {
	t.Helper()
	v, err := l.Expect(t.Context(), plain, true)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Grids hold what Value says, and what the plain kernel makes of them comes
// back.
func TestExpect(t *testing.T) {
	l, code := lab(t)
	v := expected(t, l, code(""))
	if len(v.Grids) != 2 || v.Grids[1] != nil {
		t.Fatalf("%d grids", len(v.Grids))
	}
	sum := 0.0
	for i, got := range view[float64](v.Grids[0]) {
		want := 2 * Value(types.F64, int64(i), 1)
		sum += want
		if got != want || want < 0 || want >= 2 {
			t.Errorf("cell %d is %v, want %v", i, got, want)
		}
	}
	if got := v.Cells[0].AsFloat(); math.Abs(got-sum) > 1e-12 {
		t.Errorf("the sum is %v, want %v", got, sum)
	}
}

func TestTry(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	r, err := l.Try(t.Context(), code("/* another */"), margins, rule, time.Hour)
	if err != nil || len(r.Times) != 2 || r.Agreement.Cells != cells || r.Agreement.Largest != 0 || r.Times[0] <= 0 {
		t.Errorf("%+v %v", r, err)
	}
	// A little off, within the margin.
	r, err = l.Try(t.Context(), code("for (int64_t i = 0; i < n; i++) s += v[i] = 2 * u[i] + 1e-13; *sum = s; return;"),
		margins, rule, time.Hour)
	if err != nil || !(r.Agreement.Largest > 1e-14 && r.Agreement.Largest < 1e-12) {
		t.Errorf("%+v %v", r, err)
	}
	if s, err := l.Batch(t.Context(), code(""), time.Millisecond); err != nil || s <= 0 || s > 1 {
		t.Errorf("%v %v", s, err)
	}
	if s, err := l.Copy(t.Context(), 1<<20, time.Millisecond); err != nil || s <= 0 || s > 1 {
		t.Errorf("%v %v", s, err)
	}
}

// What the driver takes to load code is not counted as a variant's time: some
// compile what they load.
func TestLoading(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	r, err := l.Try(t.Context(), code("for (;;) sleep(1);"), margins, rule, time.Nanosecond)
	late, ok := errors.AsType[*Late](err)
	if !ok || late.Loading || !(r.Loading > 0) {
		t.Errorf("%+v %v", r, err)
	}
	missing := code("")
	missing.Image = "/no/such/image"
	if _, err := l.Try(t.Context(), missing, margins, rule, time.Hour); err == nil ||
		!strings.Contains(err.Error(), "/no/such/image") {
		t.Error(err)
	}
	if r, err := l.Try(t.Context(), code(""), margins, rule, time.Hour); err != nil || !(r.Loading > 0) {
		t.Errorf("%+v %v", r, err)
	}
}

// Cells without a number on either side are not compared, and a variant of which
// nothing could be compared is not right.
func TestNotCompared(t *testing.T) {
	l, code := lab(t)
	for _, test := range []struct {
		instead string
		numbers int64
	}{
		{"for (int64_t i = 0; i < n; i++) { v[i] = i < 9 ? 0.0/0.0 : 2 * u[i]; s += i < 9 ? 0 : v[i]; }" +
			" *sum = s; return;", cells - 9},
		{"for (int64_t i = 0; i < n; i++) v[i] = 0.0/0.0; *sum = 0.0/0.0; return;", 0},
	} {
		expected(t, l, code(test.instead))
		r, err := l.Try(t.Context(), code("/* another */ "+test.instead), margins, rule, time.Hour)
		switch {
		case test.numbers > 0 && (err != nil || r.Agreement.Cells != test.numbers ||
			r.Agreement.NaNs != cells-test.numbers):
			t.Errorf("%+v %v", r.Agreement, err)
		case test.numbers == 0 && (err == nil ||
			!strings.HasSuffix(err.Error(), "nothing was compared: there is no number in any of 42 cells")):
			t.Errorf("%+v %v", r.Agreement, err)
		}
	}
}

// Wrong results are found wherever they are, and told with their place.
func TestWrongResults(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	for _, test := range []struct{ instead, want string }{
		{"for (int64_t i = 0; i < n; i++) s += v[i] = 2 * u[i]; v[n - 1] += 1e-9; *sum = s; return;",
			"v[5][6], the first of 1 wrong cells, is "},
		{"for (int64_t i = 0; i < n; i++) s += v[i] = 2 * u[i]; v[9] = v[10] = 0.0/0.0; *sum = s; return;",
			"v[1][2], the first of 2 wrong cells, is NaN"},
		{"for (int64_t i = 0; i < n; i++) v[i] = 2 * u[i]; *sum = 1; return;", "sum is 1, and should be "},
		{"static int often; if (often++ > 0) { for (int64_t i = 0; i < n; i++) s += v[i] = u[i]; *sum = s; return; }",
			"wrong cells"},
		{"return;", "v[0][0], the first of 42 wrong cells, is NaN"},
	} {
		_, err := l.Try(t.Context(), code(test.instead), margins, rule, time.Hour)
		if _, wrong := errors.AsType[*Mismatch](err); !wrong || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n%v, want %s", test.instead, err, test.want)
		}
	}
	if _, err := l.Try(t.Context(), code(""), margins, rule, time.Hour); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// A variant that spoils the inputs of those after it is found out, and not they
// are blamed.
func TestSpoiltInputs(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	spoils := "for (int64_t i = 0; i < n; i++) s += v[i] = 2 * u[i]; *sum = s; if (getenv(\"OMP_NUM_THREADS\")) " +
		"((double *)u)[3] = 7; return;"
	l.Try(t.Context(), code(spoils), margins, rule, time.Hour) // wrong itself, once it runs again
	r, err := l.Try(t.Context(), code("/* innocent */"), margins, rule, time.Hour)
	if err != nil {
		t.Errorf("%+v %v", r, err)
	}
}

// Whatever a variant does to its process, it is refused with the reason, and
// the next one runs.
func TestCrashes(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	for _, test := range []struct{ name, instead, want string }{
		{"hang", "for (;;) sleep(1);", "it took longer than 700ms"},
		{"fault", "*(volatile int *)8 = 1;", "it touched memory that is not its own (SIGSEGV)"},
		{"abort", "abort();", "it gave up (SIGABRT)"},
		{"exit", "_exit(3);", "it ended with status 3"},
		{"killed", "kill(getpid(), 9);", "something killed it, as the system does when memory runs out (SIGKILL)"},
	} {
		limit := time.Hour
		if test.name == "hang" {
			limit = 700 * time.Millisecond
		}
		c := code("extern int kill(int, int);" + test.instead)
		_, err := l.Try(t.Context(), c, margins, rule, limit)
		if _, crash := errors.AsType[*Crash](err); !crash || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if _, late := errors.AsType[*Late](err); late != (test.name == "hang") {
			t.Errorf("%s: late %v", test.name, late)
		}
		if _, err := l.Try(t.Context(), code(""), margins, rule, time.Hour); err != nil {
			t.Fatalf("after %s: %v", test.name, err)
		}
	}
}

// A compiler that hangs, or refuses a source, is the source's fault.
func TestCompilers(t *testing.T) {
	l, _ := lab(t)
	_, err := l.Compile(t.Context(), Text{Source: "int x = y;"})
	if verdict.Of(err) != verdict.Compiler {
		t.Errorf("%v", err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	hurried := Compilers(cache, 1)
	hurried.Limit = 300 * time.Millisecond
	l = openLab(t, "cpu", hurried)
	// Each level is twice the one before it.
	text := "#define A0 x+\n"
	for i := range 40 {
		text += fmt.Sprintf("#define A%d A%d A%d\n", i+1, i, i)
	}
	if _, err := l.Compile(t.Context(), Text{Source: text + "int f(int x) { return A40 1; }"}); verdict.Of(
		err) != verdict.Compiler {
		t.Errorf("%v", err)
	}
}

// A kernel that spoils the GPU's context costs the worker, and the next one
// runs in another.
func TestPoisonedContext(t *testing.T) {
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("no C++ compiler")
	}
	pretended = true
	if _, err := pretend(); err != nil {
		t.Fatal(err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	l := openLab(t, "cuda:0", Compilers(cache, 1))
	setting := doubled
	setting.Cells = nil
	if err := l.Arrange(t.Context(), setting); err != nil {
		t.Fatal(err)
	}
	code := func(name, statement string) Code {
		made, err := l.Compile(t.Context(), Text{Source: `extern "C" __global__ void ` + name +
			`(double *v, const double *u) { const int i = threadIdx.x; ` + statement + ` }`})
		if err != nil {
			t.Fatal(err)
		}
		return Code{
			Name: name, Image: made.Image, Kernels: []string{name}, To: 1,
			Use: Use{Reads: []bool{false, true}, Writes: []bool{true, false}},
			Launches: []runexec.Launch{{
				Args:     []runexec.Arg{{Kind: runexec.GridArg}, {Kind: runexec.GridArg, Index: 1}},
				Geometry: kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{cells, 1, 1}},
			}},
		}
	}
	good := code("twice", "v[i] = 2 * u[i];")
	if _, err := l.Expect(t.Context(), good, false); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Try(t.Context(), code("twice", "v[i] = u[i] + u[i];"), margins, rule, time.Hour); err != nil ||
		r.Agreement.Cells != cells || r.Condition == (session.Condition{}) {
		t.Errorf("%+v %v", r, err)
	}
	_, err = l.Try(t.Context(), code("wild_twice", "v[i] = 1;"), margins, rule, time.Hour)
	if _, crash := errors.AsType[*Crash](err); !crash || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("%v", err)
	}
	_, err = l.Try(t.Context(), code("hang_twice", "v[i] = 1;"), margins, rule, time.Second)
	if _, late := errors.AsType[*Late](err); !late {
		t.Errorf("%v", err)
	}
	if _, err := l.Try(t.Context(), good, margins, rule, time.Hour); err != nil {
		t.Errorf("after that: %v", err)
	}
	if _, err := l.Try(t.Context(), code("twice", "v[i] = 2 * u[i] + (i == 5);"), margins, rule,
		time.Hour); err == nil || !strings.Contains(err.Error(), "v[0][5], the first of 1 wrong cells,") {
		t.Errorf("%v", err)
	}
}

// When the user interrupts, nothing is waited for.
func TestInterrupt(t *testing.T) {
	l, code := lab(t)
	expected(t, l, code(""))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if _, err := l.Try(ctx, code("for (;;) sleep(1);"), margins, rule, time.Hour); err != why {
		t.Errorf("%v", err)
	}
}

// Code may leave a grid's contents in the memory of a spare, which holds poison before.
func TestSpares(t *testing.T) {
	l, code := lab(t)
	plain := code("")
	expected(t, l, plain)
	inSpare := func(instead string) Code {
		c := code(instead)
		args := slices.Clone(c.Launches[0].Args)
		args[0].Index = len(doubled.Grids)
		c.Launches[0].Args = args
		c.Spares, c.Holds = []int{0}, []int{2, 1}
		return c
	}
	for range 2 { // the spare is used again, and is poisoned again
		trial, err := l.Try(t.Context(), inSpare(""), margins, rule, time.Minute)
		if err != nil || trial.Agreement.Cells != cells {
			t.Fatalf("%+v, %v", trial, err)
		}
	}
	elsewhere := inSpare("")
	elsewhere.Holds = nil
	for name, c := range map[string]Code{
		"contents that are in a spare": elsewhere,
		"a cell that stays poisoned":   inSpare("for (int64_t i = 0; i < n - 1; i++) v[i] = 2 * u[i]; return;"),
	} {
		_, err := l.Try(t.Context(), c, margins, rule, time.Minute)
		if _, wrong := errors.AsType[*Mismatch](err); !wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
