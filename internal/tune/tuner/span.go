package tuner

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// timeKernelAlone limits timing to the launches of this kernel, if its stage has several kernels. Launches
// are named after their kernel.
func (k *kernelSearch) timeKernelAlone(c *measure.Code) {
	if k.place == 0 {
		return // the stage has no other kernel
	}
	from, to := -1, -1
	for i, l := range c.Launches {
		if !k.owns(c.Kernels[l.Kernel]) {
			continue
		}
		if from < 0 {
			from = i
		}
		to = i + 1
	}
	if from >= 0 {
		c.From, c.To = from, to
	}
}

// owns reports whether a kernel of the lowered text is this kernel or a helper of it.
func (k *kernelSearch) owns(name string) bool {
	base := k.stage.stage.Stencil
	if base == "" {
		base = k.stage.stage.Name
	}
	base = fmt.Sprintf("%s_%d", base, k.place)
	return name == base || strings.HasPrefix(name, base+"_")
}
