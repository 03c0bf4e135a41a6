package exec

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// DeviceBytes returns the memory that a script takes on a device of its own.
func (s *Script) DeviceBytes() int64 {
	sum := int64(len(s.Cells)) * 8
	for _, g := range s.Grids {
		sum += max(g.Bytes, g.Rows.Padded())
	}
	for _, n := range s.Scratch {
		sum += n
	}
	return sum
}

// Fits reports why a target cannot run a script, as far as that is known before
// anything is compiled: its device has too little memory, or a launch asks for more
// than its limits, which is of the reason verdict.Resources. The host's memory is
// another question: Needs.
func (s *Script) Fits(t *target.Target) error {
	if need := s.DeviceBytes(); t.Memory > 0 && need > t.Memory {
		return fmt.Errorf("this needs %s of device memory, and %s (%s) has %s", memory.Size(need), t.ID, t.Name,
			memory.Size(t.Memory))
	}
	if t.Fits == nil {
		return nil
	}
	for _, call := range s.Calls {
		for _, l := range call.Launches {
			if err := t.Fits(s.Kernels[l.Kernel], l.Geometry); err != nil {
				return verdict.For(verdict.Resources, err)
			}
		}
	}
	return nil
}
