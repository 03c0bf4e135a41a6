package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/child"
)

// Clang reads CUDA and OpenCL without a driver or a kit. Kernels are looked at by it, and never run.
type Clang struct{ Path string }

// clangs are the names that are tried, those that are known to read what Gridloom writes first.
var clangs = []string{"clang-19", "clang"}

// ErrNoClang says that there is no clang.
var ErrNoClang = errors.New("clang is not installed (on Debian and Ubuntu: apt-get install clang-19)")

// FindClang returns the first of clang-19 and clang that is there, or an error that is ErrNoClang.
func FindClang() (*Clang, error) {
	for _, name := range clangs {
		if path, err := exec.LookPath(name); err == nil {
			return &Clang{path}, nil
		}
	}
	return nil, ErrNoClang
}

// Version returns the first line that clang says about itself.
func (c *Clang) Version(ctx context.Context) (string, error) {
	said, err := c.run(ctx, "", nil, "--version")
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return first, err
}

// llvmLimit bounds a compilation to LLVM IR. It is for sources that a compiler hangs on.
const llvmLimit = 2 * time.Minute

// LLVM writes the LLVM IR of a source in OpenCL C 1.2 as text to out, for 64-bit devices in general. It is optimised as
// clang does with OpenCL unless options say otherwise. Products and sums stay apart where the source has them apart.
func (c *Clang) LLVM(ctx context.Context, source string, out io.Writer, options ...string) error {
	args := append([]string{"-x", "cl", "-cl-std=CL1.2", "--target=spir64", "-ffp-contract=off", "-w", "-S",
		"-emit-llvm"}, options...)
	said, err := c.run(ctx, source, out, append(args, "-o", "-", "-")...)
	if err != nil {
		return fmt.Errorf("%s: %w: %.1000s", c.Path, err, said)
	}
	return nil
}

func (c *Clang) run(ctx context.Context, stdin string, out io.Writer, args ...string) (string, error) {
	p := child.Program{Path: c.Path, Args: args, Env: []string{"LC_ALL=C"}, Stdin: strings.NewReader(stdin),
		Stdout: out, Time: llvmLimit}
	said, err := p.Run(ctx)
	if d, ok := err.(*child.Death); ok {
		err = &compilerError{d}
	}
	return said, err
}
