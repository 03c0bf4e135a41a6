package gridio

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// npyMagic starts every .npy file; two bytes of version follow.
const npyMagic = "\x93NUMPY"

// maxNpyHeader bounds the header's text. Versions 2 and 3 allow 4 GiB of it,
// for records with very many fields, which no grid has.
const maxNpyHeader = 1 << 16

// openNpy reads the header of a .npy file of the given size and checks all
// that it claims.
func openNpy(r io.ReaderAt, size int64, want Want) (*content, error) {
	text, start, err := readNpyHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	h, err := parseNpyHeader(text)
	if err != nil {
		return nil, err
	}
	d, err := parseDtype(h.descr)
	if err != nil {
		return nil, err
	}
	stated, err := fileBytes(d, h.shape)
	if err != nil {
		return nil, err
	}
	switch rest := size - start; {
	case rest < stated:
		return nil, refuse("its header promises %s %s (%d bytes), but only %d bytes follow",
			FormatShape(h.shape), d, stated, rest).hint("it is damaged or not completely written")
	case rest > stated:
		return nil, refuse("its header promises %s %s (%d bytes), but %d bytes follow",
			FormatShape(h.shape), d, stated, rest).hint("it is damaged, or it holds more than one array")
	}
	return openCells(r, start, stated, cells{dtype: d, shape: h.shape, fortran: h.fortran}, want)
}

// openCells checks cells that lie in a file against what is wanted.
func openCells(r io.ReaderAt, start, bytes int64, c cells, want Want) (*content, error) {
	t := want.Type
	if t == types.Invalid {
		t = c.dtype.grid()
	}
	if err := want.checkShape(c.shape, "cells"); err != nil {
		return nil, err
	}
	n, err := Bytes(t, c.shape)
	if err != nil {
		return nil, err
	}
	if err := want.checkLimit(n); err != nil {
		return nil, err
	}
	return &content{kind: t, shape: c.shape, fill: func(dst []byte) error {
		return c.fill(io.NewSectionReader(r, start, bytes), t, dst, want)
	}}, nil
}

// fileBytes returns the bytes that an array takes in a file.
func fileBytes(d dtype, shape []int) (int64, error) {
	n, err := Bytes(types.U8, shape)
	if err != nil {
		return 0, err
	}
	if n > (1<<62)/int64(d.size) {
		return 0, refuse("an array of %s is larger than any memory", FormatShape(shape))
	}
	return n * int64(d.size), nil
}

// readNpyHeader returns the text of a header and where the cells start.
func readNpyHeader(r io.Reader) (text string, start int64, err error) {
	prefix := make([]byte, len(npyMagic)+2)
	n, err := io.ReadFull(r, prefix)
	if !strings.HasPrefix(npyMagic, string(prefix[:min(n, len(npyMagic))])) || n == 0 {
		return "", 0, refuse("it is not a .npy file")
	}
	if err != nil {
		return "", 0, err
	}
	major, minor := prefix[len(npyMagic)], prefix[len(npyMagic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return "", 0, refuse("it has version %d.%d of the .npy format, and the known ones are 1.0, 2.0 and 3.0",
			major, minor)
	}
	field := make([]byte, 4)
	if major == 1 {
		field = field[:2]
	}
	if _, err := io.ReadFull(r, field); err != nil {
		return "", 0, err
	}
	length := int64(binary.LittleEndian.Uint16(field))
	if major > 1 {
		length = int64(binary.LittleEndian.Uint32(field))
	}
	if length > maxNpyHeader {
		return "", 0, refuse("its header claims %d bytes, and a header of more than %d is refused", length,
			maxNpyHeader)
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(r, header); err != nil {
		return "", 0, err
	}
	return string(header), int64(len(prefix)+len(field)) + length, nil
}

// writeNpy writes a as version 1.0 of the format, which every reader knows.
func writeNpy(w io.Writer, a *Array, o Options) error {
	tuple := ""
	for _, n := range a.Shape {
		tuple += fmt.Sprintf("%d, ", n)
	}
	if len(a.Shape) > 1 {
		tuple = strings.TrimSuffix(tuple, ", ")
	}
	order := "False"
	if o.Fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
		dtypeOf(a.Type).descr(), order, strings.TrimSuffix(tuple, " "))
	// The cells start at a multiple of 64 bytes, so that a mapped file can be
	// used in place.
	const fixed = len(npyMagic) + 2 + 2
	header += strings.Repeat(" ", 63-(fixed+len(header))%64) + "\n"
	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(header)))
	if _, err := w.Write(append(head, header...)); err != nil {
		return err
	}
	if o.Fortran {
		return storeFortran(w, a)
	}
	_, err := w.Write(a.Data)
	return err
}
