package cli

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leaving is an interruption whose time is the test's.
type leaving struct {
	*interruption
	ctx   context.Context
	clock chan time.Time
	left  chan struct{}
}

func newLeaving() *leaving {
	ctx, cancel := context.WithCancel(context.Background())
	l := &leaving{ctx: ctx, clock: make(chan time.Time), left: make(chan struct{})}
	l.interruption = &interruption{
		signals: make(chan os.Signal, 4), ended: make(chan struct{}), cancel: cancel,
		after: func(time.Duration) <-chan time.Time { return l.clock },
		leave: func() { close(l.left); select {} },
	}
	go l.listen()
	return l
}

func (l *leaving) gone() bool {
	select {
	case <-l.left:
		return true
	default:
		return false
	}
}

func TestInterruption(t *testing.T) {
	for _, c := range []struct {
		name    string
		signal  os.Signal
		hold    bool // something has to be finished
		patient bool // something that a user waits for goes on
		ends    bool // with the time of grace
	}{
		{"terminated", syscall.SIGTERM, false, false, true},
		{"interrupted", os.Interrupt, false, false, true},
		{"terminated while a state is saved", syscall.SIGTERM, true, false, false},
		{"interrupted while a state is saved", os.Interrupt, true, false, false},
		{"terminated while finalists are timed", syscall.SIGTERM, false, true, true},
		{"interrupted while finalists are timed", os.Interrupt, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLeaving()
			if c.patient {
				l.wait()
			}
			body := func() error {
				l.signals <- c.signal
				<-l.ctx.Done()
				if l.gone() {
					t.Fatal("the first signal leaves no time")
				}
				l.clock <- time.Time{}
				if c.ends {
					<-l.left
					return nil
				}
				l.clock <- time.Time{} // it has looked and waits again
				if l.gone() {
					t.Fatal("it did not wait")
				}
				return nil
			}
			if c.hold {
				l.hold(body)
			} else {
				body()
			}
			if c.hold {
				l.clock <- time.Time{} // what had to be finished is
				<-l.left
			} else if !c.ends {
				l.signals <- os.Interrupt
				<-l.left
			}
		})
	}
}

// A second signal ends the process whatever is held.
func TestSecondSignal(t *testing.T) {
	l := newLeaving()
	l.hold(func() error {
		l.signals <- syscall.SIGTERM
		l.signals <- syscall.SIGTERM
		<-l.left
		return nil
	})
}

// A command that has ended by itself is not ended once more.
func TestNoInterruption(t *testing.T) {
	l := newLeaving()
	l.stop()
	<-l.ctx.Done()
	if l.gone() {
		t.Fatal("it left")
	}
}

// begun starts a command and returns once it has opened the FIFO that is its
// input, from which nothing will ever come.
func begun(t *testing.T, fifo string, args ...string) (cmd *osexec.Cmd, wait func() error) {
	t.Helper()
	gridloom, err := osexec.LookPath("gridloom")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = osexec.Command(gridloom, args...)
	dir := filepath.Dir(fifo)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "GRIDLOOM_STORE="+filepath.Join(dir, "store.db"))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	opened := make(chan *os.File, 1)
	go func() {
		f, _ := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for who reads
		opened <- f
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		select {
		case f := <-opened:
			f.Close()
		default:
		}
	})
	go func() {
		exited <- cmd.Wait()
		if r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // nobody waits for ever
			r.Close()
		}
	}()
	select {
	case f := <-opened:
		t.Cleanup(func() { f.Close() })
	case err := <-exited:
		t.Fatalf("%q ended before it read anything: %v\n%s", args, err, said.String())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%q says %s", args, said.String())
		}
	})
	return cmd, func() error { return <-exited }
}

// Every command that reads what never comes ends by SIGTERM, and by Ctrl-C, with
// the status that says so, and leaves nothing behind.
func TestEveryCommandEnds(t *testing.T) {
	const source = "parameter N=8; iterator i; double u[N]; boundary u : clamp; copyin u; copyout u;\n" +
		"stencil s (u) { u[i] += 1; }\ns (u);\n"
	type running struct {
		args []string
		sent syscall.Signal
		dir  string
		cmd  *osexec.Cmd
		wait func() error
	}
	var all []running
	for _, args := range [][]string{
		{"check", "FIFO"}, {"fmt", "-w", "FIFO"}, {"explain", "FIFO"}, {"space", "FIFO"},
		{"run", "FIFO", "--out", "u=out.npy"}, {"emit", "FIFO", "--out", "lib"},
		{"tune", "FIFO", "--out", "tuned"}, {"report", "FIFO", "--out", "page.html"},
		{"results", "import", "FIFO"}, {"search", "eval", "--space", "FIFO", "--out", "scores.json"},
		{"explain", "a.loom", "--machine", "FIFO"}, {"space", "a.loom", "--space", "FIFO"},
		{"predict", "FIFO"}, {"predict", "a.loom", "--model", "FIFO"}, {"features", "FIFO"},
		{"learn", "--recordings", ".", "--out", "m.json.gz"}, // reads FIFO.jsonl.gz
		{"record", "lift", "--device", "cpu", "--recordings", ".", "--likely", "2", "--model", "FIFO"},
		{"run", "a.loom", "--plan", "@FIFO"}, {"tune", "a.loom", "--strategy", "FIFO.spec"},
	} {
		for _, sent := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.loom"), []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			fifo := filepath.Join(dir, "FIFO")
			switch {
			case strings.HasSuffix(args[len(args)-1], ".spec"):
				fifo += ".spec"
			case args[0] == "learn":
				fifo += ".jsonl.gz"
			}
			cmd, wait := begun(t, fifo, args...)
			all = append(all, running{args, sent, dir, cmd, wait})
		}
	}
	for _, r := range all {
		r.cmd.Process.Signal(r.sent)
	}
	for _, r := range all {
		r.wait()
		if status := r.cmd.ProcessState.ExitCode(); status != exitInterrupted {
			t.Errorf("%q ends by %v with status %d, want %d", r.args, r.sent, status, exitInterrupted)
		}
		left, err := os.ReadDir(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range left {
			name := e.Name()
			ours := name == "a.loom" || name == "gridloom" || strings.HasPrefix(name, "store.db")
			reserved := r.args[0] == "record" && name == r.args[1] // the folder of its suite, before any work
			if !ours && !reserved && !strings.HasPrefix(name, "FIFO") {
				t.Errorf("%q leaves %s", r.args, name)
			}
		}
	}
}

// So does one whose results nobody takes.
func TestFullPipeEnds(t *testing.T) {
	t.Parallel()
	gridloom, err := osexec.LookPath("gridloom")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "a.loom")
	text := "parameter N = 8;\n" + strings.Repeat("// nobody reads this\n", 40_000)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(gridloom, "fmt", source)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	state, err := cmd.Process.Wait() // the pipe stays open, and full
	if err != nil || state.ExitCode() != exitInterrupted {
		t.Errorf("%v, %v", state, err)
	}
}
