package proof

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gridloom/gridloom/internal/run/child"
)

// prelude is what NVRTC knows without any header, as far as generated code
// needs it.
//
//go:embed nvrtc.cuh
var prelude []byte

// clang compiles CUDA without a GPU or its kit.
type clang struct{ path, dir string }

// findClang writes the prelude to a folder.
func findClang(dir string) (*clang, error) {
	path, err := exec.LookPath("clang-19")
	if err != nil {
		return nil, fmt.Errorf("clang-19: %w", err)
	}
	return &clang{path, dir}, os.WriteFile(filepath.Join(dir, "nvrtc.cuh"), prelude, 0o600)
}

// compile compiles a source for an H200 to PTX, which is thrown away. Conditions joined by & have no branch, as is
// meant, though one may call a function, of which clang does not know that it does nothing else. That a loop is written
// out is asked for, not needed: clang does not where barriers are in it.
func (c *clang) compile(ctx context.Context, source string) error {
	p := child.Program{Path: c.path, Stdin: strings.NewReader(source),
		Args: []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_90",
			"--cuda-feature=+ptx80", "-std=c++17", "-O1", "-Wall", "-Wno-unused-variable",
			"-Wno-unused-but-set-variable", "-Wno-bitwise-instead-of-logical", "-Wno-pass-failed", "-Werror",
			"-include", filepath.Join(c.dir, "nvrtc.cuh"), "-S", "-o", os.DevNull, "-"}}
	if _, err := p.Run(ctx); err != nil {
		return fmt.Errorf("clang-19: %.2000s", err)
	}
	return nil
}
