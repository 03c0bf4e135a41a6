package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// writeLock is the byte of the file PATH-shm that whoever writes locks.
const writeLock = 120

// holders names the process that writes to a store, if the system tells.
//
// The lock is looked up in the system's list. To ask for it would mean to open
// the file, and to close it again would give up this process's own locks on it.
func holders(path string) string {
	info, err := os.Stat(path + "-shm")
	if err != nil {
		return ""
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	list, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		if pid := lockedBy(lines.Text(), file.Ino); pid > 0 {
			return process(pid)
		}
	}
	return ""
}

// lockedBy returns the process that holds the lock of a line of /proc/locks,
// if it is a write lock on the byte that writers lock.
//
// Example line:
//
//	1: POSIX  ADVISORY  WRITE 1234 00:2d:5678 120 120
func lockedBy(line string, inode uint64) int {
	f := strings.Fields(line)
	if len(f) < 8 || f[1] == "->" || f[3] != "WRITE" {
		return 0
	}
	device := strings.Split(f[5], ":")
	pid, err1 := strconv.Atoi(f[4])
	node, err2 := strconv.ParseUint(device[len(device)-1], 10, 64)
	from, err3 := strconv.ParseInt(f[6], 10, 64)
	to, err4 := strconv.ParseInt(strings.Replace(f[7], "EOF", "9223372036854775807", 1), 10, 64)
	if slices.ContainsFunc([]error{err1, err2, err3, err4}, func(err error) bool { return err != nil }) {
		return 0
	}
	if node != inode || from > writeLock || to < writeLock {
		return 0
	}
	return pid
}

func process(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, strings.TrimSpace(string(name)))
}
