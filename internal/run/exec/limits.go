package exec

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/refusal"
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

// FitsGPU reports why a GPU cannot run a script, as far as that is known before
// anything is compiled: it has too little memory, or a launch asks for more
// than its limits, which is of the reason refusal.Resources.
func (s *Script) FitsGPU(g *cuda.GPU) error {
	if need := s.DeviceBytes(); need > g.Memory {
		return fmt.Errorf("this needs %s of GPU memory, and %s (%s) has %s", memory.Size(need), cuda.ID(g.Ordinal), g.Name, memory.Size(g.Memory))
	}
	return s.launchesFit(g)
}

// FitsOpenCL is FitsGPU for devices of OpenCL. Those that work in the host's
// memory have been checked with it.
func (s *Script) FitsOpenCL(p *opencl.Properties) error {
	if need := s.DeviceBytes(); need > p.Memory && !p.Unified {
		return fmt.Errorf("this needs %s of device memory, and %s (%s) has %s", memory.Size(need), opencl.ID(p.Ordinal), p.Name, memory.Size(p.Memory))
	}
	return s.launchesFit(p)
}

// launchesFit asks a device whether its limits allow all launches.
func (s *Script) launchesFit(device interface {
	Fits(kernel string, g kernel.Geometry) error
}) error {
	for _, st := range s.Stages {
		for _, l := range st.Launches {
			if err := device.Fits(s.Kernels[l.Kernel], l.Geometry); err != nil {
				return refusal.For(refusal.Resources, err)
			}
		}
	}
	return nil
}
