package opencl

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Device is an open device. Launches go through one queue, in order.
type Device struct {
	Properties Properties
	api        *api
	context    handle
	queue      handle
	libraries  []*Library
	buffers    map[*Buffer]bool
	taken      int64  // bytes of the buffers that do not lie in the host's memory
	last       string // the kernel launched last, for errors that come later
	words      *memory.Region
	event      *handle    // where a launch that is timed leaves its event
	timing     *span      // nil unless something is timed
	releasing  [1]uintptr // the argument of clReleaseEvent
}

var _ device.Device = (*Device)(nil)

// Open opens the device of that number for the calling thread, which must be
// locked (runtime.LockOSThread).
func Open(ordinal int) (*Device, error) {
	a, p, err := find(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{Properties: p, api: a, buffers: map[*Buffer]bool{}}
	if d.context, err = a.context(&p); err != nil {
		return nil, err
	}
	const profiling = 1 << 1
	r := codeOK
	if d.queue = a.CreateQueue(d.context, p.device, profiling, &r); r != 0 {
		a.ReleaseContext(d.context)
		return nil, fail(r, "clCreateCommandQueue", "the device %s (%s) cannot be opened", ID(ordinal), p.Name)
	}
	if d.words, err = memory.Anonymous(int64(unsafe.Sizeof(*d.event))); err != nil {
		a.ReleaseQueue(d.queue)
		a.ReleaseContext(d.context)
		return nil, err
	}
	d.event = (*handle)(unsafe.Pointer(&d.words.Bytes()[0]))
	return d, nil
}

// fail returns the error for a code. Errors of kernels come with any later
// call, so those name the kernel that was launched last.
func (d *Device) fail(r code, call, doing string, args ...any) error {
	err := fail(r, call, doing, args...)
	var e *Error
	if errors.As(err, &e) && e.Lost() && d.last != "" {
		e.Doing += fmt.Sprintf(" (the kernel launched last is %s)", d.last)
	}
	return err
}

// Sync waits until everything launched has finished.
func (d *Device) Sync() error {
	if r := d.api.Finish(d.queue); r != 0 {
		return d.fail(r, "clFinish", "the device did not finish its work")
	}
	return nil
}

// Close gives back everything that came from the device. Of several errors it
// returns the first.
func (d *Device) Close() error {
	if d.queue == 0 {
		return nil
	}
	err := d.Sync()
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	for b := range d.buffers {
		keep(b.Free())
	}
	for _, l := range slices.Clone(d.libraries) { // Close takes them out
		keep(l.Close())
	}
	if r := d.api.ReleaseQueue(d.queue); r != 0 {
		keep(d.fail(r, "clReleaseCommandQueue", "the device cannot be closed"))
	}
	if r := d.api.ReleaseContext(d.context); r != 0 {
		keep(d.fail(r, "clReleaseContext", "the device cannot be closed"))
	}
	d.queue, d.context = 0, 0
	keep(d.words.Close())
	return err
}
