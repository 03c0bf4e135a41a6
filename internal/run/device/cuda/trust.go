package cuda

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Spilled begins the refusal of code that cannot be trusted.
const Spilled = "the compiler has spilled registers of a kernel that reads images or copies in bulk"

// trust refuses delicate kernels if registers of theirs were spilled. NVIDIA's
// compiler makes wrong code of some: seen with CUDA 13.0 on an H200, where the same
// text is right with more registers, or with ordinary loads.
func (l *Library) trust(name string, f handle, g kernel.Geometry) error {
	if !g.Delicate {
		return nil
	}
	r, err := l.resources(name, f)
	if err != nil || r.Local == 0 {
		return err
	}
	return verdict.For(verdict.Compiler,
		fmt.Errorf(
			"%s: %s takes %d bytes of local memory a thread, and such code has computed wrong numbers; allow more "+
				"registers or smaller blocks, or load another way",
			Spilled, name, r.Local))
}
