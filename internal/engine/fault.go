package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/target"
)

// Cause says what has to change for a request to succeed.
type Cause uint8

const (
	Environment Cause = iota // the device, the compiler, a file
	Source                   // the program's text
	Request                  // an option of the request, or a value in it
	Mismatch                 // nothing: the check found a difference
	Interrupted              // nothing: the user ended it
)

// Fault is an error that says what the user can do about it.
type Fault struct {
	Cause  Cause
	Option string // of the request that the error is about, and its value: "plan", "device cuda:3"; may be empty
	Err    error
	Hint   string // what to do; may be empty
}

// Error returns what is wrong, after the option.
func (f *Fault) Error() string {
	if f.Option == "" {
		return f.Err.Error()
	}
	return f.Option + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

func requestf(option, format string, args ...any) *Fault {
	return &Fault{Cause: Request, Option: option, Err: fmt.Errorf(format, args...)}
}

func (f *Fault) hintf(format string, args ...any) *Fault {
	f.Hint = fmt.Sprintf(format, args...)
	return f
}

// CauseOf returns the cause that an error names; Environment if it names none.
func CauseOf(err error) Cause {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f.Cause
	}
	if errors.Is(err, context.Canceled) {
		return Interrupted
	}
	return Environment
}

// badDevice words an error of finding a device.
func badDevice(id string, err error) error {
	if u, ok := errors.AsType[*target.Unknown](err); ok {
		return requestf("device "+id, "there is no such device").hintf("%s", u.Hint())
	}
	f := &Fault{Cause: Environment, Option: "device " + id, Err: err}
	return f.hintf("gridloom devices lists what there is; --device cpu needs no GPU")
}

// Unbound is a program that the values it was given do not fit.
type Unbound struct{ List diag.List }

// Error returns what is wrong with the first value.
func (e *Unbound) Error() string {
	d := e.List[0]
	if d.Hint != "" {
		return d.Message + " (" + d.Hint + ")"
	}
	return d.Message
}
