package opencl

import (
	"context"
	"os"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Kind is the devices that OpenCL shows.
var Kind = device.Kind{
	Name: "opencl", Numbered: true, Dialect: emit.OpenCL,
	Describe: func(context.Context, *toolchain.Cache) ([]device.Info, error) { return Describe(), nil },
	Find:     findDevice,
	Open:     func(ordinal int, _ device.OpenOptions) (device.Device, error) { return openDevice(ordinal) },
	Services: []worker.Service{CompileService},
}

func openDevice(ordinal int) (device.Device, error) {
	d, err := Open(ordinal)
	if err != nil {
		return nil, err // and not a nil *Device
	}
	return d, nil
}

func findDevice(ordinal int) (device.Properties, error) {
	p, err := Find(ordinal)
	if err != nil {
		return device.Properties{}, err
	}
	return p.General(), nil
}

// General returns what packages that know no OpenCL need to know of a device.
func (p Properties) General() device.Properties {
	found := device.Properties{
		Name: p.Name, Units: p.ComputeUnits, Driver: p.Driver, Memory: p.Memory, Shared: p.Unified,
		Machine: p.Machine(), Told: p.Told, Fits: p.Fits,
		Details: device.Details{Vendor: p.Vendor, Architecture: p.Version, Platform: p.Platform + " " + p.Release,
			Memory: p.Memory, Clock: p.Clock,
			Constant: p.Constant, LargestBuffer: p.LargestBuffer, Extensions: p.Extensions},
		Compiler: func(_ context.Context, o device.CompilerOptions) (device.Compiler, error) {
			c, err := OpenCompilers(o, p.Ordinal)
			if err != nil {
				return nil, err // and not a nil *Compilers
			}
			return c, nil
		},
	}
	if p.Unified { // its memory is the host's, and was checked with that
		found.Memory, found.CacheBytes = 0, cpu.CacheBytes(os.DirFS("/"), cpu.Threads())
	}
	return found
}

// Clock implements device.Timed.
func (d *Device) Clock() (device.Timer, error) { return d.NewTimer() }
