package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ebitengine/purego"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Device is an open GPU. It belongs to the thread that has opened it, as
// device.Device says: the driver keeps the current context by thread.
type Device struct {
	GPU       GPU
	driver    *driver
	number    int32
	libraries []*Library
	buffers   map[*Buffer]bool
	timers    []*Timer
	graphs    []*graph
	recording *graph // that launches are added to instead of being carried out
	last      string // the kernel launched last, for errors that come later
	open      bool

	condition device.Condition
	asked     time.Time // when that was
}

var (
	_ device.Recorder = (*Device)(nil)
	_ device.Padder   = (*Device)(nil)
)

// Open opens the GPU of that number for the calling thread, which must be
// locked (runtime.LockOSThread). While that waits for the GPU it spins, which is
// how it goes on soonest.
func Open(ordinal int) (*Device, error) { return openGPU(ordinal, false) }

// openGPU opens a GPU. A thread that sleeps while it waits leaves its processor to others,
// and goes on some microseconds later. A driver that cannot do that lets it spin.
func openGPU(ordinal int, sleeping bool) (*Device, error) {
	gpus, err := GPUs()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(gpus) {
		return nil, fmt.Errorf("there is no GPU %s: %w", ID(ordinal), shown(len(gpus)))
	}
	dr, err := openDriver()
	if err != nil {
		return nil, err
	}
	d := &Device{GPU: gpus[ordinal], driver: dr, buffers: map[*Buffer]bool{}}
	if r := dr.DeviceGet(&d.number, int32(ordinal)); r != 0 {
		return nil, d.fail(r, "cuDeviceGet", "the GPU %s cannot be opened", ID(ordinal))
	}
	if sleeping && dr.SetFlags != nil {
		const blockingSync = 4
		if r := dr.SetFlags(d.number, blockingSync); r != 0 {
			return nil, d.fail(r, "cuDevicePrimaryCtxSetFlags", "the GPU %s cannot be opened", ID(ordinal))
		}
	}
	var context handle
	if r := dr.RetainPrimary(&context, d.number); r != 0 {
		return nil, d.fail(r, "cuDevicePrimaryCtxRetain", "the GPU %s cannot be opened", ID(ordinal))
	}
	if r := dr.SetCurrent(context); r != 0 {
		dr.ReleasePrim(d.number)
		return nil, d.fail(r, "cuCtxSetCurrent", "the GPU %s cannot be opened", ID(ordinal))
	}
	d.open = true
	return d, nil
}

// fail returns the error for a result. Errors of kernels come with any later
// call, so those name the kernel that was launched last.
func (d *Device) fail(r result, call, doing string, args ...any) error {
	err := d.driver.fail(r, call, doing, args...)
	var e *Error
	if errors.As(err, &e) && e.Lost() && d.last != "" {
		e.Doing += fmt.Sprintf(" (the kernel launched last is %s)", d.last)
	}
	return err
}

// Sync waits until everything launched has finished.
func (d *Device) Sync() error {
	if r := d.driver.Synchronize(); r != 0 {
		return d.fail(r, "cuCtxSynchronize", "the GPU did not finish its work")
	}
	return nil
}

// Memory returns the bytes that are free, and all that there are.
func (d *Device) Memory() (free, total int64, err error) {
	var f, t uint64
	if r := d.driver.MemInfo(&f, &t); r != 0 {
		return 0, 0, d.fail(r, "cuMemGetInfo", "the GPU does not say what memory is free")
	}
	return int64(f), int64(t), nil
}

// Close gives back everything that came from the device. Of several errors it
// returns the first.
func (d *Device) Close() error {
	if !d.open {
		return nil
	}
	d.open = false
	err := d.Sync()
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	for _, t := range d.timers {
		keep(t.close())
	}
	for _, g := range slices.Clone(d.graphs) {
		keep(g.Close())
	}
	for b := range d.buffers {
		keep(b.Free())
	}
	for _, l := range slices.Clone(d.libraries) { // Close takes them out
		keep(l.Close())
	}
	d.driver.SetCurrent(0)
	if r := d.driver.ReleasePrim(d.number); r != 0 {
		keep(d.fail(r, "cuDevicePrimaryCtxRelease", "the GPU cannot be closed"))
	}
	return err
}

// Buffer is memory of the GPU, with or without a host side.
type Buffer struct {
	device *Device
	host   []byte
	rows   device.Rows // of the host side in the GPU's memory; none if both are dense
	at     pointer
	bytes  int64
	// textures and tensors are those made of it, by what they are made of, and constants the
	// memory of kernels that holds its contents, too.
	textures  map[device.Texel]texture
	tensors   map[device.TensorMap]*tensorMap
	constants []*constant
}

var _ device.Buffer = (*Buffer)(nil)

// Share returns memory of the GPU for a run of host memory: it does not work
// in the host's.
func (d *Device) Share(host []byte) (device.Buffer, error) { return d.Copy(host) }

// Copy returns memory of the GPU with that host side.
func (d *Device) Copy(host []byte) (device.Buffer, error) {
	b, err := d.reserve(int64(len(host)))
	if err != nil {
		return nil, err
	}
	b.host = host
	return b, nil
}

// Alloc returns memory that starts as zeros.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	b, err := d.reserve(bytes)
	if err != nil {
		return nil, err
	}
	return b, b.Fill(0)
}

func (d *Device) reserve(bytes int64) (*Buffer, error) {
	b := &Buffer{device: d, bytes: bytes}
	// The driver has no memory of no bytes.
	if r := d.driver.MemAlloc(&b.at, uint64(max(1, bytes))); r != 0 {
		doing := fmt.Sprintf("%s of GPU memory cannot be had", memory.Size(bytes))
		if free, total, err := d.Memory(); err == nil {
			doing += fmt.Sprintf(", %s of %s are free", memory.Size(free), memory.Size(total))
		}
		return nil, d.fail(r, "cuMemAlloc", "%s", doing)
	}
	d.buffers[b] = true
	return b, nil
}

// Bytes returns the buffer's size.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Fill sets every byte.
func (b *Buffer) Fill(value byte) error {
	if b.bytes == 0 {
		return nil
	}
	if r := b.device.driver.MemsetD8(b.at, value, uint64(b.bytes)); r != 0 {
		return b.device.fail(r, "cuMemsetD8", "%s of GPU memory cannot be filled", memory.Size(b.bytes))
	}
	return nil
}

// Push copies the host side to the GPU.
func (b *Buffer) Push() error {
	if b.rows != (device.Rows{}) {
		if err := b.copyRows(true); err != nil {
			return err
		}
		return b.renew()
	}
	return b.Write(0, b.host)
}

// Pull copies the GPU's side to the host, after everything launched before.
func (b *Buffer) Pull() error {
	if b.rows != (device.Rows{}) {
		return b.copyRows(false)
	}
	return b.Read(0, b.host)
}

// Write copies host memory to the GPU, from a byte of the buffer on.
func (b *Buffer) Write(at int64, from []byte) error {
	if err := b.within(at, from); err != nil || len(from) == 0 {
		return err
	}
	if r := b.device.driver.CopyHtoD(b.at+pointer(at), &from[0], uint64(len(from))); r != 0 {
		return b.device.fail(r, "cuMemcpyHtoD", "%s cannot be copied to the GPU", memory.Size(int64(len(from))))
	}
	return b.renew()
}

// Read copies from the GPU to host memory, from a byte of the buffer on.
func (b *Buffer) Read(at int64, to []byte) error {
	if err := b.within(at, to); err != nil || len(to) == 0 {
		return err
	}
	if r := b.device.driver.CopyDtoH(&to[0], b.at+pointer(at), uint64(len(to))); r != 0 {
		return b.device.fail(r, "cuMemcpyDtoH", "%s cannot be copied from the GPU", memory.Size(int64(len(to))))
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
	const defaultStream = 0
	code, _, _ := purego.SyscallN(b.device.driver.CopyDtoD, uintptr(b.at), uintptr(from.at), uintptr(n), defaultStream)
	if r := result(code); r != 0 { // the register's upper half means nothing
		return b.device.fail(r, "cuMemcpyDtoDAsync", "%s cannot be copied on the GPU", memory.Size(n))
	}
	return nil
}

// Free gives the memory back before the device is closed.
func (b *Buffer) Free() error {
	if !b.device.buffers[b] {
		return nil
	}
	delete(b.device.buffers, b)
	if err := b.freeTextures(); err != nil {
		return err
	}
	if r := b.device.driver.MemFree(b.at); r != 0 {
		return b.device.fail(r, "cuMemFree", "%s of GPU memory cannot be given back", memory.Size(b.bytes))
	}
	return nil
}
