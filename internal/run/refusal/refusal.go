// Package refusal says why a variant of a program cannot be had. There are four
// reasons, each found at another stage and each telling something else to
// whoever searches for variants: two come before the compiler and two after it.
//
// A fifth is no verdict on the variant: the machine could not just now, since a
// disk is full, memory has run out, or a process was killed from outside. Only
// this package tells that from the others. Such a variant is tried again, and
// what came of it is never recorded.
package refusal

import (
	"errors"
	"fmt"
	"slices"
)

// Reason is the stage that refused.
type Reason uint8

const (
	None       Reason = iota
	Constraint        // the configuration is no member of the space
	Resources         // it needs more than the machine has, as the text alone tells
	Compiler          // the compiler refused it, hung on it or died of it
	Launch            // the driver refused the compiled code, or its launch
	Transient         // the machine could not just now; the variant is not to blame
)

var names = [...]string{"", "constraint", "resources", "compiler", "launch", "transient"}

// String returns the reason's name, as it is recorded.
func (r Reason) String() string { return names[r] }

// MarshalText writes the name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads it.
func (r *Reason) UnmarshalText(text []byte) error {
	i := slices.Index(names[:], string(text))
	if i < 0 {
		return fmt.Errorf("there is no reason %q to refuse a variant", text)
	}
	*r = Reason(i)
	return nil
}

// Error is a refusal. It reads as its cause.
type Error struct {
	Reason Reason
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// For marks an error as a refusal, if it is one and is not marked already. One
// that comes from the state of the machine is marked Transient, whatever r is.
func For(r Reason, err error) error {
	if err == nil || r == None {
		return err
	}
	if _, marked := errors.AsType[*Error](err); marked {
		return err
	}
	if passes(err) {
		r = Transient
	}
	return &Error{r, err}
}

// Of returns the reason of a refusal, Transient for an error that comes from the
// state of the machine, and None for any other.
func Of(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	if err != nil && passes(err) {
		return Transient
	}
	return None
}
