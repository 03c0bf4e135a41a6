package worker

import (
	"fmt"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Death is the end of a worker that was still needed.
type Death struct {
	Signal syscall.Signal // that killed it, or 0
	Status int            // that it exited with, if no signal killed it
	Reason error          // why this process killed it, or nil
	Said   string         // the last of what it printed
}

// Error says how the worker ended.
func (d *Death) Error() string {
	var b strings.Builder
	switch {
	case d.Reason != nil:
		fmt.Fprintf(&b, "%v", d.Reason)
	case d.Signal != 0:
		b.WriteString(d.Cause())
	default:
		fmt.Fprintf(&b, "it ended with status %d", d.Status)
	}
	if said := strings.TrimSpace(d.Said); said != "" {
		b.WriteString("; it said:")
		for line := range strings.Lines(said) {
			b.WriteString("\n  " + strings.TrimRight(line, "\n"))
		}
	}
	return b.String()
}

// Unwrap returns the reason for which it was killed.
func (d *Death) Unwrap() error { return d.Reason }

// Cause puts a killing signal into words.
func (d *Death) Cause() string {
	name := unix.SignalName(d.Signal)
	switch d.Signal {
	case syscall.SIGSEGV:
		return "it touched memory that is not its own (" + name + ")"
	case syscall.SIGBUS:
		return "it touched memory that is not there (" + name + ")"
	case syscall.SIGILL:
		return "it met an instruction that this processor does not have (" + name + ")"
	case syscall.SIGFPE:
		return "it divided by zero (" + name + ")"
	case syscall.SIGABRT:
		return "it gave up (" + name + ")"
	case syscall.SIGKILL:
		return "something killed it, as the system does when memory runs out (" + name + ")"
	}
	return "it was ended by the signal " + name
}

// tail keeps the end of what is written to it.
type tail struct {
	mutex sync.Mutex
	text  []byte
	most  int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - t.most; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(t.text)
}
