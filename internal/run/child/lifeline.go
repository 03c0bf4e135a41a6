package child

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// lifeline ends a process group with this process. It is for children that start children of their own, as compilers
// do: the system's signal at a parent's death reaches only the first of them. All of them inherit the reading end of
// a pipe whose writing end this process alone holds. The system kills the process group when that end is closed,
// which it is when this process dies.
type lifeline struct{ read, write *os.File }

// fSetSig is the fcntl command that chooses the signal for events of a file. Package unix does not name it.
const fSetSig = 10

// newLifeline makes a lifeline for a command that is not started yet.
func newLifeline(cmd *exec.Cmd) (*lifeline, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	l := &lifeline{os.NewFile(uintptr(ends[0]), "lifeline"), os.NewFile(uintptr(ends[1]), "lifeline")}
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.read)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return l, nil
}

// attach names the process group, once the command runs. Where the system does not support it, the group's first
// process is still killed.
func (l *lifeline) attach(group int) {
	defer l.read.Close()
	fd := l.read.Fd()
	if _, err := unix.FcntlInt(fd, unix.F_SETOWN, -group); err != nil {
		return
	}
	if _, err := unix.FcntlInt(fd, fSetSig, int(syscall.SIGKILL)); err != nil {
		return // the usual signal can be ignored
	}
	if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil {
		unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_ASYNC)
	}
}

// release closes the writing end, which kills what is left of the group.
func (l *lifeline) release() {
	l.read.Close()
	l.write.Close()
}
