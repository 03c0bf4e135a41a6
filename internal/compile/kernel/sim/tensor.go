package sim

import (
	"fmt"
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// tensorMap is a tensor map of a launch.
type tensorMap struct {
	extents []int64
	box     []int64
	unit    int64 // elements that indices along the last axis are multiples of
}

// newTensorMap works out a tensor map as a driver does, which refuses what the copy engine cannot have.
func newTensorMap(k *kernel.Kernel, b *kernel.Buffer, env map[*kernel.Var]op.Value, cells int64) (*tensorMap, error) {
	t := &tensorMap{box: b.Tensor.Box, unit: b.Tensor.Unit(b.Elem)}
	n := int64(1)
	for _, e := range b.Tensor.Extents {
		extent := kernel.Eval(e, env).I
		if extent < 1 || extent > 1<<32 {
			return nil, fmt.Errorf("%s: the tensor map %s has %d elements along an axis", k.Name, b.Name, extent)
		}
		t.extents = append(t.extents, extent)
		n *= extent
	}
	last := t.extents[len(t.extents)-1]
	switch bytes := last * int64(b.Elem.Size()); {
	case n > cells:
		return nil, fmt.Errorf("%s: the tensor map %s is of %d elements, and there are %d", k.Name, b.Name, n, cells)
	case bytes%bulkAlign != 0 || last%t.unit != 0:
		return nil, fmt.Errorf("%s: the rows of the tensor map %s have %d bytes, no multiple of %d", k.Name, b.Name,
			bytes, max(bulkAlign, t.unit*int64(b.Elem.Size())))
	}
	return t, nil
}

// runs takes a box apart into runs of cells from memory, and of zeros where it is outside: those to
// go to memory from a cell on.
func (t *tensorMap) runs(corner []int64, from *Memory, at int) []bulk {
	last := len(t.box) - 1
	rows := int64(1)
	for _, n := range t.box[:last] {
		rows *= n
	}
	var list []bulk
	add := func(from *Memory, src, cells int64) {
		if cells > 0 {
			list = append(list, bulk{from: from, at: at, src: int(src), cells: int(cells)})
			at += int(cells)
		}
	}
	width := t.box[last]
	for row := range rows {
		index, inside, left, stride := int64(0), true, row, t.extents[last]
		for d := last - 1; d >= 0; d-- {
			x := corner[d] + left%t.box[d]
			left /= t.box[d]
			inside = inside && x >= 0 && x < t.extents[d]
			index += x * stride
			stride *= t.extents[d]
		}
		lo := min(max(-corner[last], 0), width)
		hi := min(max(t.extents[last]-corner[last], lo), width)
		if !inside {
			lo, hi = width, width
		}
		add(nil, 0, lo)
		add(from, index+corner[last]+lo, hi-lo)
		add(nil, 0, width-hi)
	}
	return list
}

// tensor starts copies of boxes, one for every active lane. As with bulk copies, the bytes count as
// come at once, and the cells hold values when the phase has ended.
func (w *warp) tensor(in *instr) {
	t := w.m.tensors[in.c]
	size := w.mem[in.a].size
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		corner := make([]int64, len(t.box))
		for d := range corner {
			corner[d] = w.i[in.d+int32(d)][l]
		}
		elements := w.m.p.slots[in.c].buffer.Tensor.Elements()
		if !w.placed(in, l, elements, corner[len(corner)-1], t.unit) {
			continue
		}
		runs := t.runs(corner, w.mem[in.c], int(w.i[in.b][l]))
		for i := range runs {
			if runs[i].from != nil {
				w.countSource(in, &runs[i], int64(runs[i].cells)*size)
			}
		}
		for _, b := range w.receivers(in, l) {
			w.receive(in, l, b, runs, elements*size)
		}
	}
}

// placed reports whether a box lies where it may.
func (w *warp) placed(in *instr, lane int, elements, from, unit int64) bool {
	name, to, at := w.m.p.slots[in.a].buffer.Name, w.mem[in.a], w.i[in.b][lane]
	switch {
	case at < 0 || at > int64(to.n)-elements:
		w.fault(OutOfBounds, in, lane, "copies to %s[%d] to [%d], which has %d cells", name, at, at+elements-1, to.n)
	case at*to.size%kernel.TensorPlaceUnit != 0:
		w.fault(Misaligned, in, lane, "copies a box to byte %d of %s, which is no multiple of %d", at*to.size, name,
			kernel.TensorPlaceUnit)
	case from*to.size%kernel.TensorRunBytes != 0:
		w.fault(Misaligned, in, lane, "copies a box of %s from byte %d of a row on, which is no multiple of %d",
			w.m.p.slots[in.c].buffer.Name, from*to.size, kernel.TensorRunBytes)
	case from%unit != 0:
		w.fault(Misaligned, in, lane, "copies a box of %s from within what the tensor map takes for one element",
			w.m.p.slots[in.c].buffer.Name)
	default:
		return true
	}
	return false
}

// receivers returns the blocks that a copy goes to.
func (w *warp) receivers(in *instr, lane int) []*block {
	if in.e < 0 {
		return []*block{w.block}
	}
	var list []*block
	set := uint32(w.i[in.e][lane])
	if set == 0 {
		w.fault(OutOfBounds, in, lane, "copies to no block")
	}
	for ; set != 0; set &= set - 1 {
		if b := w.visitRank(in, "copies to", int64(bits.TrailingZeros32(set)), lane); b != nil {
			list = append(list, b)
		}
	}
	return list
}

// receive starts the copy to one block.
func (w *warp) receive(in *instr, lane int, b *block, runs []bulk, bytes int64) {
	slot := w.i[in.f][lane]
	bar := w.mbarrier(in, "copies for", b, in.to, slot, lane)
	if bar == nil {
		return
	}
	to := b.shared[in.a]
	counts := &w.m.counts.Buffers[in.a]
	counts.Stores++
	counts.StoredBytes += bytes
	bar.serial++
	agent := w.m.filler(b, in.to, int(slot))
	for _, c := range runs {
		c.to = to
		for e := range c.cells {
			w.unfenced(in, lane, to, c.at+e)
			if c.from == nil {
				w.lands(in, lane, to, c.at+e, uint32(agent*lanes), bar.serial)
			} else {
				w.starts(in, lane, to, c.at+e, c.from, c.src+e, uint32(agent*lanes), bar.serial)
			}
		}
		bar.copies = append(bar.copies, &c)
	}
	bar.now.learn(agent, moment{time: bar.serial})
	if bar.bytes -= bytes; bar.bytes == 0 && bar.missing == 0 {
		w.complete(in, in.to, slot, bar)
	}
}
