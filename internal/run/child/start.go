package child

import (
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
	return <-started
}

var (
	begin  sync.Once
	starts = make(chan func())
)
