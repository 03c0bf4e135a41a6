package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// address finds the cells that the active lanes access and returns the lanes
// whose index is within the buffer.
func (w *warp) address(in *instr, verb string, cells *[lanes]int) uint32 {
	s := &w.m.p.slots[in.a]
	n := w.m.sizes[in.a]
	idx := &w.i[in.b]
	ok := w.mask
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		k := idx[l]
		if uint64(k) >= uint64(n) {
			w.fault(OutOfBounds, in, l, "%s %s[%d], which has %d cells", verb, s.buffer.Name, k, n)
			ok &^= 1 << l
			continue
		}
		cells[l] = int(k)
		if s.perLane {
			cells[l] = int(k)*lanes + l
		}
	}
	return ok
}

func (w *warp) load(in *instr) {
	mem := w.mem[in.a]
	var cells [lanes]int
	ok := w.address(in, "loads", &cells)
	w.loaded(in.a, mem, mem.size, ok, &cells)
	if ok != w.mask {
		w.blank(mem.elem, in.d, w.mask&^ok)
	}
	if mem.written != nil || mem.shadow != nil {
		w.checkLoads(in, mem, ok, &cells)
	}
	w.gatherFrom(mem, in.d, ok, &cells)
}

// gatherFrom copies cells to a register.
func (w *warp) gatherFrom(mem *Memory, d int32, mask uint32, cells *[lanes]int) {
	switch {
	case mem.f64 != nil:
		gather(&w.f[d], mem.f64, mask, cells)
	case mem.f32 != nil:
		gather(&w.f[d], mem.f32, mask, cells)
	case mem.i32 != nil:
		gather(&w.i[d], mem.i32, mask, cells)
	case mem.i64 != nil:
		gather(&w.i[d], mem.i64, mask, cells)
	case mem.u8 != nil:
		gather(&w.i[d], mem.u8, mask, cells)
	}
}

// scatterTo copies a register to cells.
func (w *warp) scatterTo(mem *Memory, c int32, mask uint32, cells *[lanes]int) {
	switch {
	case mem.f64 != nil:
		scatter(mem.f64, &w.f[c], mask, cells)
	case mem.f32 != nil:
		scatter(mem.f32, &w.f[c], mask, cells)
	case mem.i32 != nil:
		scatter(mem.i32, &w.i[c], mask, cells)
	case mem.i64 != nil:
		scatter(mem.i64, &w.i[c], mask, cells)
	case mem.u8 != nil:
		scatter(mem.u8, &w.i[c], mask, cells)
	}
}

type number interface {
	float64 | float32 | int64 | int32 | uint8
}

func gather[R float64 | int64, E number](d *[lanes]R, from []E, mask uint32, cells *[lanes]int) {
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		d[l] = R(from[cells[l]])
	}
}

func scatter[R float64 | int64, E number](to []E, x *[lanes]R, mask uint32, cells *[lanes]int) {
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		to[cells[l]] = E(x[l])
	}
}

// blank gives lanes that loaded nothing a value all the same.
func (w *warp) blank(t types.Type, d int32, mask uint32) {
	v := poison(t)
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		if v.T.IsFloat() {
			w.f[d][l] = v.F
		} else {
			w.i[d][l] = v.I
		}
	}
}

func (w *warp) checkLoads(in *instr, mem *Memory, mask uint32, cells *[lanes]int) {
	at := w.stamp
	at.stmt = in.at
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		c := cells[l]
		if mem.written != nil && !mem.written[c] {
			w.fault(Unwritten, in, l, "loads %s[%d], which nothing has written", w.m.p.slots[in.a].buffer.Name, w.element(in, c))
		}
		if mem.shadow != nil {
			at.lane = w.stamp.lane + uint32(l)
			if race := mem.shadow[c].loaded(&at); race != nil {
				w.race(in, l, c, "loads", "stores", race)
			}
		}
	}
}

func (w *warp) store(in *instr) {
	mem := w.mem[in.a]
	var cells [lanes]int
	ok := w.address(in, "stores to", &cells)
	w.stored(in.a, mem, mem.size, ok, &cells)
	w.noteStores(in, mem, ok, &cells)
	w.scatterTo(mem, in.c, ok, &cells)
}

func (w *warp) noteStores(in *instr, mem *Memory, mask uint32, cells *[lanes]int) {
	at := w.stamp
	at.stmt = in.at
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask) & 31
		c := cells[l]
		if mem.written != nil {
			mem.written[c] = true
		}
		if mem.shadow != nil {
			at.lane = w.stamp.lane + uint32(l)
			if race, store := mem.shadow[c].stored(&at); race != nil {
				w.race(in, l, c, "stores to", map[bool]string{true: "stores", false: "loads"}[store], race)
			}
		}
	}
}

// element returns the index at which a cell of a buffer is.
func (w *warp) element(in *instr, cell int) int {
	if w.m.p.slots[in.a].perLane {
		return cell / lanes
	}
	return cell
}

// race reports that a lane's access and an earlier one are in no order.
func (w *warp) race(in *instr, lane, cell int, verb, other string, s *stamp) {
	text := "another iteration"
	if w.m.p.gpu {
		text = w.m.name(s.member, s.lane)
	}
	w.fault(Race, in, lane, "%s %s[%d] while %s %s at %s", verb, w.m.p.slots[in.a].buffer.Name, w.element(in, cell), text, other, w.m.p.places[s.stmt].path)
}

// alloc makes local memory anew for the active lanes.
func (w *warp) alloc(in *instr) {
	mem := w.mem[in.a]
	if !w.m.p.slots[in.a].perLane {
		mem.forget()
		return
	}
	v := poison(mem.elem)
	for c := range mem.n {
		if w.mask>>(c%lanes)&1 != 0 {
			mem.written[c] = false
			mem.put(c, v.F, v.I)
		}
	}
}
