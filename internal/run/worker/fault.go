package worker

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExposeFaults lets faults end the process by their signals, as they end a C
// program. Go's own handler would exit with a status and all its stacks, and
// cannot tell code that it did not compile from its own.
func ExposeFaults() error {
	// All zeros are the default action, whatever the rest of the kernel's
	// struct looks like on this architecture.
	var action [8]uint64
	for _, s := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL,
		syscall.SIGABRT} {
		const setBytes = 8 // of a signal set
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0,
			setBytes, 0, 0); errno != 0 {
			return errno
		}
	}
	return nil
}
