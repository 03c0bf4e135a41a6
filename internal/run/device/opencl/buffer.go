package opencl

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Buffer is memory that kernels work on.
type Buffer struct {
	device *Device
	host   []byte // nil if there is no host side
	shared bool   // the host's memory is the device's
	memory handle
	bytes  int64
	rows   device.Rows             // where the host's bytes lie; none if they lie as in the host
	images map[device.Texel]handle // made of it
}

var _ device.Buffer = (*Buffer)(nil)

const wait = 1 // a call returns when its work is done

// Share returns the run of host memory itself where the device works in the
// host's and the run begins as it likes, and memory of the device otherwise.
func (d *Device) Share(host []byte) (device.Buffer, error) {
	p := &d.Properties
	at := unsafe.SliceData(host)
	if !p.Unified || len(host) == 0 || uintptr(unsafe.Pointer(at))%uintptr(max(1, p.Alignment)) != 0 {
		return d.Copy(host)
	}
	const readWrite, useHostPointer = 1 << 0, 1 << 3
	b := &Buffer{device: d, host: host, shared: true, bytes: int64(len(host))}
	r := codeOK
	if b.memory = d.api.CreateBuffer(d.context, readWrite|useHostPointer, uintptr(len(host)), unsafe.Pointer(at),
		&r); r != 0 {
		return nil, d.fail(r, "clCreateBuffer", "%s of host memory cannot be used", memory.Size(b.bytes))
	}
	d.buffers[b] = true
	return b, nil
}

// Copy returns memory of the device with that host side.
func (d *Device) Copy(host []byte) (device.Buffer, error) {
	b, err := d.Reserve(int64(len(host)))
	if err != nil {
		return nil, err
	}
	b.host = host
	return b, nil
}

// Alloc returns memory that starts as zeros.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	b, err := d.Reserve(bytes)
	if err != nil {
		return nil, err
	}
	return b, b.Fill(0)
}

// Reserve returns memory whose contents are undefined.
func (d *Device) Reserve(bytes int64) (*Buffer, error) {
	b := &Buffer{device: d, bytes: bytes}
	// There are no buffers of no bytes.
	const readWrite = 1 << 0
	r := codeOK
	call := "clCreateBuffer"
	if b.memory = d.api.CreateBuffer(d.context, readWrite, uintptr(max(1, bytes)), nil, &r); r == 0 {
		// Drivers put it off to take the memory, and would be short of it later.
		const undefined = 1 << 1
		call = "clEnqueueMigrateMemObjects"
		if r = d.api.Migrate(d.queue, 1, &b.memory, undefined, 0, 0, 0); r == 0 {
			call, r = "clFinish", d.api.Finish(d.queue)
		}
		if r != 0 {
			d.api.ReleaseMemory(b.memory)
		}
	}
	if r != 0 {
		return nil, d.fail(r, call,
			"%s of device memory cannot be had: %s has %s, %s at most in one piece, and %s are taken here",
			memory.Size(bytes), d.Properties.Name, memory.Size(d.Properties.Memory),
			memory.Size(d.Properties.LargestBuffer), memory.Size(d.taken))
	}
	d.buffers[b] = true
	d.taken += bytes
	return b, nil
}

// Bytes returns the buffer's size.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Fill sets every byte.
func (b *Buffer) Fill(value byte) error {
	if b.bytes == 0 {
		return nil
	}
	d := b.device
	if r := d.api.Fill(d.queue, b.memory, &value, 1, 0, uintptr(b.bytes), 0, 0, 0); r != 0 {
		return d.fail(r, "clEnqueueFillBuffer", "%s of device memory cannot be filled", memory.Size(b.bytes))
	}
	// The pattern is Go's, and is read no later than now.
	return d.Sync()
}

// Push copies the host side to the device, or hands it over if it is shared.
func (b *Buffer) Push() error {
	if b.shared {
		const invalidate = 1 << 2 // what lies in the host's memory is what counts
		return b.handOver(invalidate)
	}
	if !b.rows.Dense() {
		return b.copyRows(true)
	}
	return b.Write(0, b.host)
}

// Pull copies the device's side to the host, after everything launched before.
func (b *Buffer) Pull() error {
	if b.shared {
		const read = 1 << 0
		return b.handOver(read)
	}
	if !b.rows.Dense() {
		return b.copyRows(false)
	}
	return b.Read(0, b.host)
}

// handOver makes both sides of a shared buffer agree.
func (b *Buffer) handOver(flags uint64) error {
	d := b.device
	r := codeOK
	at := d.api.Map(d.queue, b.memory, wait, flags, 0, uintptr(b.bytes), 0, 0, 0, &r)
	if r != 0 {
		return d.fail(r, "clEnqueueMapBuffer", "%s of shared memory cannot be handed over", memory.Size(b.bytes))
	}
	if r := d.api.Unmap(d.queue, b.memory, at, 0, 0, 0); r != 0 {
		return d.fail(r, "clEnqueueUnmapMemObject", "%s of shared memory cannot be handed back", memory.Size(b.bytes))
	}
	return nil
}

// Write copies host memory to the device, from a byte of the buffer on.
func (b *Buffer) Write(at int64, from []byte) error {
	if err := b.within(at, from); err != nil || len(from) == 0 {
		return err
	}
	d := b.device
	if r := d.api.Write(d.queue, b.memory, wait, uintptr(at), uintptr(len(from)), &from[0], 0, 0, 0); r != 0 {
		return d.fail(r, "clEnqueueWriteBuffer", "%s cannot be copied to the device", memory.Size(int64(len(from))))
	}
	return nil
}

// Read copies from the device to host memory, from a byte of the buffer on.
func (b *Buffer) Read(at int64, to []byte) error {
	if err := b.within(at, to); err != nil || len(to) == 0 {
		return err
	}
	d := b.device
	if r := d.api.Read(d.queue, b.memory, wait, uintptr(at), uintptr(len(to)), &to[0], 0, 0, 0); r != 0 {
		return d.fail(r, "clEnqueueReadBuffer", "%s cannot be copied from the device", memory.Size(int64(len(to))))
	}
	return nil
}

func (b *Buffer) within(at int64, host []byte) error {
	if at < 0 || at > b.bytes-int64(len(host)) {
		return fmt.Errorf("bytes %d to %d of a buffer of %d", at, at+int64(len(host))-1, b.bytes)
	}
	return nil
}

// CopyFrom starts to copy as many bytes as both buffers have. It allocates
// nothing.
func (b *Buffer) CopyFrom(from *Buffer) error {
	n := min(b.bytes, from.bytes)
	if n == 0 {
		return nil
	}
	d := b.device
	status, _, _ := purego.SyscallN(d.api.Copy, uintptr(d.queue), uintptr(from.memory), uintptr(b.memory), 0, 0,
		uintptr(n), 0, 0, d.eventWord())
	if r := code(status); r != 0 { // the register's upper half means nothing
		return d.fail(r, "clEnqueueCopyBuffer", "%s cannot be copied on the device", memory.Size(n))
	}
	d.timed()
	return nil
}

// Free gives the memory back before the device is closed.
func (b *Buffer) Free() error {
	d := b.device
	if !d.buffers[b] {
		return nil
	}
	delete(d.buffers, b)
	if !b.shared {
		d.taken -= b.bytes
	}
	if err := b.freeImages(); err != nil {
		return err
	}
	if r := d.api.ReleaseMemory(b.memory); r != 0 {
		return d.fail(r, "clReleaseMemObject", "%s of device memory cannot be given back", memory.Size(b.bytes))
	}
	return nil
}
