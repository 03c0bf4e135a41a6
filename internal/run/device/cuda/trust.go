package cuda

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/refusal"
)

// SpilledImages is how the refusal of code that cannot be trusted begins.
const SpilledImages = "the compiler has spilled registers of a kernel that reads images"

// trust refuses kernels that read images if registers of theirs were spilled.
// NVIDIA's compiler makes wrong code of some: seen with CUDA 13.0 on an H200, where
// the same text is right with more registers, or without images.
func (l *Library) trust(kernel string, f handle, args []device.Arg) error {
	if !slices.ContainsFunc(args, func(a device.Arg) bool { _, ok := a.(*device.Image); return ok }) {
		return nil
	}
	r, err := l.resources(kernel, f)
	if err != nil || r.Local == 0 {
		return err
	}
	return refusal.For(refusal.Compiler, fmt.Errorf("%s: %s takes %d bytes of local memory a thread, and such code has computed wrong numbers; allow more registers or smaller blocks, or load another way",
		SpilledImages, kernel, r.Local))
}
