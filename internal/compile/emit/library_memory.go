package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// libraryConstant is constant memory of a kernel with the place of the grid
// that it holds.
type libraryConstant struct{ Symbol, Place string }

// constant notes that a kernel has constant memory.
func (h *host) constant(symbol, place string) {
	c := libraryConstant{symbol, place}
	if !slices.Contains(h.Constants, c) {
		h.Constants = append(h.Constants, c)
	}
}

// imageCall spells the call that makes an image of memory with so many bytes:
// of texels that have channels of so many bits.
func imageCall(b *kernel.Buffer, place, bytes string) string {
	bits, channels := 8, b.Texel
	if size := b.Elem.Size(); size > 1 {
		bits, channels = 32, b.Texel*size/4
	}
	return fmt.Sprintf("gl_image(h, %s, %s, %d, %d, %t)", place, bytes, bits, channels, b.Elem == types.F32)
}

// tensorCall spells the call that makes a tensor map of memory. Axes begin with the fastest, whose elements may be
// several for one of the map's.
func (h *host) tensorCall(b *kernel.Buffer, place string) string {
	t, unit := b.Tensor, b.Tensor.Unit(b.Elem)
	var extents, box []string
	for i := len(t.Box) - 1; i >= 0; i-- {
		extent, n := t.Extents[i], t.Box[i]
		if i == len(t.Box)-1 {
			extent, n = kernel.Bin(op.Div, extent, kernel.I(unit)), n/unit
		}
		extents, box = append(extents, h.expr(extent)), append(box, fmt.Sprint(n))
	}
	return fmt.Sprintf("gl_tensor(h, %s, { %d, %d, { %s }, { %s } })", place, unit*int64(b.Elem.Size()), len(t.Box),
		strings.Join(extents, ", "), strings.Join(box, ", "))
}

// MostImages is how many images a call of the library may need: of all memory,
// with texels of three sizes.
func (l *library) MostImages() int { return 3 * (len(l.Grids) + len(l.module.Scratch)) }
