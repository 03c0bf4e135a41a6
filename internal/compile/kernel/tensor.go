package kernel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Tensor is how a tensor map sees memory: as a dense array of some axes, the slowest first, of
// which copies take boxes of one size. The elements of the array are the first of the buffer.
type Tensor struct {
	Extents []Expr  // elements along each axis, over the kernel's scalars
	Box     []int64 // elements along each axis
}

// TensorCopy starts to copy a box from global to shared memory, by the block's copy engine: the
// tensor map's box whose first element is at Corner. The box lies dense in shared memory, from an
// element on that is aligned to 128 bytes; in memory its rows begin at a multiple of 16 bytes (H200s stop with an
// illegal instruction elsewhere). Where the box is outside of the array it has zeros, and nothing is read there. When
// the bytes of the whole box have arrived, they are counted at an mbarrier.
//
// With Blocks, a set of ranks whose lowest bit is rank 0, the box goes to all these blocks of the
// cluster: to the same place in the copies that they have of To, and each counts the bytes at its
// own copy of the mbarrier.
//
// Example printed forms:
//
//	(tensor tile at u_tensor (k j i) full (i64 0))
//	(tensor tile at u_tensor (k j i) full (i64 0) (blocks (i32 3)))
type TensorCopy struct {
	To       *Buffer
	At       Expr
	From     *Buffer
	Corner   []Expr // I32, an index for each axis; may be negative
	Mbarrier *Buffer
	Slot     Expr
	Blocks   Expr // I32, or nil for the block itself
}

// Limits of tensor maps, by the CUDA driver API's cuTensorMapEncodeTiled.
const (
	MaxTensorAxes   = 5
	MaxBoxElements  = 256 // along an axis
	TensorRunBytes  = 16  // what the bytes of an array's and a box's rows, and those before a box, are multiples of
	TensorPlaceUnit = 128 // bytes that the places of boxes in shared memory are multiples of
)

// Unit returns how many elements of a type a tensor map takes for one along its last axis, so that
// its box is within the limit of elements; 0 if no number does. Indices along that axis are multiples.
func (t *Tensor) Unit(elem types.Type) int64 {
	last := t.Box[len(t.Box)-1]
	for unit := int64(1); unit*int64(elem.Size()) <= 8; unit *= 2 {
		if last%unit == 0 && last/unit <= MaxBoxElements {
			return unit
		}
	}
	return 0
}

// Elements returns the number of elements of a box.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, m := range t.Box {
		n *= m
	}
	return n
}

// text prints what a buffer says of its tensor map.
func (t *Tensor) text() string {
	box := make([]string, len(t.Box))
	for i, n := range t.Box {
		box[i] = strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf(" (extents %s) (box %s)", exprTexts(t.Extents), strings.Join(box, " "))
}

// tensorMap checks what an argument says of its tensor map.
func (v *verifier) tensorMap(b *Buffer) {
	t := b.Tensor
	switch {
	case b.Space != TensorMap && t == nil:
		return
	case b.Space != TensorMap:
		v.fail("%s is in %s memory, of which there is no tensor map", b.Name, b.Space)
		return
	case t == nil || len(t.Extents) < 1 || len(t.Extents) > MaxTensorAxes || len(t.Box) != len(t.Extents):
		v.fail("the tensor map %s has no extents and box along 1 to %d axes", b.Name, MaxTensorAxes)
		return
	}
	for i, n := range t.Box {
		v.cells(t.Extents[i], "an extent of "+b.Name)
		if n < 1 || i < len(t.Box)-1 && n > MaxBoxElements {
			v.fail("the box of %s has %d elements along an axis, not 1 to %d", b.Name, n, MaxBoxElements)
		}
	}
	last, size := t.Box[len(t.Box)-1], int64(b.Elem.Size())
	switch {
	case t.Unit(b.Elem) == 0:
		v.fail("the rows of the box of %s have %d elements, more than a tensor map takes", b.Name, last)
	case last*size%TensorRunBytes != 0:
		v.fail("the rows of the box of %s have %d bytes, no multiple of %d", b.Name, last*size, TensorRunBytes)
	}
	if n, ok := IntLit(t.Extents[len(t.Extents)-1]); ok && n*size%TensorRunBytes != 0 {
		v.fail("the rows of %s have %d bytes, no multiple of %d", b.Name, n*size, TensorRunBytes)
	}
}

// tensorCopy checks a copy of a box.
func (v *verifier) tensorCopy(s *TensorCopy) {
	v.index(s.To, s.At)
	v.stores(s.To, Plain)
	v.access(s.From)
	if s.To.Elem != s.From.Elem {
		v.fail("a copy from %s to %s", s.From.Elem, s.To.Elem)
	}
	if s.To.Space != Shared || s.From.Space != TensorMap {
		v.fail("a copy from %s to %s memory, not from a tensor map to shared memory", s.From.Space, s.To.Space)
	}
	if t := s.From.Tensor; t != nil && len(s.Corner) != len(t.Box) {
		v.fail("%d indices of a box along %d axes", len(s.Corner), len(t.Box))
	}
	for _, e := range s.Corner {
		v.want(e, types.I32, "an index")
	}
	if at, ok := IntLit(s.At); ok && at*int64(s.To.Elem.Size())%TensorPlaceUnit != 0 {
		v.fail("a box at byte %d of %s, which is no multiple of %d", at*int64(s.To.Elem.Size()), s.To.Name,
			TensorPlaceUnit)
	}
	v.slot(s.Mbarrier, s.Slot)
	if s.Blocks == nil {
		return
	}
	v.want(s.Blocks, types.I32, "the set of blocks")
	if !v.inside(Tag.IsCluster) {
		v.fail("there is no cluster loop around a copy to other blocks' %s", s.To.Name)
	}
}
