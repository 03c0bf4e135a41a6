package session

import (
	"encoding/binary"
	"math"
)

// reader takes bytes apart. After a failure it reads zeros.
type reader struct {
	bytes  []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if len(r.bytes) < n {
		r.failed, r.bytes = true, nil
		return make([]byte, n)
	}
	out := r.bytes[:n]
	r.bytes = r.bytes[n:]
	return out
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))) }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.bytes)
	if n <= 0 {
		r.failed, r.bytes = true, nil
		return 0
	}
	r.bytes = r.bytes[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.bytes)
	if n <= 0 {
		r.failed, r.bytes = true, nil
		return 0
	}
	r.bytes = r.bytes[n:]
	return v
}
