// Package verdict says what became of a variant of a program: it is right, or why it
// cannot be had. A refusal is found at one of several points, and each tells something else to
// whoever searches for variants: two come before the compiler, the others after it.
//
// Transient is no verdict on the variant: the machine could not just now, since a
// disk is full, memory has run out, or a process was killed from outside. Only
// this package tells that from the others. Such a variant is tried again, and
// what came of it is never recorded.
package verdict

import (
	"errors"
	"fmt"
	"slices"
)

// Verdict is what became of a variant. Databases have its number.
type Verdict uint8

const (
	OK         Verdict = iota // it ran, and computed what it should
	Constraint                // the configuration is no member of the space
	Resources                 // it needs more than the device has, as the text alone tells
	Compiler                  // the compiler refused it, hung on it or died of it
	Launch                    // the driver refused the compiled code, or its launch
	Timeout                   // it ran longer than its limit
	Crash                     // it faulted, or took its process down
	Wrong                     // it computed something else
	Transient                 // the machine could not just now; the variant is not to blame
)

var names = [...]string{"ok", "constraint", "resources", "compiler", "launch", "timeout", "crash", "wrong", "transient"}

// recorded are those that are recorded: all but the last.
var recorded = names[:Transient]

// String returns the verdict's name, as it is recorded.
func (v Verdict) String() string { return names[v] }

// Refused reports whether there is no time of the variant, because it did not run to its end.
func (v Verdict) Refused() bool { return v != OK && v != Wrong }

// Names returns the names of all verdicts that are recorded, in their order.
func Names() []string { return slices.Clone(recorded) }

// Parse reads the name of a verdict that is recorded.
func Parse(name string) (Verdict, error) {
	i := slices.Index(recorded, name)
	if i < 0 {
		return 0, fmt.Errorf("there is no verdict %q", name)
	}
	return Verdict(i), nil
}

// FromNumber returns the verdict of a number, as databases have it.
func FromNumber(n int) (Verdict, error) {
	if n < 0 || n >= len(recorded) {
		return 0, fmt.Errorf("there is no verdict %d", n)
	}
	return Verdict(n), nil
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads it.
func (v *Verdict) UnmarshalText(text []byte) (err error) {
	*v, err = Parse(string(text))
	return err
}

// Error is an error with what it says of a variant. It reads as its cause.
type Error struct {
	Verdict Verdict
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// For marks an error as a refusal, if it is one and is not marked already. One
// that comes from the state of the machine is marked Transient, whatever v is.
func For(v Verdict, err error) error {
	if err == nil || v == OK {
		return err
	}
	if _, marked := errors.AsType[*Error](err); marked {
		return err
	}
	if passes(err) {
		v = Transient
	}
	return &Error{v, err}
}

// Of returns the verdict of a refusal, Transient for an error that comes from the
// state of the machine, and OK for any other, which says nothing of a variant.
func Of(err error) Verdict {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Verdict
	}
	if err != nil && passes(err) {
		return Transient
	}
	return OK
}
