package engine

import (
	"context"
	"errors"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

const (
	compileLimit = 5 * time.Minute // for one call of a compiler
	cacheLimit   = 512 << 20       // bytes of compiled code that are kept
)

// Purpose is what a device is opened for.
type Purpose uint8

const (
	ToRun  Purpose = iota // a program is compiled once, however long that takes
	ToTune                // many variants are compiled side by side, each within limits
)

// Device is a target with the cache of its compiled code.
type Device struct {
	*target.Target
	Cache *toolchain.Cache // nil for the reference executor
}

// DeviceRequest asks for a device.
type DeviceRequest struct {
	ID         string // "cpu", "ref", "cuda:0", "opencl:0", "auto"; "" is "cpu"
	Arithmetic arith.Mode
	Purpose    Purpose
	Workers    int // that compile, if it is to tune; 0 is one a processor
}

// Open finds a device, without opening it or what compiles for it. The error is a *Fault.
func Open(r DeviceRequest) (*Device, error) {
	if r.ID == "" {
		r.ID = "cpu"
	}
	kind, ordinal, err := target.Parse(r.ID)
	if err != nil {
		return nil, badDevice(r.ID, err)
	}
	d := &Device{}
	o := target.Options{Arithmetic: r.Arithmetic}
	if kind.Dialect != nil {
		if d.Cache, err = toolchain.OpenCache(""); err != nil {
			return nil, err
		}
		o.CompilerOptions = device.CompilerOptions{Cache: d.Cache, Workers: 1, Limit: compileLimit}
		if r.Purpose == ToTune {
			o.CompilerOptions = measure.Compilers(d.Cache, r.Workers)
		}
	}
	// By its ID: to find out once more what auto stands for would ask the drivers again.
	if d.Target, err = target.Open(kind.ID(ordinal), o); err != nil {
		d.Close()
		return nil, badDevice(r.ID, err)
	}
	return d, nil
}

// Close ends what compiles, and closes the cache after trimming it.
func (d *Device) Close() {
	if d.Target != nil {
		d.Target.Close()
	}
	if d.Cache != nil {
		d.Cache.Trim(cacheLimit) // what cannot be removed now will be another time
		d.Cache.Close()
	}
}

// Notes returns what the user should know of the cache by now.
func (d *Device) Notes() []string {
	var list []string
	if d.Cache == nil {
		return nil
	}
	for _, text := range []string{d.Cache.Note, d.Cache.Elsewhere()} {
		if text != "" {
			list = append(list, text)
		}
	}
	return list
}

// compiler returns what compiles for the device. Without one for processors, the error
// says what can be done without.
func (d *Device) compiler(ctx context.Context) (device.Compiler, error) {
	c, err := d.Compiler(ctx)
	if missing, ok := errors.AsType[*toolchain.Missing](err); ok {
		return nil, (&Fault{Cause: Environment, Err: missing}).hintf("--device ref needs none")
	}
	return c, err
}

// Describe describes all devices of this machine, those that cannot be used included.
func Describe(ctx context.Context) ([]device.Info, error) {
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	return target.Describe(ctx, cache)
}
