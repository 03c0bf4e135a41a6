package gridio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// Error is a refusal in the user's words.
type Error struct {
	Path string // the file, as the user wrote it; may be empty
	Text string // what is wrong
	Hint string // what to do about it; may be empty
	Err  error  // the cause, if another layer gave one
}

// Error prints "PATH: TEXT (HINT)".
func (e *Error) Error() string {
	s := e.Text
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// refuse returns an Error whose path is filled in by the front.
func refuse(format string, args ...any) *Error {
	return &Error{Text: fmt.Sprintf(format, args...)}
}

// hint adds what to do.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Named names the file in an error that the operating system has returned, and
// puts it into words.
func Named(path string, err error) error { return at(path, err) }

// at names the file in an error, and puts errors of the operating system into
// words.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		named := *e
		named.Path = path
		return &named
	}
	return &Error{Path: path, Text: cause(err), Err: err}
}

// cause says in words what the operating system or a decoder has refused.
func cause(err error) string {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the file ends too early; it is damaged or not completely written"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, syscall.EROFS):
		return "its file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "your disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "the file would be larger than its file system or the limits of this process allow"
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
