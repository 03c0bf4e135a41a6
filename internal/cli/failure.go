package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Exit statuses.
const (
	exitRight       = 0
	exitSource      = 1   // the source is wrong
	exitUsage       = 2   // the command line is wrong
	exitDevice      = 3   // a device, a file or the compiler failed
	exitCheck       = 4   // a check found a difference
	exitInterrupted = 130 // stopped by the user
)

// failure is an error with the status that the process ends with. A failure
// without a message has been reported already.
type failure struct {
	status int
	err    error
	hint   string // what to do about it; may be empty
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// hintf adds what to do.
func (f *failure) hintf(format string, args ...any) *failure {
	f.hint = fmt.Sprintf(format, args...)
	return f
}

func failf(status int, format string, args ...any) *failure {
	return &failure{status: status, err: fmt.Errorf(format, args...)}
}

// usage is an error in the command line.
func usage(format string, args ...any) *failure { return failf(exitUsage, format, args...) }

// misuse is an error in the command line that another package has found.
func misuse(option string, err error) error {
	if err == nil {
		return nil
	}
	text, hint := split(err)
	return usage("%s: %s", option, text).hintf("%s", hint)
}

// split parts an error from its hint. Options of requests are called what users write.
func split(err error) (text, hint string) {
	var f *failure
	if errors.As(err, &f) {
		return f.Error(), f.hint
	}
	if e, ok := errors.AsType[*engine.Fault](err); ok {
		text := err.Error()
		if e.Option != "" {
			text = strings.ReplaceAll(text, e.Error(), "--"+e.Error())
		}
		return text, e.Hint
	}
	var e *gridio.Error
	if errors.As(err, &e) && e.Hint != "" {
		plain := *e
		plain.Hint = ""
		return strings.ReplaceAll(err.Error(), e.Error(), plain.Error()), e.Hint
	}
	return err.Error(), ""
}

var statusOf = map[engine.Cause]int{
	engine.Environment: exitDevice, engine.Source: exitSource, engine.Request: exitUsage, engine.Mismatch: exitCheck,
	engine.Interrupted: exitInterrupted,
}

// withoutDepth is what to do about a plan for iterations that cannot share a kernel.
const withoutDepth = "leave this kernel out of the plan: iterations are carried out one by one then"

// report prints an error, if there is anything left to say, and returns the
// exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitRight
	}
	status := exitDevice
	var f *failure
	switch {
	case errors.As(err, &f):
		status = f.status
		if f.err == nil {
			return status
		}
	case engine.CauseOf(err) != engine.Environment && !errors.Is(err, context.Canceled):
		status = statusOf[engine.CauseOf(err)]
	case errors.Is(err, context.Canceled):
		status, err = exitInterrupted, errors.New("interrupted")
	}
	text, hint := split(err)
	if d := a.placed(err, text); d != nil {
		d.Hint = cmp.Or(hint, d.Hint, withoutDepth)
		a.show(a.src, diag.List{d})
		return status
	}
	a.complain(text, hint)
	return status
}

// complain prints an error that is about no place in a source.
func (a *app) complain(text, hint string) {
	fmt.Fprintf(a.stderr, "gridloom: %s\n", clip(indented(text)))
	if hint != "" {
		fmt.Fprintf(a.stderr, "      hint: %s\n", clip(indented(hint)))
	}
}

// placed words an error about iterations that cannot share a kernel at its place in the source; nil if it has none.
func (a *app) placed(err error, text string) *diag.Diagnostic {
	if a.src == nil {
		return nil
	}
	if r, ok := errors.AsType[*graph.Refusal](err); ok {
		return &diag.Diagnostic{Range: r.At, Message: text, Notes: r.Notes, Hint: r.Hint}
	}
	if l, ok := errors.AsType[*lower.AtLoop](err); ok {
		return &diag.Diagnostic{Range: l.At, Message: text}
	}
	return nil
}
