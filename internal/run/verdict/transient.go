package verdict

import (
	"errors"
	"strings"
	"syscall"
)

// transient is an error that knows whether the machine is to blame.
type transient interface {
	error
	Transient() bool
}

// shortages are errors of the system by which it lacks something just now.
var shortages = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EIO, // disks
	syscall.EMFILE, syscall.ENFILE, syscall.ENOLCK, syscall.ETXTBSY, // files
	syscall.ENOMEM, syscall.EAGAIN, // memory, and processes
}

// passes reports whether an error comes from the state of the machine.
func passes(err error) bool {
	if t, ok := errors.AsType[transient](err); ok {
		return t.Transient()
	}
	for _, e := range shortages {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Passing reports whether a text tells of the state of the machine: what a
// compiler prints, or what was recorded of a verdict.
func Passing(text string) bool {
	text = strings.ToLower(text)
	return contains(text, roomWords) || contains(text, otherWords) || contains(text, threadWords) ||
		contains(text, memoryWords) && !contains(text, ownLimits)
}

// LacksMemory reports whether a program says that it got no memory.
func LacksMemory(text string) bool { return contains(strings.ToLower(text), memoryWords) }

// LacksRoom reports whether a program says that a disk takes nothing more.
func LacksRoom(text string) bool { return contains(strings.ToLower(text), roomWords) }

// LacksThreads reports whether a program says that it could start no thread or
// process.
func LacksThreads(text string) bool { return contains(strings.ToLower(text), threadWords) }

func contains(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// The words of the C library, of gcc, clang and the linkers, of Go's runtime
// and of OpenMP's, in small letters.
var (
	memoryWords = []string{
		"cannot allocate memory", "virtual memory exhausted", "memory exhausted", "out of memory allocating",
		"std::bad_alloc", "llvm error: out of memory", "runtime: out of memory",
		"failed to reserve page summary memory", "fatal error: out of memory",
	}
	threadWords = []string{"resource temporarily unavailable", "failed to create new os thread",
		"thread creation failed", "pthread_create failed"}
	roomWords  = []string{"no space left on device", "disk quota exceeded", "read-only file system"}
	otherWords = []string{
		"file too large", "file size limit exceeded", "input/output error", "too many open files", "text file busy",
		"killed signal terminated program", "terminated signal terminated program", "internal compiler error: killed",
		"unable to execute command: killed", "terminated with signal 9", "signal: killed", "something killed it",
	}
)

// ownLimits are the words of refusals by limits that Gridloom itself has set: what
// meets them needs too much, on a machine that has enough.
var ownLimits = []string{"nvrtc (", "needs more than "}
