package cuda

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// fits checks a launch against the GPU and the kernel, so that what is wrong is
// said in words, and gives the kernel leave for what it asks. A grid without
// any thread is no error.
func (l *Library) fits(name string, f handle, g kernel.Geometry) (empty bool, err error) {
	if err := l.device.GPU.Fits(name, g); err != nil {
		return false, err
	}
	for i := range 3 {
		empty = empty || g.Blocks[i] == 0 || g.Threads[i] == 0
	}
	if empty {
		return true, nil
	}
	if err := l.allow(name, f, g); err != nil {
		return false, err
	}
	r, err := l.resources(name, f)
	if err != nil {
		return false, err
	}
	shared := int64(r.Shared) + g.Shared
	if threads := g.Threads[0] * g.Threads[1] * g.Threads[2]; threads > int64(r.MaxThreads) {
		return false, verdict.For(verdict.Launch,
			fmt.Errorf(
				"the kernel %s has %d threads a block: with %d registers a thread and %d bytes of shared memory a "+
					"block can have %d",
				name, threads, r.Registers, shared, r.MaxThreads))
	}
	if g.Cooperative {
		return false, l.together(name, f, g)
	}
	return false, nil
}

// together checks that all blocks can run at once.
func (l *Library) together(name string, f handle, g kernel.Geometry) error {
	each, err := l.occupancy(name, f, g)
	if err != nil {
		return err
	}
	gpu := &l.device.GPU
	blocks, room := g.Blocks[0]*g.Blocks[1]*g.Blocks[2], int64(each*gpu.Multiprocessors)
	if blocks > room {
		return verdict.For(verdict.Launch,
			fmt.Errorf(
				"the kernel %s has %d blocks that wait for each other, and %s runs %d of them at once, %d on each of "+
					"its %d multiprocessors",
				name, blocks, gpu.Name, room, each, gpu.Multiprocessors))
	}
	return nil
}

// allow sets the attributes without which the driver refuses much shared
// memory and large clusters.
func (l *Library) allow(name string, f handle, g kernel.Geometry) error {
	set := func(which int32, v int64) error {
		if r := l.device.driver.SetFuncAttribute(f, which, int32(v)); r != 0 {
			return verdict.For(verdict.Launch, l.device.fail(r, "cuFuncSetAttribute",
				"the kernel %s cannot be launched: %s", name, shape(g)))
		}
		return nil
	}
	if g.Shared > kernel.StaticShared {
		if err := set(functionDynamic, g.Shared); err != nil {
			return err
		}
	}
	if g.Cluster[0]*g.Cluster[1]*g.Cluster[2] > everywhere {
		return set(functionClusters, 1)
	}
	return nil
}

// Clusters of everywhere blocks can be had on every GPU that has clusters, and
// larger ones of up to mostBlocks on some.
const (
	everywhere = 8
	mostBlocks = 16
)

// Fits checks the size of a launch against the GPU alone: what no compiler can
// help.
func (g *GPU) Fits(name string, launch kernel.Geometry) error {
	refused := func(format string, args ...any) error {
		return verdict.For(verdict.Resources, fmt.Errorf("the kernel "+name+format, args...))
	}
	l := &g.Limits
	threads, cluster := int64(1), int64(1)
	for i, axis := range "xyz" {
		switch {
		case launch.Blocks[i] < 0 || launch.Threads[i] < 0:
			return fmt.Errorf("the kernel %s: a negative number of blocks or threads on %c", name, axis)
		case launch.Blocks[i] > l.Grid[i]:
			return refused(" needs %d blocks on %c, and %s launches %d at most", launch.Blocks[i], axis, g.Name,
				l.Grid[i])
		case launch.Threads[i] > l.Block[i]:
			return refused(" has %d threads a block on %c, and %s runs %d at most", launch.Threads[i], axis, g.Name,
				l.Block[i])
		case launch.Cluster[i] > 0 && launch.Blocks[i]%launch.Cluster[i] != 0:
			return fmt.Errorf("the kernel %s: %d blocks on %c are no multiple of its clusters of %d", name,
				launch.Blocks[i], axis, launch.Cluster[i])
		}
		threads *= launch.Threads[i]
		cluster *= max(1, launch.Cluster[i])
	}
	switch {
	case threads > l.Threads:
		return refused(" has %d threads a block, and %s runs %d at most", threads, g.Name, l.Threads)
	case launch.Shared > l.Shared:
		return refused(" needs %d bytes of shared memory a block, and %s has %d at most", launch.Shared,
			g.Name, l.Shared)
	case launch.Cluster != [3]int64{} && !l.Clusters:
		return refused(" runs in clusters of blocks, and %s has none", g.Name)
	case cluster > mostBlocks:
		return refused(" has clusters of %d blocks, and no GPU runs more than %d", cluster, mostBlocks)
	case launch.Cooperative && !l.Cooperative:
		return refused(" has blocks that wait for each other, and %s cannot launch such", g.Name)
	}
	return nil
}
