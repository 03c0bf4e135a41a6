package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// staged reports whether an array may be held in shared memory.
func (n *nest) staged(a *ir.Array) bool {
	return !n.unshared(a) && (n.opts.Free || a.Hint != ir.Global && a.Hint != ir.NotShared)
}

// demanded reports whether an array has to be held there.
func (n *nest) demanded(a *ir.Array) bool {
	if n.opts.Free || a.Hint != ir.Shared {
		return false
	}
	_, gives := n.opts.fitting.yields(n.call.Name, storageYields)
	return !gives
}

// held leaves those configurations that hold an array where the source wants it.
func (n *nest) held(s schedule.Space, a *ir.Array) (schedule.Space, error) {
	switch {
	case n.reads(a):
	case a.Hint == ir.Shared:
		return s, elsewhere("no kernel reads " + a.Name)
	default:
		return s, nil // what is only written is in global memory anyway
	}
	if a.Hint != ir.Shared {
		if a.Hint == ir.Global {
			var err error
			if s, err = n.inGlobal(s, a); err != nil {
				return s, err
			}
		}
		s, err := withoutCopies(s)
		if err != nil {
			return s, err
		}
		if own := n.arrayClassOf(a).shared(s); own.Any() && n.othersStaged() {
			return own.Keep(schedule.No)
		}
		if !offersShared(s) || n.othersStaged() {
			return s, nil
		}
		return s.On(schedule.Staging).Keep(schedule.Int(0)) // there is nothing else to hold
	}
	if err := n.stageable(a); err != nil {
		return s, err
	}
	if !offersShared(s) {
		return s, fmt.Errorf(
			"only families of kernels whose threads compute tiles hold cells of a grid in shared memory")
	}
	less, err := s.On(schedule.Staging).Choose("1 or more", func(v schedule.Value) bool {
		return !v.Equal(schedule.Int(0))
	})
	if err != nil {
		return s, fmt.Errorf("the device has no asynchronous copies to shared memory")
	}
	vectors := func(v schedule.Value) bool { return AsyncRun(v.Ints()[0], a.Type) }
	if less, err = less.On(schedule.Vector).Choose("that copies whole words", vectors); err != nil {
		return s, fmt.Errorf("cells of %s are no whole words", a.Type)
	}
	less, err = less.Each(func(f *schedule.Family) *schedule.Constraint {
		along := f.For(schedule.Stream)
		if along == nil {
			return nil
		}
		return &schedule.Constraint{
			Name: "planes of " + a.Name, Doc: a.Name + " has no axis that blocks go along",
			Params: []string{along.Name},
			Holds: func(c schedule.Config) bool {
				axis := n.axisNamed(c.Word(along.Name))
				return slices.ContainsFunc(a.Dims, func(d ir.Dim) bool { return d.Axis == axis })
			},
		}
	})
	if err != nil {
		return s, fmt.Errorf("%s has no axis that blocks go along", a.Name)
	}
	if own := n.arrayClassOf(a).shared(less); own.Any() {
		return own.Keep(schedule.Yes)
	}
	return less, nil
}

// withoutCopies leaves those configurations that copy nothing to shared memory of families which cannot leave out one
// array alone: they carry out pipelines.
func withoutCopies(s schedule.Space) (schedule.Space, error) {
	return s.Each(func(f *schedule.Family) *schedule.Constraint {
		copied := f.For(schedule.Staging)
		if copied == nil || familyNamed(f.Name).span == nil {
			return nil
		}
		return &schedule.Constraint{
			Name: "planes in shared memory", Doc: "those of all grids are copied there, or of none",
			Params: []string{copied.Name}, Holds: func(c schedule.Config) bool { return c.Int(copied.Name) == 0 },
		}
	})
}

// othersStaged reports whether there are arrays that may be held in shared
// memory by what the source says.
func (n *nest) othersStaged() bool {
	return slices.ContainsFunc(n.call.Arrays, func(b *ir.Array) bool { return n.staged(b) && n.stageable(b) == nil })
}

// inGlobal leaves those configurations that load an array from the device's
// own memory.
func (n *nest) inGlobal(s schedule.Space, a *ir.Array) (schedule.Space, error) {
	k := n.arrayClassOf(a)
	if k == nil {
		return s, nil
	}
	return s.Each(func(f *schedule.Family) *schedule.Constraint {
		load := f.For(schedule.LoadPath)
		if load == nil {
			return nil
		}
		params := []string{load.Name}
		if own := k.param(load).Name; f.Param(own) != nil {
			params = append(params, own)
		}
		return &schedule.Constraint{
			Name: "grids in global memory", Doc: "the source wants " + a.Name + " there", Params: params,
			Holds: func(c schedule.Config) bool { return k.loadPath(f, c) == plain || k.loadPath(f, c) == readonly },
		}
	})
}

// offersShared reports whether some configurations use shared memory.
func offersShared(s schedule.Space) bool { return s.On(schedule.Staging).Any() }

// reads reports whether the group reads an array.
func (n *nest) reads(a *ir.Array) bool {
	return slices.ContainsFunc(n.stmts, func(s *statement) bool {
		return slices.ContainsFunc(accesses(s.src.Value), func(x *ir.Access) bool { return x.Array == a })
	})
}

// stageable reports why no plane of an array can be held in shared memory; nil
// if it can.
func (n *nest) stageable(a *ir.Array) error {
	switch {
	case !n.tileable():
		return fmt.Errorf("the kernel reads cells that it overwrites, and has a thread for each")
	case a.Grid == nil:
		return fmt.Errorf("only grids that are declared outside of stencils can be held in shared memory")
	case slices.ContainsFunc(n.stmts, func(s *statement) bool { return s.src.Array == a }):
		return fmt.Errorf("the kernel writes %s, and only what it does not write can be held in shared memory", a.Name)
	case !n.vectors(a):
		return fmt.Errorf("the rows of %s do not lie along %s", a.Name, n.Program.Axes[n.inner()])
	}
	moving := func(x *ir.Access) bool {
		return x.Array == a && !slices.ContainsFunc(x.Index, func(i ir.Index) bool { return i.Axis < 0 })
	}
	if !slices.ContainsFunc(n.stmts, func(s *statement) bool {
		return slices.ContainsFunc(accesses(s.src.Value), moving)
	}) {
		return fmt.Errorf("%s is read at fixed indices only", a.Name)
	}
	return nil
}

// ration leaves those circular buffers that blocks have the memory for. Where the source
// asks for an occupancy, so many blocks share a multiprocessor's memory, and the
// arrays that are read least go back to global memory until it holds (Rawat et
// al. 2019, section II-B2); what the source wants in shared memory stays.
func (w *tiledKernel) ration(tiles []*sharedTile) ([]*sharedTile, *ResourceLimit) {
	gpu := w.opts.gpu()
	for {
		bytes := int64(0)
		for _, t := range tiles {
			bytes += t.bytes()
		}
		if w.occupancy > 0 && len(tiles) > 0 {
			want := w.wantedBlocks()
			if threads := w.threads(); residentBlocks(gpu, threads, 0, bytes) < want {
				if least := w.leastRead(tiles); least >= 0 {
					tiles = slices.Delete(tiles, least, least+1)
					continue
				}
				each := gpu.SharedPerUnit/want - reservedShared
				return tiles, &ResourceLimit{
					w.name, "bytes of shared memory a block", bytes, each, fmt.Sprintf("each of %d blocks", want),
				}
			}
		}
		if bytes > gpu.SharedPerBlock {
			return tiles, &ResourceLimit{
				w.name, "bytes of shared memory a block", bytes, gpu.SharedPerBlock, "a block",
			}
		}
		return tiles, nil
	}
}

// leastRead returns the tile of the array that a thread reads least, of those
// that need not be there; -1 if there is none.
func (w *tiledKernel) leastRead(tiles []*sharedTile) int {
	best, least := -1, 0
	for i, t := range tiles {
		if w.demanded(t.array) {
			continue
		}
		reads := 0
		for _, s := range w.stmts {
			for _, a := range accesses(s.src.Value) {
				if a.Array == t.array {
					reads++
				}
			}
		}
		if best < 0 || reads < least {
			best, least = i, reads
		}
	}
	return best
}
