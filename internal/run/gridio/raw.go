package gridio

import (
	"io"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// openRaw takes a file for bare cells, little-endian and in C order; only the
// caller knows their type and shape.
func openRaw(r io.ReaderAt, size int64, want Want) (*content, error) {
	if want.Type == types.Invalid || want.Shape == nil {
		return nil, refuse("a raw file does not say what it holds").hint("state the type and the shape of its cells")
	}
	n, err := Bytes(want.Type, want.Shape)
	if err != nil {
		return nil, err
	}
	if n != size {
		return nil, refuse("it has %d bytes, but %s of %s %s takes %d",
			size, want.grid(), FormatShape(want.Shape), want.Type.Word(), n)
	}
	return openCells(r, 0, size, cells{dtype: dtypeOf(want.Type), shape: want.Shape}, want)
}

// writeRaw writes the bare cells, in C order.
func writeRaw(w io.Writer, a *Array, _ Options) error {
	_, err := w.Write(a.Data)
	return err
}
