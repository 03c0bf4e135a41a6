package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Compiler is a C compiler that was seen to work.
type Compiler struct {
	Path    string   // of the program
	Args    []string // that CC gives after it
	Version string   // the first line it says about itself
	OpenMP  bool     // it compiles and links OpenMP
	FMA     bool     // its code has fused multiply-adds
	Notes   []string // what works less well than it might, and why
	Memory  int64    // bytes of address space that each of its processes may take; 0 is no limit

	general []string // the options that every build gets, as far as it takes them
	refused []string // options that it does not know
}

// Missing says that no C compiler could be used.
type Missing struct {
	Tried []string // "cc: not found", in the order in which they were tried
	Named bool     // the user chose it with CC
}

// Error prints what was tried and what to do about it.
func (e *Missing) Error() string {
	s := "no C compiler could be used: " + strings.Join(e.Tried, "; ")
	if e.Named {
		return s + " (correct or unset the environment variable CC)"
	}
	return s +
		" (install one, on Debian and Ubuntu with: apt-get install gcc; or name one with the environment variable CC)"
}

// candidates are the names that are tried when CC names none.
var candidates = []string{"cc", "gcc", "clang"}

// Find returns the compiler that CC names (getenv is os.Getenv outside tests)
// or else the first of cc, gcc and clang that works. cache, which may be nil,
// remembers what probing a compiler found.
func Find(ctx context.Context, getenv func(string) string, cache *Cache) (*Compiler, error) {
	names, named := candidates, false
	if cc := getenv("CC"); strings.TrimSpace(cc) != "" {
		names, named = []string{cc}, true
	}
	missing := &Missing{Named: named}
	for _, name := range names {
		c, err := try(ctx, strings.Fields(name), cache)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if verdict.Of(err) == verdict.Transient {
			return nil, fmt.Errorf("this machine could not try the C compiler %s: %w", name, err)
		}
		missing.Tried = append(missing.Tried, fmt.Sprintf("%s: %v", name, err))
	}
	return nil, missing
}

// try looks at one command: the compiler and the options that CC gives it.
func try(ctx context.Context, command []string, cache *Cache) (*Compiler, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, errors.New("not an executable file")
		}
		return nil, errors.New("not found")
	}
	// It is called from other folders than this one.
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	c := &Compiler{Path: path, Args: command[1:]}
	out, err := c.call(ctx, probeLimit, "", "--version")
	if err != nil {
		return nil, fmt.Errorf("it does not say its version: %w", err)
	}
	c.Version, _, _ = strings.Cut(strings.TrimSpace(out), "\n")
	if err := c.probe(ctx, cache); err != nil {
		return nil, err
	}
	return c, nil
}

// probeLimit bounds a look at a compiler. It is for compilers that hang, not
// for slow ones.
const probeLimit = time.Minute
