package measure

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	runexec "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// A profiler enters the process that it starts, by LD_PRELOAD, and no child of that. So it sees what a worker launches
// if it has started the worker itself: of each call the timed launches, once.
func TestProfile(t *testing.T) {
	if _, err := exec.LookPath("c++"); err != nil {
		t.Skip("no C++ compiler")
	}
	pretended = true
	if _, err := pretend(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := cudatest.InstallProfiler(dir); err != nil {
		t.Fatal(err)
	}
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	at, err := target.Open("cuda:0", target.Options{Arithmetic: arith.Contract,
		CompilerOptions: Compilers(cache, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(at.Close)
	log := filepath.Join(dir, "log")
	ncu := []string{filepath.Join(dir, "ncu"), "--profile-from-start", "off", "--log-file", log, "--metrics", "a,b"}
	profiled := func(command ...string) (string, error) {
		t.Helper()
		l, err := OpenProfiled(t.Context(), at, command)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		setting := doubled
		setting.Cells = nil
		if err := l.Arrange(t.Context(), setting); err != nil {
			return "", err
		}
		made, err := l.Compile(t.Context(), Text{Source: `
extern "C" __global__ void before(double *v, const double *u) { v[threadIdx.x] = u[threadIdx.x]; }
extern "C" __global__ void timed(double *v, const double *u) { v[threadIdx.x] += u[threadIdx.x]; }`})
		if err != nil {
			t.Fatal(err)
		}
		args := []runexec.Arg{{Kind: runexec.GridArg}, {Kind: runexec.GridArg, Index: 1}}
		one := kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{cells, 1, 1}}
		c := Code{
			Name: "timed", Image: made.Image, Kernels: []string{"before", "timed"}, From: 1, To: 2,
			Use:      Use{Reads: []bool{false, true}, Writes: []bool{true, false}},
			Launches: []runexec.Launch{{Kernel: 0, Args: args, Geometry: one}, {Kernel: 1, Args: args, Geometry: one}},
		}
		for range 2 {
			if err := l.Profile(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		c.From, c.To = 0, 1
		if err := l.Profile(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		l.Close()
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var kernels []string
		for line := range strings.Lines(string(text)) {
			if fields := strings.Split(line, `"`); len(fields) > 3 && fields[1] != "" && fields[1] != "ID" {
				kernels = append(kernels, fields[3])
			}
		}
		return strings.Join(kernels, " "), nil
	}
	if got, err := profiled(ncu...); got != "timed timed before" || err != nil {
		t.Errorf("%q are seen, %v", got, err)
	}
	// A program that Go starts in between is the one that the profiler is in.
	between := append(ncu, os.Args[0], betweenWord)
	if got, err := profiled(between...); got != "" || err != nil {
		t.Errorf("%q are seen in a child, %v", got, err)
	}
	if _, err := profiled("/bin/sh", "-c", "echo not allowed; exit 3"); err == nil ||
		!strings.Contains(err.Error(), "not allowed") {
		t.Errorf("%v", err)
	}
}

// betweenWord is the first argument of a process that only starts another one, as Go does.
const betweenWord = "between"

// between starts a program in this process's place, if it is to.
func between() {
	if len(os.Args) < 3 || os.Args[1] != betweenWord {
		return
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if cmd.Run() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
