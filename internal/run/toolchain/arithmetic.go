package toolchain

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
)

// arithmeticFlags are a mode's options for gcc and clang alike. Infinities and
// NaNs keep their meaning in every mode, so -ffinite-math-only is never among
// them; nor is -ffast-math, which would also link code that turns denormals off
// for the whole process.
func arithmeticFlags(m arith.Mode) []string {
	switch m {
	case arith.Strict, arith.Contract: // the program says what is fused
		return []string{"-ffp-contract=off"}
	case arith.Fast:
		return []string{"-ffp-contract=fast", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math"}
	}
	panic(fmt.Sprintf("toolchain: no arithmetic mode %d", uint8(m)))
}
