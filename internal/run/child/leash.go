package child

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// leash is for children that start children of their own, as compilers do. The
// system's signal at the parent's death reaches only the first of them. So each
// of them inherits the reading end of a pipe whose writing end this process
// alone holds, and the system is told to kill the whole process group as soon
// as that end is closed, which it is when this process dies.
type leash struct{ read, write *os.File }

// fSetSig chooses the signal that tells of a change of a file. The package
// unix does not name it.
const fSetSig = 10

// newLeash puts a command that is not started yet on a leash.
func newLeash(cmd *exec.Cmd) (*leash, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	l := &leash{os.NewFile(uintptr(ends[0]), "leash"), os.NewFile(uintptr(ends[1]), "leash")}
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.read)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return l, nil
}

// fasten names the group, once the command runs. Where the system does not
// know how, the group's first process is still killed.
func (l *leash) fasten(group int) {
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

// release closes this process's end, which kills what is left of the group.
func (l *leash) release() {
	l.read.Close()
	l.write.Close()
}
