package opencl

import (
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Timer measures on the device's own clock.
type Timer struct{ device *Device }

// NewTimer returns a timer.
func (d *Device) NewTimer() (*Timer, error) { return &Timer{d}, nil }

// span is what is timed: the events of its first and its last command.
type span struct{ first, last handle }

// Time returns how long the device works on what f launches: from the start of
// the first kernel or copy to the end of the last, 0 if there is none. It
// waits for it.
func (t *Timer) Time(f func() error) (time.Duration, error) {
	d := t.device
	var s span
	d.timing = &s
	err := f()
	d.timing = nil
	defer s.release(d)
	if err == nil {
		err = d.Sync()
	}
	if err != nil || s.first == 0 {
		return 0, err
	}
	if s.last == 0 {
		s.last = s.first
	}
	const commandStart, commandEnd = 0x1282, 0x1283
	from, err := d.moment(s.first, commandStart)
	if err != nil {
		return 0, err
	}
	to, err := d.moment(s.last, commandEnd)
	return time.Duration(to - from), err // in nanoseconds, both
}

func (d *Device) moment(event handle, which uint32) (uint64, error) {
	var at uint64
	if r := d.api.ProfilingInfo(event, which, unsafe.Sizeof(at), unsafe.Pointer(&at), nil); r != 0 {
		return 0, d.fail(r, "clGetEventProfilingInfo", "a timer cannot be read")
	}
	return at, nil
}

func (s *span) release(d *Device) {
	if s.last != s.first {
		d.release(s.last)
	}
	d.release(s.first)
}

func (d *Device) release(event handle) {
	if event != 0 {
		d.releasing[0] = uintptr(event)
		purego.SyscallN(d.api.ReleaseEvent, d.releasing[:]...)
	}
}

// eventWord is where a command leaves its event; 0 if nobody asks for it.
func (d *Device) eventWord() uintptr {
	if d.timing == nil {
		return 0
	}
	return uintptr(unsafe.Pointer(d.event))
}

// timed takes the event of the command that was just queued.
func (d *Device) timed() {
	s := d.timing
	switch {
	case s == nil:
	case s.first == 0:
		s.first = *d.event
	default:
		d.release(s.last)
		s.last = *d.event
	}
}
