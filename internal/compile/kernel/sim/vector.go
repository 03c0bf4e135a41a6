package sim

import "math/bits"

// wide finds the first cells of some lanes' accesses to several elements
// each, and returns the lanes that access what they may.
func (w *warp) wide(in *instr, mask uint32, verb string, cells *[lanes]int) uint32 {
	b := w.m.p.slots[in.a].buffer
	n, k := w.m.sizes[in.a], int64(in.sub)
	idx := &w.i[in.b]
	ok := mask
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		at := idx[l]
		cells[l] = int(at)
		if at%k != 0 {
			w.fault(Misaligned, in, l, "%s %d elements of %s from %d, which is no multiple of %d",
				verb, k, b.Name, at, k)
			ok &^= 1 << l
		} else if at < 0 || at > int64(n)-k {
			w.fault(OutOfBounds, in, l, "%s %s[%d] to [%d], which has %d cells", verb, b.Name, at, at+k-1, n)
			ok &^= 1 << l
		}
	}
	return ok
}

func (w *warp) loadVector(in *instr) {
	mem := w.mem[in.a]
	var cells [lanes]int
	ok := w.wide(in, w.mask, "loads", &cells)
	w.loaded(in.a, mem, mem.size*int64(in.sub), w.mask, ok, &cells)
	for e := range int32(in.sub) {
		if ok != w.mask {
			w.blank(mem.elem, in.d+e, w.mask&^ok)
		}
		if mem.written != nil || mem.history != nil {
			w.checkLoads(in, mem, ok, &cells)
		}
		w.gatherFrom(mem, in.d+e, ok, &cells)
		next(&cells)
	}
}

func (w *warp) storeVector(in *instr) { w.storeVectorTo(in, w.mem[in.a], w.mask) }

// storeVectorTo makes lanes store to memory, which may be another block's.
func (w *warp) storeVectorTo(in *instr, mem *Memory, mask uint32) {
	var cells [lanes]int
	ok := w.wide(in, mask, "stores to", &cells)
	w.stored(in.a, mem, mem.size*int64(in.sub), mask, ok, &cells)
	for e := range int32(in.sub) {
		w.noteStores(in, mem, ok, &cells)
		w.scatterTo(mem, in.c+e, ok, &cells)
		next(&cells)
	}
}

// next moves to the cells that follow.
func next(cells *[lanes]int) {
	for l := range cells {
		cells[l]++
	}
}
