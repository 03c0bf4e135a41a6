package toolchain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Source is C to be compiled. Besides the compiler and the processor, its
// fields are all that the result depends on.
type Source struct {
	Text       []byte
	Arithmetic arith.Mode
	Extra      []string // further options
}

// Object is a shared object made of a Source.
type Object struct {
	Path   string
	Cached bool // it was made before
}

// CompileError is the refusal of a source by the compiler.
type CompileError struct {
	Compiler string   // path
	Args     []string // how it was called
	Said     string   // its words
	Source   string   // where the source was left; "" if it could not be
	Err      error
}

// Error prints the compiler's first complaints and where to look further.
func (e *CompileError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s could not compile the generated code", e.Compiler)
	if e.Source != "" {
		fmt.Fprintf(&b, ", which is left in %s", e.Source)
	}
	b.WriteString(":")
	var lines []string
	if said := strings.TrimSpace(e.Said); said != "" {
		lines = strings.Split(said, "\n")
	}
	if why := e.ended(); why != "" {
		lines = append([]string{why}, lines...)
	}
	const most = 12
	for i, line := range lines {
		if i == most {
			fmt.Fprintf(&b, "\n  ... and %d more lines", len(lines)-most)
			break
		}
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// ended says how the compiler ended; "" if it did so by itself, and its words
// tell why.
func (e *CompileError) ended() string {
	d, ok := errors.AsType[*child.Death](e.Err)
	switch {
	case !ok && e.Said != "":
		return ""
	case !ok:
		return e.Err.Error()
	case d.Memory > 0 && !d.Transient() && verdict.LacksMemory(d.Said):
		return fmt.Sprintf("it needs more than %s to compile it", memory.Size(d.Memory))
	case d.Reason != nil || d.Signal != 0 || d.Transient() || d.Said == "":
		return d.Cause()
	}
	return ""
}

// Unwrap returns the cause, which wraps a *child.Death if the compiler ran.
func (e *CompileError) Unwrap() error { return e.Err }

// Build compiles a source, or finds in the cache what was made of it before.
// A compilation takes at most limit; 0 is no limit.
func (c *Compiler) Build(ctx context.Context, cache *Cache, s Source, limit time.Duration) (Object, error) {
	flags := append(c.Flags(s.Arithmetic), s.Extra...)
	key := digest(string(s.Text), strings.Join(flags, "\x00"), c.Path, strings.Join(c.Args, "\x00"), c.Version,
		Processor())
	if path, ok := cache.find(objectName(key)); ok {
		return Object{Path: path, Cached: true}, nil
	}
	var o Object
	err := cache.within(func(dir string) (err error) {
		o.Path, err = c.compile(ctx, dir, key, s.Text, flags, limit)
		return err
	})
	if refused, ok := errors.AsType[*CompileError](err); ok && verdict.Of(err) == verdict.Compiler {
		refused.Source = cache.leave(key, s.Text)
	}
	return o, err
}

// compile compiles a source in a folder, and leaves the object there.
func (c *Compiler) compile(ctx context.Context, dir, key string, text []byte, flags []string,
	limit time.Duration) (string, error) {
	scratch, err := disk.NewFolder(dir, inUse)
	if err != nil {
		return "", fmt.Errorf("no place to compile in: %w", err)
	}
	defer scratch.Remove()
	source, object := filepath.Join(scratch.Path, "kernels.c"), filepath.Join(scratch.Path, "kernels.so")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return "", fmt.Errorf("the generated code cannot be written: %w", err)
	}
	// The file's name, without its folder, is all that could reach the object.
	args := slices.Concat(flags, []string{"-shared", "-o", object, "kernels.c", "-lm"})
	said, err := c.call(ctx, limit, scratch.Path, args...)
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		reason := verdict.Compiler
		if disk.Full(scratch.Path) { // whatever the compiler calls that
			reason = verdict.Transient
		}
		return "", verdict.For(reason, &CompileError{Compiler: c.Path, Args: slices.Concat(c.Args, args), Said: said,
			Err: err})
	}
	path, err := adopt(dir, key, object)
	if err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	return path, nil
}
