// Package machine holds plain descriptions of devices: peak arithmetic,
// bandwidths, caches, limits, and what the dialects that run there can express.
// Descriptions are JSON; a few come with the program. What a bound, a
// constraint or a cost model needs to know of a device it takes from here, so
// that all of them work without the device.
package machine

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Machine describes one device.
type Machine struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`
	Source string `json:"source"` // where the figures come from

	Units    int     `json:"units"`     // streaming multiprocessors, compute units or cores
	ClockGHz float64 `json:"clock_ghz"` // under load
	Peak     Peak    `json:"peak"`
	Memory   Memory  `json:"memory"`
	Caches   []Cache `json:"caches"` // nearest the arithmetic first

	GPU *GPU `json:"gpu,omitempty"`
	CPU *CPU `json:"cpu,omitempty"`

	Dialects []Dialect `json:"dialects"`
}

// Kind is the kind of a device.
type Kind string

const (
	KindCPU Kind = "cpu"
	KindGPU Kind = "gpu"
)

// Peak is arithmetic throughput in Gflop/s, a fused multiply-add counting as
// two.
type Peak struct {
	F32 float64 `json:"f32_gflops"`
	F64 float64 `json:"f64_gflops"`
}

// Memory is the device's main memory. Bandwidth is what a copy reaches, bytes
// read and written both counted.
type Memory struct {
	Bytes     int64   `json:"bytes"`
	Bandwidth float64 `json:"gb_per_s"`
}

// Cache is one level of cache. Bytes is the size of one instance.
type Cache struct {
	Name      string  `json:"name"`
	Bytes     int64   `json:"bytes"`
	PerUnit   bool    `json:"per_unit"`              // one for every unit; otherwise one for the device
	Bandwidth float64 `json:"gb_per_s,omitempty"`    // of all instances together; 0 if not known
	LineBytes int     `json:"line_bytes,omitempty"`  // 0 if not known
	Managed   bool    `json:"also_shared,omitempty"` // its memory is shared memory too
}

// GPU holds the limits of a GPU.
type GPU struct {
	Compute            string   `json:"compute_capability,omitempty"` // "9.0"; empty for other vendors
	Warp               int      `json:"warp"`
	Registers          int      `json:"registers_per_unit"` // 32-bit
	RegistersPerThread int      `json:"registers_per_thread"`
	SharedPerUnit      int64    `json:"shared_bytes_per_unit"`
	SharedPerBlock     int64    `json:"shared_bytes_per_block"` // the most, asked for
	SharedBandwidth    float64  `json:"shared_gb_per_s,omitempty"`
	ThreadsPerBlock    int      `json:"threads_per_block"`
	ThreadsPerUnit     int      `json:"threads_per_unit"`
	BlocksPerUnit      int      `json:"blocks_per_unit"`
	MaxBlock           [3]int   `json:"max_block"`                // threads along x, y, z
	MaxGrid            [3]int64 `json:"max_grid"`                 // blocks along x, y, z
	ImageTexels        int64    `json:"image_texels,omitempty"`   // of an image made of a buffer; 0 if not known
	ClusterBlocks      int      `json:"cluster_blocks,omitempty"` // blocks that any cluster may have; 0 for no clusters
}

// CPU holds the limits of a CPU.
type CPU struct {
	VectorBits     int `json:"vector_bits"`
	ThreadsPerCore int `json:"threads_per_core"`
}

// Dialect is a language that the device can be programmed in, with what may be
// used there beyond its core.
type Dialect struct {
	Name string       `json:"name"`
	Has  []Capability `json:"has"`
	// SharedPerBlock is set where the dialect gives a block less shared memory
	// than the device has.
	SharedPerBlock int64 `json:"shared_bytes_per_block,omitempty"`
}

// Capability is something that a dialect may or may not express on a device.
type Capability string

const (
	Double      Capability = "f64"          // double precision
	FMA         Capability = "fma"          // fused multiply-add
	Shared      Capability = "shared"       // memory that a block shares
	Shuffle     Capability = "shuffle"      // values exchanged within a warp
	Constant    Capability = "constant"     // constant memory
	ReadOnly    Capability = "read-only"    // loads through the read-only cache
	Image       Capability = "image"        // loads through images that are made from buffers
	Vector      Capability = "vector"       // vector types or SIMD
	OpenMP      Capability = "openmp"       // parallel loops over cores
	AsyncCopy   Capability = "async-copy"   // copies to shared memory that do not pass through registers
	BulkCopy    Capability = "bulk-copy"    // whole rows and tiles copied by one thread
	TensorCopy  Capability = "tensor-copy"  // boxes of a grid copied by one thread, by a tensor map
	Mbarrier    Capability = "mbarrier"     // barriers that count bytes
	Cluster     Capability = "cluster"      // blocks that reach each other's shared memory
	GridBarrier Capability = "grid-barrier" // a barrier of all blocks
)

var capabilities = []Capability{Double, FMA, Shared, Shuffle, Constant, ReadOnly, Image, Vector, OpenMP, AsyncCopy,
	BulkCopy, TensorCopy, Mbarrier, Cluster, GridBarrier}

var dialects = []string{"c", "cuda", "opencl"}

// Threads returns how many threads the cores of a CPU run at once; 0 of another machine.
func (m *Machine) Threads() int {
	if m == nil || m.CPU == nil {
		return 0
	}
	return m.Units * max(1, m.CPU.ThreadsPerCore)
}

// Dialect returns what the dialect of that name can do here, or nil.
func (m *Machine) Dialect(name string) *Dialect {
	for i := range m.Dialects {
		if m.Dialects[i].Name == name {
			return &m.Dialects[i]
		}
	}
	return nil
}

// Can reports whether the dialect has the capability.
func (d *Dialect) Can(c Capability) bool { return slices.Contains(d.Has, c) }

// Inner returns the cache nearest the arithmetic whose bandwidth is known, or
// nil.
func (m *Machine) Inner() *Cache {
	for i := range m.Caches {
		if m.Caches[i].Bandwidth > 0 {
			return &m.Caches[i]
		}
	}
	return nil
}

// Holding returns the cache nearest the arithmetic that keeps so many bytes
// from one sweep over them to the next, or nil. The caches of a CPU's cores
// together do; those of a GPU's units do not outlive a kernel.
func (m *Machine) Holding(bytes int64) *Cache {
	for i, c := range m.Caches {
		n := c.Bytes
		if c.PerUnit {
			if m.Kind == KindGPU {
				continue
			}
			n *= int64(m.Units)
		}
		if n >= bytes {
			return &m.Caches[i]
		}
	}
	return nil
}

// Described completes what a driver tells of a device, its limits, by the description of that name that comes with
// the program: how fast it is. It returns nil if there is none.
func Described(m *Machine) *Machine {
	if m == nil {
		return nil
	}
	for _, name := range Names() {
		d, err := Builtin(name)
		if err != nil || d.Name != m.Name || d.Kind != m.Kind {
			continue
		}
		full := *m
		full.ClockGHz, full.Peak, full.Memory = d.ClockGHz, d.Peak, d.Memory
		full.Caches, full.Source = d.Caches, d.Source
		if m.GPU != nil && d.GPU != nil {
			gpu := *m.GPU
			gpu.SharedBandwidth = d.GPU.SharedBandwidth
			full.GPU = &gpu
		}
		return &full
	}
	return nil
}

//go:embed builtin/*.json
var builtin embed.FS

// Names returns the names of the machines that come with the program, sorted.
func Names() []string {
	files, err := builtin.ReadDir("builtin")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// Builtin returns the machine of that name, which comes with the program.
func Builtin(name string) (*Machine, error) {
	data, err := builtin.ReadFile("builtin/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("no machine is called %s; there are %s", name, strings.Join(Names(), ", "))
	}
	return Parse(data)
}
