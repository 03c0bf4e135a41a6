package tuner

import "github.com/gridloom/gridloom/internal/tune/measure"

// timeKernelAlone limits timing to the launches of this kernel, if its call has several kernels.
func (k *kernelSearch) timeKernelAlone(c *measure.Code) {
	if !k.several {
		return
	}
	from, to := -1, -1
	for i, l := range c.Launches {
		if l.Part != k.name {
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
