package cuda

import "time"

// Timer measures on the GPU's own clock.
type Timer struct {
	device     *Device
	start, end handle
}

// NewTimer returns a timer that lives until the device is closed.
func (d *Device) NewTimer() (*Timer, error) {
	t := &Timer{device: d}
	const blocking = 1 // a thread that waits sleeps
	for _, e := range []*handle{&t.start, &t.end} {
		if r := d.driver.EventCreate(e, blocking); r != 0 {
			return nil, d.fail(r, "cuEventCreate", "a timer cannot be had")
		}
	}
	d.timers = append(d.timers, t)
	return t, nil
}

// Time returns how long the GPU works on what f launches. It waits for it.
func (t *Timer) Time(f func() error) (time.Duration, error) {
	d := t.device
	const defaultStream = 0
	if r := d.driver.EventRecord(t.start, defaultStream); r != 0 {
		return 0, d.fail(r, "cuEventRecord", "a timer cannot be started")
	}
	if err := f(); err != nil {
		return 0, err
	}
	if r := d.driver.EventRecord(t.end, defaultStream); r != 0 {
		return 0, d.fail(r, "cuEventRecord", "a timer cannot be stopped")
	}
	if r := d.driver.EventSync(t.end); r != 0 {
		return 0, d.fail(r, "cuEventSynchronize", "the GPU did not finish what was timed")
	}
	var ms float32
	if r := d.driver.EventElapsed(&ms, t.start, t.end); r != 0 {
		return 0, d.fail(r, "cuEventElapsedTime", "a timer cannot be read")
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}

func (t *Timer) close() error {
	for _, e := range []handle{t.start, t.end} {
		if r := t.device.driver.EventDestroy(e); r != 0 {
			return t.device.fail(r, "cuEventDestroy", "a timer cannot be given back")
		}
	}
	return nil
}
