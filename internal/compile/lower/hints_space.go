package lower

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// streamed leaves those configurations whose blocks go along an axis.
func (n *nest) streamed(s schedule.Space, axis int) (schedule.Space, error) {
	if !slices.Contains(n.axes, axis) {
		return s, elsewhere("no kernel runs over " + n.Program.Axes[axis])
	}
	less, err := s.On(schedule.Stream).Fix(schedule.Word(n.Program.Axes[axis]))
	if err == nil {
		return less, nil
	}
	at := slices.IndexFunc(s.Families, func(f schedule.Family) bool { return f.For(schedule.Stream) != nil })
	switch {
	case at >= 0:
		return s, fmt.Errorf("blocks of threads can go along %s",
			alternatives(s.Families[at].For(schedule.Stream).Values))
	case n.group.InPlace:
		return s, fmt.Errorf("the kernel reads cells that it overwrites, and has a thread for each")
	}
	if len(n.axes) > 1 {
		return s, fmt.Errorf("no kernel of these statements has blocks of threads that go along an axis")
	}
	return s, fmt.Errorf("the kernel has no other axis than %s", n.Program.Axes[axis])
}

func alternatives(values []schedule.Value) string {
	var list []string
	for _, v := range values {
		list = append(list, v.String())
	}
	return strings.Join(list, " or ")
}

// blocked leaves those whose blocks have so many threads on each axis, the
// innermost first.
func (n *nest) blocked(s schedule.Space, sizes []int64) (schedule.Space, error) {
	if len(n.axes) == 0 {
		return s, elsewhere("no kernel has more than one thread")
	}
	less, err := s.On(schedule.Threads).Choose(sizesText(sizes), func(v schedule.Value) bool {
		return slices.Equal(innermostFirst(v), trimmed(sizes))
	})
	if err == nil {
		return less, nil
	}
	return s, fmt.Errorf("no such block of threads is made here; near it %s", nearBlocks(s, sizes))
}

// innermostFirst returns the sizes of a block as a pragma has them.
func innermostFirst(v schedule.Value) []int64 {
	sizes := slices.Clone(v.Ints())
	slices.Reverse(sizes)
	return trimmed(sizes)
}

// trimmed leaves out axes of one thread at the end.
func trimmed(sizes []int64) []int64 {
	for len(sizes) > 1 && sizes[len(sizes)-1] == 1 {
		sizes = sizes[:len(sizes)-1]
	}
	return sizes
}

// nearBlocks names the blocks of a space that are most like one.
func nearBlocks(s schedule.Space, sizes []int64) string {
	at := func(list []int64, i int) float64 {
		if i < len(list) {
			return math.Log2(float64(list[i]))
		}
		return 0
	}
	var all [][]int64
	far := func(b []int64) float64 {
		sum := 0.0
		for i := range max(len(b), len(sizes)) {
			sum += math.Abs(at(b, i) - at(sizes, i))
		}
		return sum
	}
	for _, f := range s.Families {
		p := f.For(schedule.Threads)
		if p == nil {
			continue
		}
		for _, v := range p.Values {
			b := innermostFirst(v)
			if !slices.ContainsFunc(all, func(c []int64) bool { return slices.Equal(b, c) }) {
				all = append(all, b)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []int64) int {
		switch d := far(a) - far(b); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return slices.Compare(a, b)
	})
	var texts []string
	for _, b := range all[:min(3, len(all))] {
		texts = append(texts, sizesText(b))
	}
	if len(texts) == 1 {
		return "is " + texts[0]
	}
	return "are " + strings.Join(texts, ", ")
}

// unrolled leaves those whose threads compute so many cells on an axis: next to
// each other, or at the distance of a block (blocked and cyclic distribution,
// Rawat et al. 2019, section III-A). Neighbours are the default.
func (n *nest) unrolled(s schedule.Space, axis int, factor int64) (schedule.Space, error) {
	if !slices.Contains(n.axes, axis) {
		return s, elsewhere("no kernel runs over " + n.Program.Axes[axis])
	}
	if less := n.withCells(s, axis, factor); len(less.Families) > 0 {
		return less, nil
	}
	var would []string
	for other := int64(1); other <= 1024; other++ {
		if other > 8 && other&(other-1) != 0 {
			continue // beyond a few, powers of two alone
		}
		if other != factor && len(n.withCells(s, axis, other).Families) > 0 {
			would = append(would, fmt.Sprint(other))
		}
	}
	return s, fmt.Errorf("threads can have %s cells on %s here", strings.Join(would, ", "), n.Program.Axes[axis])
}

// withCells returns the configurations with so many cells of a thread on an
// axis, in those families that have any.
func (n *nest) withCells(s schedule.Space, axis int, factor int64) schedule.Space {
	var out schedule.Space
	for _, f := range s.Families {
		only := n.adjacent(schedule.Space{Families: []schedule.Family{f}}, axis, factor)
		params := n.cellParams(&f, axis)
		if len(params) == 0 { // a cell for each thread
			if factor == 1 {
				out.Families = append(out.Families, f)
			}
			continue
		}
		roles := f.Roles()
		only, err := only.Constrain(schedule.Constraint{
			Name: "cells on " + n.Program.Axes[axis], Doc: "the source fixes them", Params: params,
			Holds: func(c schedule.Config) bool { return n.cellsOn(roles.Of(c), axis) == factor },
		})
		if err == nil {
			out.Families = append(out.Families, only.Families...)
		}
	}
	return out
}

// adjacent makes neighbouring cells the default.
func (n *nest) adjacent(s schedule.Space, axis int, factor int64) schedule.Space {
	set := s.ByRole(s.Default(""))
	at := slices.Index(n.axes, axis)
	switch shape := n.shape(set); {
	case axis == n.inner() && set.Has(schedule.Vector):
		return s.On(schedule.Vector).Prefer(schedule.Int(factor))
	case shape.Stream == at:
		return s.On(schedule.StreamUnroll).Prefer(schedule.Int(factor))
	case set.Has(schedule.BlockedUnroll):
		rows := slices.Clone(set.Ints(schedule.BlockedUnroll))
		outward := n.outward(shape, at)
		if first, ok := s.Families[0].For(schedule.BlockedUnroll).Axis.FromInner(); ok {
			if i := len(rows) - 1 - (outward - first); i >= 0 && i < len(rows) {
				rows[i] = factor
				return s.On(schedule.BlockedUnroll).Prefer(schedule.Int(rows[0], rows[1:]...))
			}
		}
	}
	return s
}

// outward counts the axes that threads are spread over inside of one of the
// kernel's axes.
func (n *nest) outward(shape schedule.Shape, at int) int {
	count := len(n.axes) - 1 - at
	if shape.Stream > at {
		count--
	}
	return count
}

// cellParams names the parameters that say how many cells a thread has on an axis.
func (n *nest) cellParams(f *schedule.Family, axis int) []string {
	var list []string
	inner := axis == n.inner()
	for _, r := range []schedule.Role{
		schedule.Stream, schedule.StreamUnroll, schedule.Vector, schedule.BlockedUnroll, schedule.CyclicUnroll,
	} {
		p := f.For(r)
		if p == nil {
			continue
		}
		first, spread := p.Axis.FromInner()
		switch {
		case inner && (!spread || first > 0), !inner && r == schedule.Vector:
			continue
		}
		list = append(list, p.Name)
	}
	return list
}

// cellsOn returns how many cells a thread has on an axis.
func (n *nest) cellsOn(set schedule.ByRole, axis int) int64 {
	shape, at := n.shape(set), slices.Index(n.axes, axis)
	if shape.Stream == at { // steps that are written out one after the other
		return max(1, set.Int(schedule.StreamUnroll, 1))
	}
	return shape.On[at].Cells()
}

// withOccupancy leaves those whose blocks can fill so large a part of a
// multiprocessor's threads; the registers that this leaves a thread are then
// the compiler's limit (aim).
func (n *nest) withOccupancy(s schedule.Space, part float64) (schedule.Space, error) {
	if len(n.axes) == 0 {
		return s, elsewhere("no kernel has more than one thread")
	}
	gpu := n.opts.gpu()
	resident := func(threads, registers int64) float64 {
		return float64(residentBlocks(gpu, threads, registers, 0)*threads) / float64(gpu.ThreadsPerUnit)
	}
	var out schedule.Space
	most := 0.0
	for _, f := range s.Families {
		params, roles := f.Names(schedule.Threads, schedule.RegisterLimit), f.Roles()
		less, err := schedule.Space{Families: []schedule.Family{f}}.Constrain(schedule.Constraint{
			Name: "occupancy", Doc: "the source asks for it", Params: params,
			Holds: func(c schedule.Config) bool {
				set := roles.Of(c)
				return resident(set.Int(schedule.Threads, 1), set.Int(schedule.RegisterLimit, 0)) >= part
			},
		})
		if err == nil {
			out.Families = append(out.Families, less.Families...)
			continue
		}
		for _, v := range f.For(schedule.Threads).Values {
			most = max(most, resident(product(v.Ints()), 0))
		}
	}
	if len(out.Families) == 0 {
		return s, fmt.Errorf("the blocks that there are can fill %v of a multiprocessor at most", most)
	}
	n.occupancy = part
	return out, nil
}

// aim tells the compiler how many blocks a multiprocessor is to hold, where the
// source asks for an occupancy.
func (n *nest) aim(k *kernel.Kernel) {
	if n.occupancy > 0 && k.MaxRegisters == 0 {
		k.MinBlocks = int(n.wantedBlocks())
	}
}

// wantedBlocks returns how many blocks make up the occupancy that is asked for.
func (n *nest) wantedBlocks() int64 {
	threads := float64(n.set.Int(schedule.Threads, 1))
	return int64(math.Ceil(n.occupancy * float64(n.opts.gpu().ThreadsPerUnit) / threads))
}
