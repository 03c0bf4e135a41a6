package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// call runs the compiler in a folder and returns what it printed. The compiler
// and all that it started are killed at the deadline and when ctx ends.
func (c *Compiler) call(ctx context.Context, limit time.Duration, dir string, args ...string) (string, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was stopped after %v", limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.Path, slices.Concat(c.Args, args)...)
	cmd.Dir = dir
	// Messages in one language, so that they can be compared and searched for.
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The driver's own children (cc1, as, ld) die with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out.String(), &complaint{exit, out.String()}
	}
	return out.String(), err
}

// complaint is a compiler's exit with what it said.
type complaint struct {
	exit *exec.ExitError
	said string
}

func (e *complaint) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.said), "\n")
	if first == "" {
		return e.exit.Error()
	}
	return first
}

func (e *complaint) Unwrap() error { return e.exit }
