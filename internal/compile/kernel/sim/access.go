package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// address finds the cells that some lanes access and returns the lanes
// whose index is within the buffer.
func (w *warp) address(in *instr, mask uint32, verb string, cells *[lanes]int) uint32 {
	s := &w.m.p.slots[in.a]
	n := w.m.sizes[in.a]
	idx := &w.i[in.b]
	ok := mask
	for ; mask != 0; mask &= mask - 1 {
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

func (w *warp) load(in *instr) { w.loadFrom(in, w.mem[in.a], w.mask) }

// loadFrom makes lanes load from memory, which may be another block's.
func (w *warp) loadFrom(in *instr, mem *Memory, mask uint32) {
	var cells [lanes]int
	ok := w.address(in, mask, "loads", &cells)
	w.loaded(in.a, mem, mem.size, mask, ok, &cells)
	if ok != mask {
		w.blank(mem.elem, in.d, mask&^ok)
	}
	if mem.written != nil || mem.history != nil {
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
		if mem.history != nil {
			at.lane = w.stamp.lane + uint32(l)
			if race := mem.history.loaded(c, &at, w.sees(l), &at); race != nil {
				w.race(in, in.a, l, c, "loads", "stores", race)
				if w.m.copying(race) {
					continue // nothing else is wrong with the cell
				}
			}
			if mem.accesses != nil {
				mem.accesses.note(c, &at)
			}
		}
		if mem.written != nil && !mem.written[c] {
			w.fault(Unwritten, in, l, "loads %s[%d], which nothing has written",
				w.m.p.slots[in.a].buffer.Name, w.element(in.a, c))
		}
	}
}

func (w *warp) store(in *instr) { w.storeTo(in, w.mem[in.a], w.mask) }

// storeTo makes lanes store to memory, which may be another block's.
func (w *warp) storeTo(in *instr, mem *Memory, mask uint32) {
	var cells [lanes]int
	ok := w.address(in, mask, "stores to", &cells)
	w.stored(in.a, mem, mem.size, mask, ok, &cells)
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
		if mem.history != nil {
			at.lane = w.stamp.lane + uint32(l)
			if race, store := mem.history.stored(c, &at, w.sees(l), &at); race != nil {
				w.race(in, in.a, l, c, "stores to", other(store), race)
			}
			if mem.accesses != nil {
				mem.accesses.note(c, &at)
			}
		}
	}
}

// other is what the earlier of two accesses does.
func other(store bool) string {
	if store {
		return "stores"
	}
	return "loads"
}

// element returns the index at which a cell of a buffer is.
func (w *warp) element(slot int32, cell int) int {
	if w.m.p.slots[slot].perLane {
		return cell / lanes
	}
	return cell
}

// race reports that a lane's access to a cell and an earlier one are in no
// order.
func (w *warp) race(in *instr, slot int32, lane, cell int, verb, other string, s *stamp) {
	w.fault(Race, in, lane, "%s %s[%d] while %s %s at %s", verb, w.m.p.slots[slot].buffer.Name, w.element(slot, cell),
		w.m.author(s), other, w.m.p.places[s.stmt].path)
}

// author names what made an access.
func (m *execution) author(s *stamp) string {
	switch {
	case !m.p.gpu:
		return "another iteration"
	case s.lane == inFlight:
		return "an asynchronous copy"
	case m.copying(s):
		return "a bulk copy"
	}
	return m.name(s.member, s.lane)
}

// copying reports whether an access is one of a copy.
func (m *execution) copying(s *stamp) bool { return m.p.gpu && int(s.lane/lanes) >= m.agents-m.bulks }

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
