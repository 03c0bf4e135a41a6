package cuda

import (
	"context"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Kind is the GPUs that the NVIDIA driver shows.
var Kind = device.Kind{
	Name: "cuda", Numbered: true, Dialect: emit.CUDA,
	Describe: func(context.Context, *toolchain.Cache) ([]device.Info, error) { return Describe(), nil },
	Find:     findGPU,
	Open: func(ordinal int, o device.OpenOptions) (device.Device, error) {
		d, err := openGPU(ordinal, o.Sleep)
		if err != nil {
			return nil, err // and not a nil *Device
		}
		return d, nil
	},
	Services: []worker.Service{CompileService},
}

func findGPU(ordinal int) (device.Properties, error) {
	gpus, err := GPUs()
	if err != nil {
		return device.Properties{}, err
	}
	if ordinal < 0 || ordinal >= len(gpus) {
		return device.Properties{}, shown(len(gpus))
	}
	return gpus[ordinal].Properties(), nil
}

// Properties returns what packages that know no CUDA need to know of a GPU.
func (g GPU) Properties() device.Properties {
	return device.Properties{
		Name: g.Name, Units: g.Multiprocessors, Driver: g.Driver, Memory: g.Memory, CacheBytes: g.L2,
		Details: device.Details{Vendor: "NVIDIA", Architecture: fmt.Sprintf("sm_%d", g.Arch()), Memory: g.Memory,
			Clock: g.Clock, MemoryClock: g.MemoryClock},
		Machine: g.Machine(), ThreadsOfMulti: g.Limits.ThreadsOfMulti, Fits: g.Fits,
		Compiler: func(_ context.Context, o device.CompilerOptions) (device.Compiler, error) {
			c, err := OpenCompilers(o, g.Arch())
			if err != nil {
				return nil, err // and not a nil *Compilers
			}
			return c, nil
		},
	}
}

// shown says which GPUs there are where another one was asked for.
func shown(gpus int) error {
	return fmt.Errorf("the driver shows %s, from %s on", quantity.Count(gpus, "GPU"), ID(0))
}

// Clock implements device.Timed.
func (d *Device) Clock() (device.Timer, error) { return d.NewTimer() }

// conditionEvery is how often a GPU is asked for its condition: that does not change
// faster, and asking takes as long as some batches.
const conditionEvery = time.Second

// Condition implements device.Conditioned. The answer may be a second old.
func (d *Device) Condition() device.Condition {
	if time.Since(d.asked) >= conditionEvery {
		d.asked, d.condition = time.Now(), device.Condition{}
		if c, ok := d.GPU.Condition(); ok {
			d.condition = device.Condition{Clock: c.Clock, MemoryClock: c.MemoryClock, Temperature: c.Temperature,
				Power: c.Power, PowerLimit: c.PowerLimit}
		}
	}
	return d.condition
}
