package emit

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
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

// MostImages is how many images a call of the library may need: of all memory,
// with texels of three sizes.
func (l *library) MostImages() int { return 3 * (len(l.Grids) + len(l.module.Scratch)) }
