package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Program is a program to run, with limits for it and all that it starts.
type Program struct {
	Path   string
	Args   []string // after its name
	Dir    string   // to run in; "" is this process's
	Env    []string // besides this process's own, "NAME=value"
	Stdin  io.Reader
	Stdout io.Writer // takes the standard output, apart from what Run returns; nil for none
	Time   time.Duration
	Memory int64 // bytes of address space of each process; 0 is no limit but the user's
}

// Bytes that are kept of what a program prints: its first complaints, and its
// last words.
const (
	keptFirst = 48 << 10
	keptLast  = 16 << 10
)

// Run runs a program to its end and returns what it printed. An error is a
// *Death if the program was started. It is killed, with all that it has
// started, at its limit of time, when ctx ends, and when this process ends.
func (p Program) Run(ctx context.Context) (string, error) {
	if p.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.Time, fmt.Errorf("it was stopped after %v", p.Time))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Dir, cmd.Env = p.Dir, append(os.Environ(), p.Env...)
	out := &Output{First: keptFirst, Last: keptLast}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, out, out
	if p.Stdout != nil {
		cmd.Stdout = p.Stdout
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for what it has started that keeps its output open
	line, err := newLifeline(cmd)
	if err != nil {
		return "", err
	}
	defer line.release()
	if err := Start(cmd); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", err
	}
	line.attach(cmd.Process.Pid)
	limited := p.Memory > 0 && limitMemory(cmd.Process.Pid, p.Memory)
	err = cmd.Wait()
	if err == nil {
		return out.String(), nil
	}
	if _, ok := errors.AsType[*exec.ExitError](err); !ok && ctx.Err() == nil {
		return out.String(), err
	}
	d := DeathOf(cmd.ProcessState, context.Cause(ctx), out.String())
	if limited {
		d.Memory = p.Memory
	}
	return d.Said, d
}
