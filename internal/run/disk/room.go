package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

const noFollow = unix.O_NOFOLLOW

// least is how much room a disk needs so that what fails on it has not failed for
// that.
const least = 1 << 20

// Full reports whether the disk that a folder is on has no room left.
func Full(dir string) bool {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return false
	}
	return int64(s.Bavail)*int64(s.Bsize) < least || s.Files > 0 && s.Ffree == 0
}

// LacksRoom reports whether an error of the system says that a disk takes nothing
// more.
func LacksRoom(err error) bool {
	for _, e := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
