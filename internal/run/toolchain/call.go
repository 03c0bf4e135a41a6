package toolchain

import (
	"context"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/child"
)

// call runs the compiler in a folder and returns what it printed. If the
// compiler has ended badly, or was ended, the error wraps a *child.Death.
func (c *Compiler) call(ctx context.Context, limit time.Duration, dir string, args ...string) (string, error) {
	p := child.Program{Path: c.Path, Args: append(c.Args[:len(c.Args):len(c.Args)], args...), Dir: dir, Time: limit,
		Memory: c.Memory}
	// Messages in one language, so that they can be compared and searched for.
	p.Env = []string{"LC_ALL=C"}
	if dir != "" {
		// What a compiler leaves goes with the folder, and the disk that it
		// needs is the one that its result needs.
		p.Env = append(p.Env, "TMPDIR="+dir)
	}
	said, err := p.Run(ctx)
	if d, ok := err.(*child.Death); ok {
		err = &compilerError{d}
	}
	return said, err
}

// compilerError is the end of a compiler, with the first line of its message.
type compilerError struct{ *child.Death }

func (e *compilerError) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Said), "\n")
	if first == "" || e.Reason != nil {
		return e.Cause()
	}
	return first
}

func (e *compilerError) Unwrap() error { return e.Death }
