package sim

import "math/bits"

// bulk is a copy of a run of cells that an mbarrier waits for; a run of zeros if it is from nowhere.
type bulk struct {
	to, from       *Memory
	at, src, cells int
}

// land puts the cells where they belong.
func (c *bulk) land() {
	for e := range c.cells {
		if c.from == nil {
			c.to.put(c.at+e, 0, 0)
			c.to.written[c.at+e] = true
			continue
		}
		c.to.take(c.at+e, c.from, c.src+e)
	}
}

const bulkAlign = 16 // bytes, of both sides and of the length

// bulk starts bulk copies, one for every active lane. The bytes count as come
// at once; the cells hold values when the phase has ended.
func (w *warp) bulk(in *instr) {
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		bar := w.mbarrier(in, "copies for", w.block, in.to, w.i[in.f][l], l)
		if bar == nil {
			continue
		}
		c := &bulk{
			to: w.mem[in.a], from: w.mem[in.c], at: int(w.i[in.b][l]), src: int(w.i[in.d][l]), cells: int(w.i[in.e][l]),
		}
		if !w.fits(in, l, c) {
			continue
		}
		bytes := int64(c.cells) * c.to.size
		w.countBulk(in, c, bytes)
		bar.serial++
		agent := w.m.filler(w.block, in.to, int(w.i[in.f][l]))
		for e := range c.cells {
			w.unfenced(in, l, c.to, c.at+e)
			w.starts(in, l, c.to, c.at+e, c.from, c.src+e, uint32(agent*lanes), bar.serial)
		}
		bar.now.learn(agent, moment{time: bar.serial})
		bar.copies = append(bar.copies, c)
		if bar.bytes -= bytes; bar.bytes == 0 && bar.missing == 0 {
			w.complete(in, in.to, w.i[in.f][l], bar)
		}
	}
}

// fits reports whether a copy lies within both buffers, where it may.
func (w *warp) fits(in *instr, lane int, c *bulk) bool {
	to, from := w.m.p.slots[in.a].buffer.Name, w.m.p.slots[in.c].buffer.Name
	size := int(c.to.size)
	switch {
	case c.cells < 1:
		w.fault(OutOfBounds, in, lane, "copies %d elements", c.cells)
	case c.src < 0 || c.src > c.from.n-c.cells:
		w.fault(OutOfBounds, in, lane, "copies %s[%d] to [%d], which has %d cells",
			from, c.src, c.src+c.cells-1, c.from.n)
	case c.at < 0 || c.at > c.to.n-c.cells:
		w.fault(OutOfBounds, in, lane, "copies to %s[%d] to [%d], which has %d cells", to, c.at, c.at+c.cells-1, c.to.n)
	case c.at*size%bulkAlign != 0 || c.src*size%bulkAlign != 0 || c.cells*size%bulkAlign != 0:
		w.fault(Misaligned, in, lane,
			"copies %d bytes from byte %d of %s to byte %d of %s, which are not all multiples of %d",
			c.cells*size, c.src*size, from, c.at*size, to, bulkAlign)
	default:
		return true
	}
	return false
}

// countBulk counts a bulk copy as one load and one store.
func (w *warp) countBulk(in *instr, c *bulk, bytes int64) {
	to := &w.m.counts.Buffers[in.a]
	w.countSource(in, c, bytes)
	to.Stores++
	to.StoredBytes += bytes
}

// countSource counts what a bulk copy loads.
func (w *warp) countSource(in *instr, c *bulk, bytes int64) {
	from := &w.m.counts.Buffers[in.c]
	from.Loads++
	from.LoadedBytes += bytes
	first, last := int64(c.src)*c.from.size, int64(c.src)*c.from.size+bytes-1
	from.LoadedSectors += last>>sectorBits - first>>sectorBits + 1
	from.LoadedLines += last>>lineBits - first>>lineBits + 1
}

// filler returns the agent that copies for an mbarrier of a block.
func (m *execution) filler(b *block, slot int32, index int) int {
	return m.agents - m.bulks + b.rank*m.barriers + m.slots[slot] + index
}
