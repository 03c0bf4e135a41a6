package gridloom

import (
	"context"
	"math"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/target"
)

// Arithmetic says how freely floating-point operations may be treated
// (docs/language.md, "Arithmetic").
type Arithmetic uint8

const (
	// Contract fuses the products that sums take in, as the language says which:
	// all devices compute the same bits. It is the default.
	Contract Arithmetic = iota
	// Strict rounds every operation on its own: all devices compute the same bits.
	Strict
	// Fast lets compilers and transformations rearrange sums, products and quotients.
	Fast
)

var modes = [...]arith.Mode{Contract: arith.Contract, Strict: arith.Strict, Fast: arith.Fast}

func (a Arithmetic) mode() arith.Mode { return modes[a] }

// String returns the mode's word: "contract", "strict" or "fast".
func (a Arithmetic) String() string { return a.mode().String() }

// ParseArithmetic returns the mode of that name.
func ParseArithmetic(name string) (Arithmetic, error) {
	m, err := arith.Parse(name)
	if err != nil {
		return 0, worded(err)
	}
	for a, mode := range modes {
		if mode == m {
			return Arithmetic(a), nil
		}
	}
	panic("gridloom: a mode has no name")
}

// Device names a device that programs run on. The zero value is CPU().
type Device struct{ id string }

// CPU is the processors of this machine.
func CPU() Device { return Device{} }

// CUDA is the NVIDIA GPU of a number, from 0 on.
func CUDA(ordinal int) Device { return Device{"cuda:" + strconv.Itoa(ordinal)} }

// OpenCL is the OpenCL device of a number, from 0 on.
func OpenCL(ordinal int) Device { return Device{"opencl:" + strconv.Itoa(ordinal)} }

// Reference is the reference executor, which defines what is right. It compiles nothing.
func Reference() Device { return Device{"ref"} }

// Auto is the first NVIDIA GPU that can be used, or else the processors.
func Auto() Device { return Device{"auto"} }

// ParseDevice returns the device that a text names as the command line does: "cpu",
// "cuda:0", "opencl:0", "ref", "auto". Whether it is there shows when it is used.
func ParseDevice(text string) (Device, error) {
	if text == "auto" {
		return Auto(), nil
	}
	kind, ordinal, err := target.Parse(text)
	if err != nil {
		return Device{}, worded(err)
	}
	return device(kind.ID(ordinal)), nil
}

// device returns the device of an ID; equal devices are equal values.
func device(id string) Device {
	if id == "cpu" {
		return CPU()
	}
	return Device{id}
}

// String returns what the command line calls the device: "cuda:0".
func (d Device) String() string {
	if d.id == "" {
		return "cpu"
	}
	return d.id
}

// DeviceInfo describes a device.
type DeviceInfo struct {
	Device   Device
	Name     string           // "NVIDIA H200, compute capability 9.0, 132 multiprocessors"
	Threads  int              // that run at the same time; 0 where the word means nothing
	Memory   int64            // bytes; 0 if not known
	Unusable string           // why it cannot be used; "" if it can
	Notes    []string         // what else people should know of it
	Figures  map[string]int64 // limits and state; names end in their units: "shared_per_block_bytes"
}

// Devices describes all devices of this machine, those that cannot be used included.
func Devices(ctx context.Context) ([]DeviceInfo, error) {
	found, err := engine.Describe(ctx)
	if err != nil {
		return nil, err
	}
	var list []DeviceInfo
	for _, d := range found {
		x := DeviceInfo{
			Device: device(d.ID), Name: d.Name, Threads: d.Threads, Memory: d.Memory,
			Unusable: d.Unusable, Notes: d.Notes,
			Figures: map[string]int64{},
		}
		for _, f := range d.Figures {
			x.Figures[f.Name] = f.Value
		}
		list = append(list, x)
	}
	return list, nil
}

// Plan holds settings for kernels. The zero value leaves all to Gridloom.
type Plan struct{ plan schedule.Plan }

// ParsePlan reads a plan: settings such as "threads=2" for all kernels, or a
// configuration for each, as Tune finds them and String writes them.
func ParsePlan(text string) (Plan, error) {
	p, err := schedule.ParsePlan(text)
	if err != nil {
		return Plan{}, worded(err)
	}
	return Plan{p}, nil
}

// String returns the plan's text, which ParsePlan reads.
func (p Plan) String() string { return p.plan.String() }

// open finds a device.
func (o *Options) open(purpose engine.Purpose) (*engine.Device, error) {
	d, err := engine.Open(engine.DeviceRequest{
		ID: o.Device.String(), Arithmetic: o.Arithmetic.mode(), Purpose: purpose,
	})
	if err != nil {
		return nil, worded(err)
	}
	return d, nil
}

// scalarText writes a number as the type of its scalar is read.
func scalarText(p *ir.Program, name string, v float64) string {
	s := p.Scalar(name)
	switch {
	case s == nil || s.Type.IsFloat() || v != math.Trunc(v) || math.Abs(v) >= 1<<53:
		return strconv.FormatFloat(v, 'g', -1, 64) // binding refuses what is not of the type
	case s.Type == types.Bool && (v == 0 || v == 1):
		return strconv.FormatBool(v == 1)
	}
	return strconv.FormatInt(int64(v), 10)
}
