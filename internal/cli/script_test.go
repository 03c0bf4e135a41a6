package cli

import (
	"errors"
	"flag"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// TestScripts runs the scripts of testdata/script. Besides the commands of
// package testscript and the programs of TestMain, they have
//
//	status N PROGRAM ARGS...   runs a program, which must end with status N
//
//	disk FOLDER                mounts a disk of 192 KiB until the script ends
//
// the conditions [root], [tmpfs] (disks can be mounted), [gpu] (there is a
// pretended one) and [opencl] (there is a device), and the variables EXAMPLES (the folder of the examples), BIN
// (a folder that holds gridloom and no compiler), PRETENDED (the pretended
// GPU's driver, compiler and management library) and PROFILER (a folder that holds a pretended ncu).
func TestScripts(t *testing.T) {
	if _, err := osexec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler")
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	gridloom, err := osexec.LookPath("gridloom")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir() // of compiled code, for all scripts
	pretended, dir := pretendGPU(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("BIN", filepath.Dir(gridloom))
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("PRETENDED", pretended)
			env.Setenv("CUDATEST_DIR", dir)
			env.Setenv("PROFILER", dir)
			env.Setenv("CC", "")
			env.Setenv("OMP_WAIT_POLICY", "passive") // several scripts share the processors
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "gpu":
				return pretended != "", nil
			case "opencl":
				_, err := opencl.Devices()
				return err == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "tmpfs":
				dir := t.TempDir()
				if mount(dir) != nil {
					return false, nil
				}
				return true, syscall.Unmount(dir, 0)
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "disk": smallDisk},
	})
}

// pretendGPU makes the pretended GPU, for those scripts that want it.
func pretendGPU(t *testing.T) (library, dir string) {
	remove, err := cudatest.Install()
	if err != nil {
		t.Logf("no pretended GPU: %v", err)
		return "", ""
	}
	library, dir = os.Getenv("GRIDLOOM_LIBCUDA"), os.Getenv("CUDATEST_DIR")
	if err := cudatest.InstallProfiler(dir); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"GRIDLOOM_LIBCUDA", "GRIDLOOM_NVRTC", "GRIDLOOM_NVML", "CUDATEST_DIR"} {
		os.Unsetenv(env)
	}
	t.Cleanup(remove)
	return library, dir
}

func mount(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=192k")
}

// smallDisk mounts a small disk.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: disk FOLDER")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o777))
	ts.Check(mount(dir))
	ts.Defer(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// status runs a program and checks what it ends with.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *osexec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ends with status %d, want %d", args[1], got, want)
	}
}
