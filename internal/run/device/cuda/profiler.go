package cuda

import (
	"errors"

	"github.com/gridloom/gridloom/internal/run/device"
)

var _ device.Profiled = (*Device)(nil)

// Profile implements device.Profiled. NVIDIA's profiler watches the launches between two calls of the driver, if it was
// told to wait for the first (ncu --profile-from-start off).
func (d *Device) Profile(f func() error) error {
	if d.driver.ProfilerStart == nil || d.driver.ProfilerStop == nil {
		return errors.New("the driver cannot tell a profiler what to watch")
	}
	if err := d.Sync(); err != nil {
		return err
	}
	if r := d.driver.ProfilerStart(); r != 0 {
		return d.fail(r, "cuProfilerStart", "a profiler cannot be told to begin")
	}
	err := f()
	if err == nil {
		err = d.Sync()
	}
	if r := d.driver.ProfilerStop(); r != 0 && err == nil {
		err = d.fail(r, "cuProfilerStop", "a profiler cannot be told to end")
	}
	return err
}
