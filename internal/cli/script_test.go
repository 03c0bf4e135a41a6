package cli

import (
	"errors"
	"flag"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// TestScripts runs the scripts of testdata/script. Besides the commands of
// package testscript and the programs of TestMain, they have
//
//	status N PROGRAM ARGS...   runs a program, which must end with status N
//
// the condition [root], and the variables EXAMPLES (the folder of the examples)
// and BIN (a folder that holds gridloom and no compiler).
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
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("BIN", filepath.Dir(gridloom))
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("CC", "")
			env.Setenv("OMP_WAIT_POLICY", "passive") // several scripts share the processors
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status},
	})
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
