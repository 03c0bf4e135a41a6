package worker

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/memory"
)

func TestMain(m *testing.M) {
	// Processes with the race detector would take a second to leave.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	Main(
		Service{"echo", echo},
		Service{"die", die},
		Service{"stuck", stuck},
		Service{"shared", shared},
		Service{"parent", parent},
		Service{"fail", func(*Link) error { return errors.New("the service has failed") }},
	)
	os.Exit(m.Run())
}

type message struct {
	Text  string
	Float float64
	Bytes []byte
}

func echo(l *Link) error {
	for {
		var m message
		if err := l.Receive(&m); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		m.Text += "!"
		if err := l.Send(m); err != nil {
			return err
		}
	}
}

func start(t *testing.T, service string, o Options) *Process {
	t.Helper()
	p, err := Start(service, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestEcho(t *testing.T) {
	p := start(t, "echo", Options{})
	for i, f := range []float64{0.1, math.Inf(-1), math.NaN()} {
		sent := message{strconv.Itoa(i), f, make([]byte, 100_000)}
		if err := p.Send(sent); err != nil {
			t.Fatal(err)
		}
		var got message
		if err := p.Receive(&got); err != nil {
			t.Fatal(err)
		}
		if got.Text != sent.Text+"!" || math.Float64bits(got.Float) != math.Float64bits(f) ||
			len(got.Bytes) != len(sent.Bytes) {
			t.Errorf("%s %g and %d bytes became %s %g and %d bytes", sent.Text, f, len(sent.Bytes), got.Text, got.Float,
				len(got.Bytes))
		}
	}
	p.Close()
	if d := p.death(); d.Status != 0 || d.Signal != 0 || d.Reason != nil || d.Said != "" {
		t.Errorf("after Close: %v", d)
	}
}

// Another program can start the worker: it sees a process that it has started itself. The worker leaves when it is
// asked to, and the program ends after it.
func TestUnder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := start(t, "echo", Options{Under: []string{"/bin/sh", "-c", `MARK=x "$@" & echo $!; wait; echo after`, "sh"}})
	for _, text := range []string{"one", strings.Repeat("long", 100_000)} {
		if err := p.Send(message{Text: text}); err != nil {
			t.Fatal(err)
		}
		var got message
		if err := p.Receive(&got); err != nil || got.Text != text+"!" {
			t.Fatalf("%.20s, %v", got.Text, err)
		}
	}
	p.Close()
	d := p.death()
	if d.Status != 0 || d.Reason != nil || !strings.HasSuffix(d.Said, "after\n") {
		t.Errorf("after Close: %v", d)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A program that ends without its worker, and one whose worker ends, are deaths.
func TestUnderDeath(t *testing.T) {
	for _, test := range []struct{ script, how, want string }{
		{"echo no permission; exit 4", "exit", "it ended with status 4; it said:\n  no permission"},
		{`"$@"; echo the end; exit 5`, "exit",
			"it ended with status 5; it said:\n  about to\n  leave\n  the end"},
		{"exit 6", strings.Repeat("more than a pipe holds", 10_000), "it ended with status 6"},
	} {
		p := start(t, "die", Options{Under: []string{"/bin/sh", "-c", test.script, "sh"}})
		p.Send(test.how) // whatever becomes of it
		var nothing string
		if err := p.Receive(&nothing); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v\nwant %s", test.script, err, test.want)
		}
	}
	p := start(t, "stuck", Options{Under: []string{"/bin/sh", "-c", `"$@"; exit 0`, "sh"}})
	var word string
	if err := p.Receive(&word); err != nil || word != "here" {
		t.Fatal(word, err)
	}
	late := errors.New("it took too long")
	p.Kill(late)
	if err := p.Receive(&word); !errors.Is(err, late) {
		t.Error(err)
	}
	if _, err := Start("echo", Options{Under: []string{"/bin/sh"}, Files: []*os.File{os.Stdin}}); err == nil {
		t.Error("files are handed down")
	}
	if _, err := Start("echo", Options{Under: []string{"/no/such/program"}}); err == nil {
		t.Error("a program that is not there starts a worker")
	}
}

func TestSendersAtOnce(t *testing.T) {
	p := start(t, "echo", Options{})
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := p.Send(message{Text: strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	seen := map[string]bool{}
	for range n {
		var got message
		if err := p.Receive(&got); err != nil {
			t.Fatal(err)
		}
		seen[got.Text] = true
	}
	wg.Wait()
	if len(seen) != n {
		t.Errorf("%d of %d came back", len(seen), n)
	}
}

// wait never returns.
func wait() error {
	for {
		time.Sleep(time.Hour)
	}
}

// die ends in the way that it is asked to.
func die(l *Link) error {
	var how string
	if err := l.Receive(&how); err != nil {
		return err
	}
	if how == "exit" {
		fmt.Println("about to")
		fmt.Fprintln(os.Stderr, "leave")
		os.Exit(3)
	}
	if how == "talk" {
		fmt.Print(strings.Repeat("blah ", 10_000), "the end\n")
		os.Exit(4)
	}
	if err := ExposeFaults(); err != nil {
		return err
	}
	n, err := strconv.Atoi(how)
	if err != nil {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.Signal(n)); err != nil {
		return err
	}
	return wait()
}

func TestDeath(t *testing.T) {
	signal := func(s syscall.Signal) string { return strconv.Itoa(int(s)) }
	for _, test := range []struct{ how, want string }{
		{"exit", "it ended with status 3; it said:\n  about to\n  leave"},
		{signal(syscall.SIGSEGV), "it touched memory that is not its own (SIGSEGV)"},
		{signal(syscall.SIGBUS), "it touched memory that is not there (SIGBUS)"},
		{signal(syscall.SIGILL), "it met an instruction that this processor does not have (SIGILL)"},
		{signal(syscall.SIGFPE), "it divided by zero (SIGFPE)"},
		{signal(syscall.SIGABRT), "it gave up (SIGABRT)"},
		{signal(syscall.SIGKILL), "something killed it, as the system does when memory runs out (SIGKILL)"},
	} {
		p := start(t, "die", Options{})
		if err := p.Send(test.how); err != nil {
			t.Fatal(err)
		}
		var nothing string
		err := p.Receive(&nothing)
		if _, ok := errors.AsType[*Death](err); !ok || err.Error() != test.want {
			t.Errorf("%s: %v\nwant %s", test.how, err, test.want)
		}
		if err := p.Receive(&nothing); err == nil || err.Error() != test.want {
			t.Errorf("%s, asked again: %v", test.how, err)
		}
	}
}

func TestOnlyTheEndsAreKept(t *testing.T) {
	p := start(t, "die", Options{})
	if err := p.Send("talk"); err != nil {
		t.Fatal(err)
	}
	var nothing string
	d, ok := errors.AsType[*Death](p.Receive(&nothing))
	if !ok || len(d.Said) < 8<<10 || len(d.Said) > 8<<10+100 || !strings.HasPrefix(d.Said, "blah blah") ||
		!strings.HasSuffix(d.Said, "blah the end\n") {
		t.Errorf("%d bytes are kept", len(d.Said))
	}
}

func TestServiceError(t *testing.T) {
	p := start(t, "fail", Options{})
	var nothing string
	if err := p.Receive(&nothing); err == nil ||
		err.Error() != "it ended with status 1; it said:\n  the service has failed" {
		t.Error(err)
	}
}

func TestUnknownService(t *testing.T) {
	p := start(t, "unheard-of", Options{})
	var nothing string
	if err := p.Receive(&nothing); err == nil ||
		err.Error() != "it ended with status 1; it said:\n  __worker is for processes that this program starts itself" {
		t.Error(err)
	}
}

// The hidden argument is of no use to a person.
func TestStartedByHand(t *testing.T) {
	for _, args := range [][]string{{Word}, {Word, "echo"}, {Word, "echo", "x"}, {Word, "x", "y", "z"}} {
		out, err := exec.Command("/proc/self/exe", args...).CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 1 || string(out) != "__worker is for processes that this program starts itself\n" {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}

// stuck answers once and then neither answers nor leaves.
func stuck(l *Link) error {
	if err := l.Send("here"); err != nil {
		return err
	}
	return wait()
}

func TestKill(t *testing.T) {
	p := start(t, "stuck", Options{})
	var word string
	if err := p.Receive(&word); err != nil || word != "here" {
		t.Fatal(word, err)
	}
	late := errors.New("it took too long")
	time.AfterFunc(10*time.Millisecond, func() { p.Kill(late); p.Kill(errors.New("another reason")) })
	err := p.Receive(&word)
	d, ok := errors.AsType[*Death](err)
	if !ok || !errors.Is(err, late) || d.Signal != syscall.SIGKILL || err.Error() != "it took too long" {
		t.Errorf("%#v", err)
	}
	p.Kill(errors.New("too late"))
	if err := p.Receive(&word); !errors.Is(err, late) {
		t.Error(err)
	}
}

// Ctrl-C in a terminal reaches the worker, too, and is not for it.
func TestInterruptIsIgnored(t *testing.T) {
	p := start(t, "echo", Options{})
	for range 2 {
		if err := p.Send(message{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		var got message
		if err := p.Receive(&got); err != nil || got.Text != "hello!" {
			t.Fatal(got, err)
		}
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
}

// shared adds up the bytes of its files, and changes the first of each.
func shared(l *Link) error {
	for _, f := range l.Files {
		r, err := memory.Open(f, 4096)
		if err != nil {
			return err
		}
		sum := 0
		for _, b := range r.Bytes() {
			sum += int(b)
		}
		r.Bytes()[0] = 99
		if err := l.Send(sum); err != nil {
			return err
		}
	}
	return l.Send(os.Getenv("GRIDLOOM_TEST"))
}

func TestSharedFilesAndEnvironment(t *testing.T) {
	var files []*os.File
	var regions []*memory.Region
	for i := range 3 {
		r, err := memory.New("test", 4096)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Bytes()[4095] = byte(10 + i)
		regions, files = append(regions, r), append(files, r.File())
	}
	p := start(t, "shared", Options{Files: files, Env: []string{"GRIDLOOM_TEST=set"}})
	for i, r := range regions {
		var sum int
		if err := p.Receive(&sum); err != nil || sum != 10+i || r.Bytes()[0] != 99 {
			t.Errorf("file %d: %d, %v, %d", i, sum, err, r.Bytes()[0])
		}
	}
	var env string
	if err := p.Receive(&env); err != nil || env != "set" {
		t.Error(env, err)
	}
}

// parent starts a worker of its own that listens to nobody, says which process
// it is, and waits.
func parent(l *Link) error {
	p, err := Start("stuck", Options{})
	if err != nil {
		return err
	}
	var here string
	if err := p.Receive(&here); err != nil {
		return err
	}
	if err := l.Send(p.cmd.Process.Pid); err != nil {
		return err
	}
	return wait()
}

func TestWorkersEndWithTheirParent(t *testing.T) {
	p := start(t, "parent", Options{})
	var child int
	if err := p.Receive(&child); err != nil {
		t.Fatal(err)
	}
	p.Kill(errors.New("test"))
	for range 500 {
		// A process that nobody waits for stays as a zombie.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the worker's worker lives on")
}

func TestNotReady(t *testing.T) {
	ready.Store(false)
	defer ready.Store(true)
	if _, err := Start("echo", Options{}); err == nil ||
		err.Error() != "this program cannot start worker processes: it has to call gridloom.WorkerMain first thing "+
			"in main, and in TestMain" {
		t.Error(err)
	}
}
