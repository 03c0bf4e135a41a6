package child

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a command that the system kills when this process ends. The
// system watches the thread that has started the child, not the process: so
// one thread, which lives as long as the process, starts all children.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	begin.Do(func() {
		go func() {
			runtime.LockOSThread()
			for start := range starts {
				start()
			}
		}()
	})
	started := make(chan error)
	starts <- func() { started <- cmd.Start() }
	err := <-started
	if errors.Is(err, syscall.EAGAIN) {
		err = fmt.Errorf(
			"no more processes can be started: a limit is reached (ulimit -u, or that of the control group): %w", err)
	}
	return err
}

var (
	begin  sync.Once
	starts = make(chan func())
)
