package cuda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/arith"
)

// Builder compiles CUDA to images in a folder.
type Builder struct {
	Compiler   *Compiler
	Arch       int // compute capability, 90 for 9.0
	Arithmetic arith.Mode
	Dir        string
}

// Build compiles the source and returns the image's path. A compilation that
// has begun cannot be interrupted.
func (b *Builder) Build(ctx context.Context, source []byte) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	code, err := b.Compiler.Compile(source, b.Arch, b.Arithmetic)
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.Dir, name(source, fmt.Appendf(nil, "%d %v %s", b.Arch, b.Arithmetic,
		b.Compiler.Version))+".cubin")
	if err := os.WriteFile(path, code, 0o600); err != nil {
		return "", fmt.Errorf("the compiled code cannot be kept: %w", err)
	}
	return path, nil
}

// name makes a file's name from what the file depends on.
func name(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256(p)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}
