package opencl

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

var _ device.Padder = (*Device)(nil)

// CopyRows returns memory of the device with padding, which starts poisoned.
func (d *Device) CopyRows(host []byte, r device.Rows) (device.Buffer, error) {
	if r.Dense() {
		return d.Copy(host)
	}
	if r.Bytes*r.Count != int64(len(host)) {
		return nil, fmt.Errorf("%d rows of %d bytes for %d bytes", r.Count, r.Bytes, len(host))
	}
	b, err := d.Reserve(r.Padded())
	if err != nil {
		return nil, err
	}
	b.host, b.rows = host, r
	return b, b.Fill(device.Poison)
}

// rectangle is how a copy between dense and padded rows is described: where it
// starts and how far it goes, in bytes, rows and planes.
type rectangle struct {
	padded, dense, size [3]uintptr
}

// copyRows copies between the dense host side and the padded rows of the
// device.
func (b *Buffer) copyRows(push bool) error {
	if len(b.host) == 0 {
		return nil
	}
	d, r := b.device, b.rows
	c := &rectangle{size: [3]uintptr{uintptr(r.Bytes), uintptr(r.Count), 1}}
	c.padded = [3]uintptr{uintptr(r.Lead), 0, 0}
	how, call, way := d.api.WriteRect, "clEnqueueWriteBufferRect", "to"
	if !push {
		how, call, way = d.api.ReadRect, "clEnqueueReadBufferRect", "from"
	}
	const onePlane, waits, list, event = 0, 0, 0, 0
	code := how(d.queue, b.memory, wait, &c.padded[0], &c.dense[0], &c.size[0],
		uintptr(r.Pitch), onePlane, uintptr(r.Bytes), onePlane, &b.host[0], waits, list, event)
	if code != 0 {
		return d.fail(code, call, "%s cannot be copied %s the device", memory.Size(int64(len(b.host))), way)
	}
	return nil
}
