package cli

import (
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/engine"
)

// sliceFlags are the options of commands that measure many programs, a slice of them each time.
type sliceFlags struct {
	Budget time.Duration `default:"18m" help:"Begin no other program after so long; the same command goes on from there. Default: 18m." placeholder:"TIME"`
	Device string        `short:"d" default:"cuda:0" help:"The device. Default: cuda:0." placeholder:"DEVICE"`
	Jobs   int           `help:"Processes that compile; as many as processors if it is not given." placeholder:"COUNT"`
}

// check refuses values that make no sense.
func (f *sliceFlags) check() error {
	switch {
	case f.Budget < 0:
		return usage("--budget %v: a time is positive", f.Budget)
	case f.Jobs < 0:
		return usage("--jobs %d: a number of processes is positive", f.Jobs)
	}
	return nil
}

// device opens what is measured on.
func (f *sliceFlags) device() (*engine.Device, error) {
	d, err := engine.Open(engine.DeviceRequest{
		ID: f.Device, Arithmetic: arith.Contract, Purpose: engine.ToTune, Workers: f.Jobs,
	})
	if err != nil {
		return nil, err
	}
	if d.Reference() {
		d.Close()
		return nil, usage("--device %s: nothing can be measured on the reference executor", f.Device)
	}
	return d, nil
}
