package sim

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// shuffle passes values between the lanes of a warp. A lane that asks for the
// value of a thread that the warp does not have gets poison.
func (w *warp) shuffle(in *instr) {
	if missing := w.all &^ w.mask; missing != 0 {
		w.fault(PartialWarp, in, bits.TrailingZeros32(w.mask), "%s does not come to this shuffle",
			w.name(bits.TrailingZeros32(missing)))
	}
	w.m.counts.Shuffles += w.active
	from := [lanes]int{}
	absent := uint32(0)
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		by := w.i[in.b][l]
		if by < 0 || by >= lanes {
			w.fault(OutOfBounds, in, l, "a shuffle by %d in a warp of %d threads", by, lanes)
			by = 0
		}
		from[l] = source(kernel.ShuffleKind(in.sub), l, int(by))
		if w.mask>>from[l]&1 == 0 {
			absent |= 1 << l
		}
	}
	if in.typ.IsFloat() {
		d, x := &w.f[in.d], w.f[in.a]
		for l := range lanes {
			d[l] = x[from[l]]
		}
	} else {
		d, x := &w.i[in.d], w.i[in.a]
		for l := range lanes {
			d[l] = x[from[l]]
		}
	}
	w.blank(in.typ, in.d, absent)
}

// source returns the lane whose value lane l gets.
func source(k kernel.ShuffleKind, l, by int) int {
	switch k {
	case kernel.ShuffleUp:
		if l >= by {
			return l - by
		}
		return l
	case kernel.ShuffleDown:
		if l+by < lanes {
			return l + by
		}
		return l
	case kernel.ShuffleXor:
		return l ^ by
	}
	return by
}
