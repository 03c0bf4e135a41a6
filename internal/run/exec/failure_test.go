package exec

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/worker"
)

const misbehaving = `
parameter N = 16;
iterator i;
double u[N], v[N], w[N];
copyin u, w;
copyout v;
stencil fine (out, in) { out[i] = in[i] + 1; }
stencil bad (out, in) { out[i] = 2*in[i]; }
iterate 5 { fine (v, u); swap (u, v); }
bad (v, w);
fine (v, u);
`

// openBad opens the program with a second kernel that does what the C says.
func openBad(t *testing.T, c string, o Options) *Remote {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "bad.c"))
	if err != nil {
		t.Fatal(err)
	}
	o.Image = build(t, "#define MISBEHAVE "+c+"\n"+string(source))
	return openCPU(t, program(t, misbehaving), o)
}

func TestCrash(t *testing.T) {
	const failed = "kernel bad failed after 5 iterations: "
	for _, test := range []struct {
		c      string
		signal syscall.Signal
		want   string
	}{
		{"*(volatile double *)zero = 1", syscall.SIGSEGV, failed + "it touched memory that is not its own (SIGSEGV)"},
		{"in[0] = 1", syscall.SIGSEGV, failed + "it touched memory that is not its own (SIGSEGV)"},
		{"out[n << 30] = 1", syscall.SIGSEGV, failed + "it touched memory that is not its own (SIGSEGV)"},
		{"raise(SIGFPE)", syscall.SIGFPE, failed + "it divided by zero (SIGFPE)"},
		{`fputs("double free\n", stderr); abort()`, syscall.SIGABRT, failed +
			"it gave up (SIGABRT); it said:\n  double free"},
		{"exit(7)", 0, failed + "it ended with status 7"},
	} {
		r := openBad(t, test.c, Options{})
		p, err := r.Advance(t.Context(), Limit{Iterations: 5})
		if err != nil || p.Iterations != 5 {
			t.Fatalf("%s: %+v, %v", test.c, p, err)
		}
		_, err = r.Advance(t.Context(), Limit{})
		f, ok := errors.AsType[*Failure](err)
		if !ok || err.Error() != test.want || f.Kernel != "bad" || f.Call != "bad" || f.Iterations != 5 {
			t.Errorf("%s: %v\nwant %s", test.c, err, test.want)
			continue
		}
		if d, ok := errors.AsType[*worker.Death](err); !ok || d.Signal != test.signal {
			t.Errorf("%s: %#v", test.c, d)
		}
		// What is left is an error, not a crash of this process.
		if _, again := r.Grid("v"); again != err {
			t.Errorf("%s: Grid says %v", test.c, again)
		}
		if _, again := r.Advance(t.Context(), Limit{}); again != err {
			t.Errorf("%s: Advance says %v", test.c, again)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: Close says %v", test.c, err)
		}
	}
}

func TestHang(t *testing.T) {
	r := openBad(t, "for (;;) zero++", Options{Deadline: 50 * time.Millisecond})
	_, err := r.Advance(t.Context(), Limit{})
	if want := "kernel bad failed after 5 iterations: it took longer than 50ms"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A deadline is for one launch, not for many.
func TestDeadlineIsForALaunch(t *testing.T) {
	b := program(t, heat, "T=1000000")
	r := initialised(t, openCPU(t, b, Options{Deadline: 500 * time.Millisecond}))
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if p, err := r.Advance(ctx, Limit{}); err != nil || !p.Stopped && !p.Finished {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestInterruptOfAHang(t *testing.T) {
	r := openBad(t, "for (;;) zero++", Options{Patience: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for running := ""; running != "bad"; running, _, _ = r.status.what(r.script) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := r.Advance(ctx, Limit{})
	if want := "kernel bad failed after 5 iterations: it was interrupted, and did not stop within 50ms"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestOpenRefuses(t *testing.T) {
	b := program(t, heat)
	m := module(t, b)
	open := func(o Options) error {
		r, err := Open(t.Context(), m, b, o)
		if err == nil {
			r.Close()
		}
		return err
	}
	nothing := build(t, "int gl_unused;\n")
	for _, test := range []struct {
		o    Options
		want string // how it begins
	}{
		{Options{Device: "cpu", Image: "/no/such.so"}, "the compiled code cannot be loaded: /no/such.so: "},
		{Options{Device: "cpu", Image: nothing}, "the compiled code has no kernel heat: "},
		{Options{Device: "abacus", Image: nothing}, "there is no device abacus"},
	} {
		if err := open(test.o); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// Code that hangs as it is loaded can be interrupted, too.
func TestInterruptWhileLoading(t *testing.T) {
	b := program(t, heat)
	image := build(t, "__attribute__((constructor)) static void f(void) { for (;;) ; }\nvoid gl_heat(void **args) {}\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if _, err := Open(ctx, module(t, b), b, Options{Device: "cpu", Image: image,
		Patience: 50 * time.Millisecond}); err != why {
		t.Error(err)
	}
}

// small is a machine with 20,000 free bytes.
func small(t *testing.T) memory.System {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc", "meminfo"), []byte("MemAvailable: 20 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return memory.System(root)
}

func TestTooLarge(t *testing.T) {
	system := small(t)
	for _, test := range []struct {
		size    string
		private bool
		want    string
	}{
		{"N=30", false, ""},
		{"N=30", true,
			"this needs 28.6 KiB of memory (u 14.1 KiB, next 14.1 KiB, mask 480 bytes), but only 20.0 KiB is free"},
		{"N=40000", false,
			"this needs 23.8 GiB of memory (u 11.9 GiB, next 11.9 GiB, mask 312.5 KiB), but only 20.0 KiB is free"},
	} {
		b := program(t, heat, test.size)
		m := module(t, b)
		r, err := Open(t.Context(), m, b, Options{Device: "cpu", Image: build(t, "void gl_heat(void **args) {}\n"),
			Private: test.private, System: system})
		if err == nil {
			r.Close()
		}
		if got := message(err); got != test.want {
			t.Errorf("%s: %s\nwant %s", test.size, got, test.want)
		}
	}
	_, err := OpenReference(program(t, heat, "N=40000"), ReferenceOptions{System: system})
	if _, ok := errors.AsType[*memory.Shortage](err); !ok {
		t.Errorf("the reference says %v", err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Modules that contradict themselves are refused before anything is started.
func TestScriptRefuses(t *testing.T) {
	b := program(t, relax)
	grid := func(name string) kernel.Arg { return kernel.GridArg{Grid: b.Program.Grid(name)} }
	const where = "call count: kernel count: "
	for _, test := range []struct {
		change func(m *kernel.Module, l *kernel.Launch)
		want   string
	}{
		{func(*kernel.Module, *kernel.Launch) {}, ""},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args = l.Args[1:] }, where +
			"3 arguments for 2 buffers and 2 scalars"},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args[0] = kernel.StepArg{} }, where +
			"the buffer seen is bound to a kernel.StepArg"},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args[2] = grid("a") }, where +
			"the scalar N is bound to a kernel.GridArg"},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args[0] = grid("a") }, where +
			"seen has elements of type i32, and what it is bound to has f32"},
		{func(_ *kernel.Module, l *kernel.Launch) {
			l.Args[0] = kernel.GridArg{Grid: &ir.Grid{Type: types.I32}}
		}, where + "seen is bound to what the module does not have"},
		{func(_ *kernel.Module, l *kernel.Launch) {
			l.Args[0] = kernel.CellArg{Scalar: &ir.Scalar{Name: "x", Type: types.I32}}
		}, where + "seen is bound to the scalar x, which nothing reduces into"},
		{func(_ *kernel.Module, l *kernel.Launch) {
			l.Args[2] = kernel.ScalarArg{Scalar: b.Program.Scalar("rounds")}
		}, where + "N is bound to the value of rounds, which changes while the program runs"},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args[2] = kernel.StepArg{} }, where +
			"N has type i64, and the step has i32"},
		{func(_ *kernel.Module, l *kernel.Launch) { l.Args[3] = kernel.SizeArg{} }, where +
			"step has type i32, and what it is bound to has i64"},
		{func(m *kernel.Module, l *kernel.Launch) {
			m.Scratch[0].Cells = kernel.I(-1)
		}, "scratch " + module(t, b).Scratch[0].Name + " has -1 cells"},
	} {
		m := module(t, b)
		var first *kernel.Launch
		for _, s := range b.Program.Calls {
			if s.Name == "count" {
				first = m.Calls[s][0]
			}
		}
		test.change(m, first)
		if _, err := NewScript(m, b); message(err) != test.want {
			t.Errorf("%s\nwant %s", message(err), test.want)
		}
	}
}
