package session

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// Scenario is everything that a runtime depends on but the configuration.
type Scenario struct {
	Program  Program  `json:"program"`
	Device   Device   `json:"device"`
	Compiler Compiler `json:"compiler"`
	Host     Host     `json:"host,omitzero"`
	Sizes    Sizes    `json:"sizes"`
	DType    string   `json:"dtype"` // of the grids: double, float, ...
	FP       string   `json:"fp"`    // arithmetic: strict, contract or fast
	versions.Set
	Cluster
}

// Program is a stencil program.
type Program struct {
	Hash   string `json:"hash"` // of IR, whatever the program's name
	Name   string `json:"name"`
	IR     string `json:"ir,omitempty"` // its canonical text, without a name
	Source string `json:"source,omitempty"`
	Features
}

// Features say what programs have in common.
type Features struct {
	Rank   int `json:"rank,omitempty"`   // axes of the grids
	Radius int `json:"radius,omitempty"` // the farthest offset that is read
	Points int `json:"points,omitempty"` // cells that are read for one cell
	Arrays int `json:"arrays,omitempty"` // grids that are read or written
	Flops  int `json:"flops,omitempty"`  // operations a cell
}

// Device is what kernels run on, in the state in which it was.
type Device struct {
	API        string     `json:"api"` // cuda, opencl, cpu
	Name       string     `json:"name"`
	UUID       string     `json:"uuid,omitempty"`
	Driver     string     `json:"driver,omitempty"`
	Clocks     Clocks     `json:"clocks,omitzero"`
	Units      int        `json:"units,omitempty"` // multiprocessors, or threads of a processor
	Properties Properties `json:"properties,omitzero"`
}

// CPU is the API of processors.
const CPU = "cpu"

// String returns the name that tells a device from others: that of a processor has
// its threads, on which times depend.
func (d *Device) String() string {
	switch {
	case d.API != CPU || d.Units == 0:
		return d.Name
	case d.Units == 1:
		return d.Name + ", 1 thread"
	}
	return fmt.Sprintf("%s, %d threads", d.Name, d.Units)
}

// Clocks are those of a device when a session began, in MHz; 0 if not known.
type Clocks struct {
	Compute int    `json:"compute_mhz,omitempty"`
	Memory  int    `json:"memory_mhz,omitempty"`
	Former  string `json:"former,omitempty"` // what an earlier version wrote, if it says neither
}

// Properties are what else is known of a device. What is zero is not known.
type Properties struct {
	Vendor       string `json:"vendor,omitempty"`
	Architecture string `json:"architecture,omitempty"` // sm_90, amd64
	Platform     string `json:"platform,omitempty"`     // of OpenCL, with its version
	Memory       int64  `json:"memory_bytes,omitempty"`
	Cache        int64  `json:"cache_bytes,omitempty"`    // of the last level
	Compute      int    `json:"compute_mhz,omitempty"`    // the highest clock
	MemoryClock  int    `json:"memory_mhz,omitempty"`     // likewise
	Constant     int64  `json:"constant_bytes,omitempty"` // the largest constant buffer
	Buffer       int64  `json:"buffer_bytes,omitempty"`   // the largest
	Unified      bool   `json:"unified,omitempty"`        // it works in the host's memory
	Unfused      bool   `json:"unfused,omitempty"`        // it has no fused multiply-add
	// Extensions are those of OpenCL, or a processor's features, in the driver's order.
	Extensions []string         `json:"extensions,omitempty"`
	Machine    *machine.Machine `json:"machine,omitempty"` // its limits, as the compiler knows them
}

// Compiler is what made machine code.
type Compiler struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Options string `json:"options,omitempty"`
}

// Host is the machine that a device is in.
type Host struct {
	Name      string `json:"name,omitempty"`
	System    string `json:"system,omitempty"` // linux/amd64
	Processor string `json:"processor,omitempty"`
	Threads   int    `json:"threads,omitempty"` // that the process may use
	Memory    int64  `json:"memory_bytes,omitempty"`
}

// Cluster says how a program was spread over processes. It is empty for one process.
// Trials of different clusters are never compared.
type Cluster struct {
	Ranks         int    `json:"ranks,omitempty"`
	Decomposition []int  `json:"decomposition,omitempty"` // ranks along each axis of the grids
	Network       string `json:"network,omitempty"`
}

// SameCluster reports whether two programs were spread alike.
func (c *Cluster) SameCluster(d *Cluster) bool {
	return c.Ranks == d.Ranks && c.Network == d.Network && slices.Equal(c.Decomposition, d.Decomposition)
}
