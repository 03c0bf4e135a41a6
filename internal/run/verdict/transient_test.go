package verdict

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
)

// said is an error that knows whether the machine is to blame.
type said bool

func (said) Error() string     { return "it ended" }
func (s said) Transient() bool { return bool(s) }

// What comes from the state of the machine is never taken for a refusal of the
// variant, whenever it is met.
func TestTransient(t *testing.T) {
	for _, test := range []struct {
		err  error
		want Verdict // when marked as a refusal by the compiler
		bare Verdict // when it is not marked
	}{
		{&os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, Transient, Transient},
		{fmt.Errorf("no worker: %w", syscall.EAGAIN), Transient, Transient},
		{errors.Join(io.EOF, syscall.EMFILE), Transient, Transient},
		{syscall.ENOENT, Compiler, OK},
		{io.EOF, Compiler, OK},
		{said(true), Transient, Transient},
		{said(false), Compiler, OK},
		{&Error{Launch, syscall.ENOSPC}, Launch, Launch},
	} {
		if got, bare := Of(fmt.Errorf("it: %w", For(Compiler, test.err))), Of(test.err); got != test.want ||
			bare != test.bare {
			t.Errorf("%v: %q, want %q; not marked: %q, want %q", test.err, got, test.want, bare, test.bare)
		}
	}
}

func TestPassing(t *testing.T) {
	for text, want := range map[string]bool{
		"kernels.c:1:2: error: expected expression":                                                 false,
		"Segmentation fault signal terminated program cc1":                                          false,
		"it was stopped after 30s":                                                                  false,
		"it touched memory that is not its own (SIGSEGV)":                                           false,
		"error writing to /tmp/ccx.s: No space left on device":                                      true,
		"write /home/x/kernels.c: no space left on device":                                          true,
		"gcc: fatal error: Killed signal terminated program cc1":                                    true,
		"collect2: fatal error: ld terminated with signal 9 [Killed]":                               true,
		"clang: error: unable to execute command: Killed":                                           true,
		"virtual memory exhausted: Cannot allocate memory":                                          true,
		"/usr/bin/cc could not compile the generated code:\n  signal: killed":                       true,
		"something killed it, as the system does when memory runs out (SIGKILL)":                    true,
		"it needs more than 4.0 GiB to compile it\n  cc1: out of memory allocating 65536 bytes":     false,
		"NVRTC (x) did not come to an end; it may take 1m0s and 4096 MiB: virtual memory exhausted": false,
		"NVRTC (x) did not come to an end; it may take 1m0s and 4096 MiB: something killed it":      true,
		"libgomp: Thread creation failed: Resource temporarily unavailable":                         true,
	} {
		if Passing(text) != want {
			t.Errorf("%q: %v, want %v", text, !want, want)
		}
	}
}
