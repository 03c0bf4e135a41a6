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
	less, err := s.Fix("stream", schedule.Word(n.Program.Axes[axis]))
	if err == nil {
		return less, nil
	}
	f := s.Family("stream")
	switch {
	case f != nil:
		return s, fmt.Errorf("blocks of threads can go along %s", alternatives(f.Param("stream").Values))
	case n.group.InPlace:
		return s, fmt.Errorf("the kernel reads cells that it overwrites, and has a thread for each")
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
	less, err := s.Choose("block", sizesText(sizes), func(v schedule.Value) bool { return slices.Equal(innermostFirst(v), trimmed(sizes)) })
	if err == nil {
		return less, nil
	}
	return s, fmt.Errorf("no such block of threads is made here; near it %s", nearBlocks(s, sizes))
}

// innermostFirst returns the sizes of a block as a pragma has them.
func innermostFirst(v schedule.Value) []int64 {
	sizes := schedule.Config{Values: []schedule.Setting{{Name: "block", Value: v}}}.Ints("block")
	sizes = slices.Clone(sizes)
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
		p := f.Param("block")
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
		var params []string
		for _, name := range []string{"stream", "planes", "vec", "rows", "repeat"} {
			inner := axis == n.inner()
			if f.Param(name) == nil || inner && name != "vec" && name != "repeat" || !inner && name == "vec" {
				continue
			}
			params = append(params, name)
		}
		if len(params) == 0 { // a cell for each thread
			if factor == 1 {
				out.Families = append(out.Families, f)
			}
			continue
		}
		only, err := only.Constrain(schedule.Constraint{
			Name: "cells on " + n.Program.Axes[axis], Doc: "the source fixes them", Params: params,
			Holds: func(c schedule.Config) bool { return n.cellsOn(c, axis) == factor },
		})
		if err == nil {
			out.Families = append(out.Families, only.Families...)
		}
	}
	return out
}

// adjacent makes neighbouring cells the default.
func (n *nest) adjacent(s schedule.Space, axis int, factor int64) schedule.Space {
	c := s.Default("")
	switch {
	case axis == n.inner():
		return s.Prefer("vec", schedule.Int(factor))
	case c.Has("stream") && n.axisNamed(c.Word("stream")) == axis:
		return s.Prefer("planes", schedule.Int(factor))
	case c.Has("rows"):
		rows := slices.Clone(c.Ints("rows"))
		if at := len(rows) - n.fromInner(c, axis); at >= 0 {
			rows[at] = factor
			return s.Prefer("rows", schedule.Int(rows[0], rows[1:]...))
		}
	}
	return s
}

// fromInner counts the axes that threads are spread over, from an axis to the
// innermost.
func (n *nest) fromInner(c schedule.Config, axis int) int {
	count := 0
	for _, a := range n.axes {
		if a >= axis && !(c.Has("stream") && n.axisNamed(c.Word("stream")) == a) {
			count++
		}
	}
	return count - 1
}

// cellsOn returns how many cells a thread has on an axis, as tiling does.
func (n *nest) cellsOn(c schedule.Config, axis int) int64 {
	if c.Has("stream") && n.axisNamed(c.Word("stream")) == axis {
		return c.Int("planes")
	}
	of := func(name string, fromEnd int) int64 {
		if !c.Has(name) || fromEnd >= len(c.Ints(name)) {
			return 1
		}
		list := c.Ints(name)
		return list[len(list)-1-fromEnd]
	}
	if axis == n.inner() {
		return of("vec", 0) * of("repeat", 0)
	}
	at := n.fromInner(c, axis)
	return of("rows", at-1) * of("repeat", at)
}

// occupied leaves those whose blocks can fill so large a part of a
// multiprocessor's threads; the registers that this leaves a thread are then
// the compiler's limit (aim).
func (n *nest) occupied(s schedule.Space, part float64) (schedule.Space, error) {
	if len(n.axes) == 0 {
		return s, elsewhere("no kernel has more than one thread")
	}
	gpu := n.opts.gpu()
	resident := func(c schedule.Config) float64 {
		threads, registers := product(c.Ints("block")), int64(0)
		if c.Has("registers") {
			registers = c.Int("registers")
		}
		return float64(residentBlocks(gpu, threads, registers, 0)*threads) / float64(gpu.ThreadsPerUnit)
	}
	var out schedule.Space
	most := 0.0
	for _, f := range s.Families {
		params := []string{"block"}
		if f.Param("registers") != nil {
			params = append(params, "registers")
		}
		less, err := schedule.Space{Families: []schedule.Family{f}}.Constrain(schedule.Constraint{
			Name: "occupancy", Doc: "the source asks for it", Params: params,
			Holds: func(c schedule.Config) bool { return resident(c) >= part },
		})
		if err == nil {
			out.Families = append(out.Families, less.Families...)
			continue
		}
		for _, v := range f.Param("block").Values {
			most = max(most, resident(schedule.Config{Values: []schedule.Setting{{Name: "block", Value: v}}}))
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
	threads := float64(product(n.config.Ints("block")))
	return int64(math.Ceil(n.occupancy * float64(n.opts.gpu().ThreadsPerUnit) / threads))
}
