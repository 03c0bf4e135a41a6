package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("GRIDLOOM_TEST_ROLE"); role != "" {
		roles[role]()
		return
	}
	os.Exit(m.Run())
}

// roles are what this program does as a child of its tests.
var roles = map[string]func(){
	// parent runs a program whose child outlives it, and never ends.
	"parent": func() {
		Program{Path: "/bin/sh", Args: []string{"-c",
			`trap "" HUP TERM; (trap "" HUP TERM; echo $$; sleep 20; echo it lives) & wait`}}.parent()
	},
}

// parent starts the program as Run does, passes on what it prints, and waits.
func (p Program) parent() {
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout = os.Stdout
	line, err := newLifeline(cmd)
	if err == nil {
		err = Start(cmd)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	line.attach(cmd.Process.Pid)
	fmt.Println(cmd.Process.Pid)
	for {
		time.Sleep(time.Hour)
	}
}

// as is this test's program in a role.
func as(role string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "GRIDLOOM_TEST_ROLE="+role)
	return cmd
}

// A compiler's own processes end with the process that has started the compiler,
// also if that is killed and they ignore signals that can be ignored.
func TestNothingOutlivesItsParent(t *testing.T) {
	cmd := as("parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var family []int
	for len(family) < 2 && lines.Scan() {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		family = append(family, n)
	}
	if len(family) != 2 {
		t.Fatalf("only %v are there", family)
	}
	cmd.Process.Kill()
	// The pipe is closed when nobody of the family has it any more.
	for lines.Scan() {
		t.Error(lines.Text())
	}
	cmd.Wait()
}

func sh(text string) Program { return Program{Path: "/bin/sh", Args: []string{"-c", text}} }

// How a program ends decides whose fault that is.
func TestDeaths(t *testing.T) {
	for _, test := range []struct {
		program   Program
		want      string
		transient bool
	}{
		{sh("echo bad >&2; exit 3"), "it ended with status 3; it said:\n  bad", false},
		{sh("kill -KILL $$"), "something killed it, as the system does when memory runs out (SIGKILL)", true},
		{sh("kill -SEGV $$"), "it touched memory that is not its own (SIGSEGV)", false},
		{sh("echo 'x.s: No space left on device'; exit 1"),
			"it ended with status 1; it said:\n  x.s: No space left on device", true},
		{sh("echo 'cc: fatal error: Killed signal terminated program cc1'; exit 1"),
			"it ended with status 1; it said:\n  cc: fatal error: Killed signal terminated program cc1", true},
		{sh("echo 'virtual memory exhausted'; exit 1"),
			"it got no more memory: the machine has none left, or a limit is set (ulimit -v); it said:\n  virtual " +
				"memory exhausted", true},
		{Program{Path: "/bin/sh", Args: []string{"-c", "echo 'virtual memory exhausted'; exit 1"}, Memory: 8 << 30},
			"it needed more memory than it may take; it said:\n  virtual memory exhausted", false},
		{Program{Path: "/bin/sh", Args: []string{"-c", "ulimit -f 1; exec head -c 100000 /dev/zero > " +
			filepath.Join(t.TempDir(), "f")}}, "it wrote a larger file than a limit allows (ulimit -f) (SIGXFSZ)",
			true},
		{Program{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & wait"}, Time: 100 * time.Millisecond},
			"it was stopped after 100ms", false},
	} {
		_, err := test.program.Run(t.Context())
		d, ok := errors.AsType[*Death](err)
		if !ok || d.Error() != test.want || d.Transient() != test.transient {
			t.Errorf("%s: %v, transient %v; want %s", test.program.Args, err, ok && d.Transient(), test.want)
		}
		if got := verdict.Of(verdict.For(verdict.Compiler, err)) == verdict.Transient; got != test.transient {
			t.Errorf("%s: refused as transient: %v", test.program.Args, got)
		}
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := sh("sleep 1000").Run(ctx); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := (Program{Path: "/no/such/program"}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// The limit of memory holds for what a program starts, too: a line of so many
// zeros does not fit into tail.
func TestMemory(t *testing.T) {
	p := sh("head -c 1000000000 /dev/zero | tail; exit 1")
	p.Memory = 32 << 20
	_, err := p.Run(t.Context())
	d, ok := errors.AsType[*Death](err)
	if !ok || d.Memory != 32<<20 || d.Transient() || !verdict.LacksMemory(d.Said) {
		t.Errorf("%v", err)
	}
}

func TestOutput(t *testing.T) {
	for _, test := range []struct {
		first, last int
		pieces      []string
		want        string
	}{
		{3, 3, []string{"abc", "def"}, "abcdef"},
		{3, 3, []string{"a", "bcd", "efg"}, "abc\n... 1 bytes are left out ...\nefg"},
		{3, 3, []string{"abcdefghijk"}, "abc\n... 5 bytes are left out ...\nijk"},
		{0, 3, []string{"abcd", "e"}, "cde"},
		{3, 0, []string{"abcd", "e"}, "abc\n... 2 bytes are left out ...\n"},
	} {
		o := &Output{First: test.first, Last: test.last}
		for _, p := range test.pieces {
			if n, err := o.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := o.String(); got != test.want {
			t.Errorf("%q: %q, want %q", test.pieces, got, test.want)
		}
	}
	// A program that never stops talking costs no more than what is kept.
	said, err := sh("yes | head -c 3000000; exit 1").Run(t.Context())
	if err == nil || len(said) > keptFirst+keptLast+100 {
		t.Errorf("%d bytes are kept: %v", len(said), err == nil)
	}
}

// What Go's runtime prints when it gets no thread or no memory is put into words,
// without its trace.
func TestRuntimeTraces(t *testing.T) {
	const trace = "\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n\ngoroutine 1 [running]:\nmain.main()\n"
	for _, c := range []struct{ said, want string }{
		{
			"fatal error: runtime: cannot allocate memory" + trace,
			"it got no more memory: the machine has none left, or a limit is set (ulimit -v)",
		},
		{
			"runtime: failed to create new OS thread (have 5 already; errno=11)" + trace,
			"it could start no more threads or processes: a limit is set (ulimit -u or -v, or that of the control group)",
		},
		{
			"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.f()",
			"it ended with status 2; it said:\n" +
				"  panic: runtime error: index out of range\n  \n  goroutine 1 [running]:\n  main.f()",
		},
	} {
		said, want := c.said, c.want
		d := &Death{Status: 2, Said: said}
		if d.Error() != want || d.Transient() != !strings.Contains(said, "panic") {
			t.Errorf("%q, transient %v; want %q", d.Error(), d.Transient(), want)
		}
	}
}
