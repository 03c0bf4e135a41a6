package device

// Rows says how dense host memory lies in padded memory of a device: after Lead
// bytes follow Count rows of Bytes, which start at multiples of Pitch.
type Rows struct {
	Lead, Bytes, Pitch, Count int64
	// Align is what all of the memory is a multiple of, since vectors and texels that begin in it end in it; 0 is 1.
	Align int64
}

// Dense reports whether there is no padding, not even after a single row: a
// vector may begin in it and end beyond.
func (r Rows) Dense() bool { return r.Lead == 0 && r.Pitch == r.Bytes }

// Padded returns the bytes with all padding.
func (r Rows) Padded() int64 {
	align := max(1, r.Align)
	return (r.Lead + r.Pitch*r.Count + align - 1) / align * align
}

// Poison is what padding is filled with, so that a kernel which uses it does not
// go unnoticed: all bits set are no number in floating-point types and -1 in
// integers.
const Poison = 0xFF

// Scatter copies dense memory to padded memory.
func (r Rows) Scatter(padded, dense []byte) {
	for i := range r.Count {
		copy(padded[r.Lead+i*r.Pitch:][:r.Bytes], dense[i*r.Bytes:])
	}
}

// Gather copies padded memory to dense memory.
func (r Rows) Gather(dense, padded []byte) {
	for i := range r.Count {
		copy(dense[i*r.Bytes:][:r.Bytes], padded[r.Lead+i*r.Pitch:])
	}
}

// Padder is a Device that converts between both by itself.
type Padder interface {
	Device
	// CopyRows is Copy to memory with padding, which starts poisoned.
	CopyRows(host []byte, r Rows) (Buffer, error)
}
