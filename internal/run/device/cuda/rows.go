package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// copy2D is the driver's CUDA_MEMCPY2D: a rectangle of bytes.
type copy2D struct {
	from, to copySide
	width    uint64
	height   uint64
}

// copySide is one end of the copy. The driver's struct has the same fields for
// both, one after the other.
type copySide struct {
	_, _   uint64 // x, y
	kind   uint32
	_      uint32
	host   uintptr
	device pointer
	_      handle // array
	pitch  uint64
}

const (
	hostMemory   = 1
	deviceMemory = 2
)

// CopyRows returns memory of the GPU with padding, which starts poisoned.
func (d *Device) CopyRows(host []byte, r device.Rows) (device.Buffer, error) {
	if r.Dense() {
		return d.Copy(host)
	}
	if r.Bytes*r.Count != int64(len(host)) {
		return nil, fmt.Errorf("%d rows of %d bytes for %d bytes", r.Count, r.Bytes, len(host))
	}
	b, err := d.reserve(r.Padded())
	if err != nil {
		return nil, err
	}
	b.host, b.rows = host, r
	return b, b.Fill(device.Poison)
}

// copyRows copies between the dense host side and the padded rows of the GPU.
func (b *Buffer) copyRows(push bool) error {
	if len(b.host) == 0 {
		return nil
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&b.host[0])
	r := b.rows
	host := copySide{kind: hostMemory, host: uintptr(unsafe.Pointer(&b.host[0])), pitch: uint64(r.Bytes)}
	own := copySide{kind: deviceMemory, device: b.at + pointer(r.Lead), pitch: uint64(r.Pitch)}
	c := copy2D{from: host, to: own, width: uint64(r.Bytes), height: uint64(r.Count)}
	way := "to"
	if !push {
		c.from, c.to, way = own, host, "from"
	}
	if code := b.device.driver.Copy2D(&c); code != 0 {
		return b.device.fail(code, "cuMemcpy2D", "%s cannot be copied %s the GPU", memory.Size(int64(len(b.host))), way)
	}
	return nil
}
