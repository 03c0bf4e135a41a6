package opencl

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Fits checks the size of a launch against the device alone: what no compiler
// can help.
func (p *Properties) Fits(name string, g kernel.Geometry) error {
	refused := func(format string, args ...any) error {
		return verdict.For(verdict.Resources, fmt.Errorf("the kernel "+name+format, args...))
	}
	threads := int64(1)
	for i, axis := range "xyz" {
		switch {
		case g.Blocks[i] < 0 || g.Threads[i] < 0:
			return fmt.Errorf("the kernel %s: a negative number of blocks or threads on %c", name, axis)
		case g.Threads[i] > p.MaxBlock[i]:
			return refused(" has %d threads a block on %c, and %s runs %d at most", g.Threads[i], axis, p.Name,
				p.MaxBlock[i])
		}
		threads *= g.Threads[i]
	}
	switch {
	case threads > p.MaxThreads:
		return refused(" has %d threads a block, and %s runs %d at most", threads, p.Name, p.MaxThreads)
	case g.Shared > p.Local:
		return refused(" needs %d bytes of local memory a block, and %s has %d at most", g.Shared, p.Name, p.Local)
	case g.Cluster != [3]int64{}:
		return refused(" runs in clusters of blocks, and OpenCL has none")
	case g.Cooperative:
		return refused(" has blocks that wait for each other, and OpenCL may run one after the other")
	}
	return nil
}

// fits checks a launch against the device and the compiled kernel, so that what
// is wrong is said in words. A grid without any thread is no error.
func (l *Library) fits(name string, k handle, g kernel.Geometry) (empty bool, err error) {
	p := &l.device.Properties
	if err := p.Fits(name, g); err != nil {
		return false, err
	}
	r, err := l.resources(name, k)
	if err != nil {
		return false, err
	}
	threads := g.Threads[0] * g.Threads[1] * g.Threads[2]
	switch {
	case r.Local > p.Local:
		err = fmt.Errorf("the kernel %s needs %d bytes of local memory a block, and %s has %d at most", name, r.Local,
			p.Name, p.Local)
	case threads > r.MaxThreads:
		err = fmt.Errorf(
			"the kernel %s has %d threads a block: with its registers and %s of local memory a block can have %d",
			name, threads, memory.Size(r.Local), r.MaxThreads)
	}
	return g.Blocks[0]*g.Blocks[1]*g.Blocks[2]*threads == 0, verdict.For(verdict.Launch, err)
}
