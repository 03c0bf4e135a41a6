package worker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/disk"
)

// namedPipes are the two pipes of a worker that inherits nothing, as its parent has them. The parent also holds the
// worker's ends: a pipe with one end cannot be opened, or looks as if the other had left. It lets them go when the
// program that starts the worker has ended.
type namedPipes struct {
	folder *disk.Folder
	own    [2]*os.File // requests to write, replies to read
	others [2]*os.File // requests to read, replies to write
}

func newNamedPipes() (*namedPipes, error) {
	folder, err := disk.NewFolder("", "gridloom-worker-")
	if err != nil {
		return nil, err
	}
	n := &namedPipes{folder: folder}
	for i, path := range n.paths() {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			n.close()
			return nil, &os.PathError{Op: "mkfifo", Path: path, Err: err}
		}
		// One descriptor for both ends never waits for another process.
		both, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			n.close()
			return nil, err
		}
		n.others[i] = both
		if n.own[i], err = os.OpenFile(path, []int{os.O_WRONLY, os.O_RDONLY}[i]|syscall.O_NONBLOCK, 0); err != nil {
			n.close()
			return nil, err
		}
	}
	// The parent must not be a writer of its requests but by its own end: closing that tells the worker to leave.
	reader, err := os.OpenFile(n.paths()[0], os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		n.close()
		return nil, err
	}
	n.others[0].Close()
	n.others[0] = reader
	return n, nil
}

func (n *namedPipes) paths() [2]string {
	return [2]string{filepath.Join(n.folder.Path, "requests"), filepath.Join(n.folder.Path, "replies")}
}

// release lets go of the worker's ends, and of the names.
func (n *namedPipes) release() {
	for _, f := range n.others {
		f.Close() // a nil one is no harm
	}
	n.folder.Remove()
}

func (n *namedPipes) close() {
	n.release()
	for _, f := range n.own {
		f.Close()
	}
}

// startUnder has another program start a worker.
func startUnder(service string, o Options) (*Process, error) {
	if len(o.Files) > 0 {
		return nil, errors.New("a worker under another program inherits no files")
	}
	self, err := os.Executable() // a name that means the same in the other program
	if err != nil {
		return nil, unstarted(err)
	}
	pipes, err := newNamedPipes()
	if err != nil {
		return nil, unstarted(err)
	}
	paths := pipes.paths()
	cmd := exec.Command(o.Under[0], append(o.Under[1:len(o.Under):len(o.Under)], self, Word, service, paths[0],
		paths[1])...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p, err := begin(cmd, o, pipes.release)
	if err != nil {
		pipes.close()
		return nil, err
	}
	p.under, p.link = true, newLink(pipes.own[1], pipes.own[0])
	return p, nil
}

// openNamed opens a worker's ends of pipes that have names.
func openNamed(requests, replies string) (*Link, error) {
	in, err := os.OpenFile(requests, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(replies, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return newLink(in, out), nil
}
