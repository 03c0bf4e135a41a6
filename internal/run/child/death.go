package child

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Death is the end of a child that did not do what it was to do.
type Death struct {
	Signal syscall.Signal // that killed it, or 0
	Status int            // that it exited with, if no signal killed it
	Reason error          // why this process killed it, or nil
	Said   string         // what it printed, as far as that is kept
	Memory int64          // bytes that this process has allowed it; 0 if all that there is
}

// DeathOf describes the end of a process. The reason is why this process has
// killed it, or nil.
func DeathOf(s *os.ProcessState, reason error, said string) *Death {
	d := &Death{Reason: reason, Said: said}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		d.Signal = w.Signal()
	} else {
		d.Status = s.ExitCode()
	}
	return d
}

// Error says how the child ended, and what it said.
func (d *Death) Error() string {
	var b strings.Builder
	b.WriteString(d.Cause())
	if said := strings.TrimSpace(d.Said); said != "" && !d.traced() {
		b.WriteString("; it said:")
		for line := range strings.Lines(said) {
			b.WriteString("\n  " + strings.TrimRight(line, "\n"))
		}
	}
	return b.String()
}

// traced reports whether the child said nothing but what Go's runtime prints when
// it gets no memory or no thread, of which Cause has words.
func (d *Death) traced() bool {
	return (verdict.LacksMemory(d.Said) || verdict.LacksThreads(d.Said)) &&
		(strings.Contains(d.Said, "\nruntime stack:\n") || strings.Contains(d.Said, "\ngoroutine "))
}

// Unwrap returns the reason for which it was killed.
func (d *Death) Unwrap() error { return d.Reason }

// Transient reports whether the machine has ended the child, and not the child
// itself or this process: verdict.Of asks. Who meets the limit of memory that
// this process has set has needed too much.
func (d *Death) Transient() bool {
	switch {
	case d.Reason != nil:
		return false
	case fromOutside[d.Signal] != "":
		return true
	case d.Memory > 0 && verdict.LacksMemory(d.Said):
		return false
	}
	return verdict.Passing(d.Said)
}

// Cause says in one line how the child ended.
func (d *Death) Cause() string {
	switch {
	case d.Reason != nil:
		return d.Reason.Error()
	case d.Signal == 0 && d.Memory > 0 && verdict.LacksMemory(d.Said):
		return "it needed more memory than it may take"
	case d.Signal == 0 && verdict.LacksMemory(d.Said):
		return "it got no more memory: the machine has none left, or a limit is set (ulimit -v)"
	case d.Signal == 0 && verdict.LacksThreads(d.Said):
		return "it could start no more threads or processes: a limit is set (ulimit -u or -v, or that of the control group)"
	case d.Signal == 0:
		return fmt.Sprintf("it ended with status %d", d.Status)
	}
	name := unix.SignalName(d.Signal)
	for _, words := range []string{fromOutside[d.Signal], itsOwn[d.Signal]} {
		if words != "" {
			return words + " (" + name + ")"
		}
	}
	return "it was ended by the signal " + name
}

// Signals by which a process ends without a mistake of its own.
var fromOutside = map[syscall.Signal]string{
	syscall.SIGKILL: "something killed it, as the system does when memory runs out",
	syscall.SIGTERM: "something told it to end",
	syscall.SIGHUP:  "its terminal was closed",
	syscall.SIGINT:  "something interrupted it",
	syscall.SIGXCPU: "it took more time than a limit allows (ulimit -t)",
	syscall.SIGXFSZ: "it wrote a larger file than a limit allows (ulimit -f)",
}

// Signals by which a process ends for what it does.
var itsOwn = map[syscall.Signal]string{
	syscall.SIGSEGV: "it touched memory that is not its own",
	syscall.SIGBUS:  "it touched memory that is not there",
	syscall.SIGILL:  "it met an instruction that this processor does not have",
	syscall.SIGFPE:  "it divided by zero",
	syscall.SIGABRT: "it gave up",
}
