package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock takes the lock of a file, which lasts until the file is closed or the
// process ends. taken says that another process has it. A file system that knows no
// locks gives neither.
func lock(f *os.File) (held, taken bool) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return err == nil, err == unix.EWOULDBLOCK
}

// named reports whether a path still names an open file.
func named(path string, f *os.File) bool {
	a, err := os.Lstat(path)
	if err != nil {
		return false
	}
	b, err := f.Stat()
	return err == nil && os.SameFile(a, b)
}

// ours reports whether a file is this user's.
func ours(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// Private reports whether a file or folder is this user's and nobody else can
// write to it.
func Private(info os.FileInfo) bool { return ours(info) && info.Mode().Perm()&0o022 == 0 }
