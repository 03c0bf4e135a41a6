package emit

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Has reports whether there are words in a dialect for a capability. Devices
// have their own opinion: machine.Dialect.
func (d *Dialect) Has(c machine.Capability) bool {
	switch c {
	case machine.OpenMP:
		return d.Parallel
	case machine.Vector:
		return d.Vectors != nil || d.Parallel
	case machine.ReadOnly:
		return d.Caches != nil
	case machine.Image:
		return d.Images != nil
	case machine.Shared, machine.AsyncCopy: // those may be complete at once
		return d.Threads != nil
	case machine.Shuffle, machine.Mbarrier:
		return d.Threads != nil && d.Threads.shuffles != nil
	case machine.BulkCopy, machine.TensorCopy:
		return d.Threads != nil && d.Threads.async
	case machine.Cluster, machine.GridBarrier:
		return d.Threads != nil && d.Threads.clusters
	}
	return true
}

// chosen are the capabilities that spaces of configurations have choices for.
var chosen = []machine.Capability{
	machine.Shared, machine.Shuffle, machine.AsyncCopy, machine.BulkCopy, machine.Mbarrier,
	machine.Image, machine.Constant, machine.TensorCopy, machine.Cluster, machine.GridBarrier,
}

// On returns a machine as programs in the dialect see it, and what kernels in
// the dialect cannot have there, of what spaces of configurations offer: the
// options of lowering that depend on the device. The machine may be nil if
// nothing is known of it.
func (d *Dialect) On(m *machine.Machine) (*machine.Machine, []machine.Capability) {
	var there *machine.Dialect
	if m != nil {
		there = m.Dialect(d.Name)
	}
	var lacks []machine.Capability
	for _, c := range chosen {
		needs := c
		if c == machine.AsyncCopy && d.Threads != nil && !d.Threads.async {
			needs = machine.Shared // the dialect says such copies as plain ones
		}
		if !d.Has(c) || there != nil && !there.Can(needs) {
			lacks = append(lacks, c)
		}
	}
	if there == nil || there.SharedPerBlock == 0 || m.GPU == nil {
		return m, lacks
	}
	less, gpu := *m, *m.GPU
	gpu.SharedPerBlock = min(gpu.SharedPerBlock, there.SharedPerBlock)
	less.GPU = &gpu
	return &less, lacks
}

// Lacks says what a kernel uses that the dialect has no words for; nil if it
// can be printed. Ways through the caches are no reason: where they cannot be
// said, accesses go the plain way.
func (d *Dialect) Lacks(k *kernel.Kernel) error {
	for _, c := range Needs(k) {
		if !d.Has(c) {
			return fmt.Errorf("the kernel %s cannot be printed: %s has no %s", k.Name, d.Name, c)
		}
	}
	return nil
}

// Needs returns the capabilities that a kernel cannot do without, in order.
// Barriers of some warps are counted with mbarriers, those of one with
// shuffles.
func Needs(k *kernel.Kernel) []machine.Capability {
	var list []machine.Capability
	need := func(c machine.Capability) { list = append(list, c) }
	for _, b := range k.Buffers {
		if b.Space == kernel.Image {
			need(machine.Image)
		}
	}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Loop:
			switch {
			case s.Tag.IsCluster():
				need(machine.Cluster)
			case s.Tag == kernel.Parallel:
				need(machine.OpenMP)
			}
		case *kernel.Alloc:
			switch s.Buffer.Space {
			case kernel.Shared:
				need(machine.Shared)
			case kernel.Mbarrier:
				need(machine.Mbarrier)
			}
		case *kernel.Shuffle:
			need(machine.Shuffle)
		case *kernel.AsyncCopy, *kernel.AsyncCommit, *kernel.AsyncWait:
			need(machine.AsyncCopy)
		case *kernel.BulkCopy, *kernel.AsyncFence:
			need(machine.BulkCopy)
		case *kernel.TensorCopy:
			need(machine.TensorCopy)
		case *kernel.MbarrierInit, *kernel.MbarrierArrive, *kernel.MbarrierWait:
			need(machine.Mbarrier)
		case *kernel.FlagSet, *kernel.FlagWait:
			need(machine.GridBarrier)
		case *kernel.Barrier:
			switch {
			case s.Number > 0:
				need(machine.Mbarrier)
			case s.Scope == kernel.WarpScope:
				need(machine.Shuffle)
			case s.Scope == kernel.ClusterScope:
				need(machine.Cluster)
			case s.Scope == kernel.GridScope:
				need(machine.GridBarrier)
			}
		}
	}, nil)
	slices.Sort(list)
	return slices.Compact(list)
}
