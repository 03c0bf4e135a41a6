package opencl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Devices returns the devices of all platforms: by the platforms' names, whose
// order in the loader is anything, and then as each platform has them.
func Devices() ([]Properties, error) {
	a, err := openLoader()
	if err != nil {
		return nil, err
	}
	return a.all()
}

func (a *api) all() ([]Properties, error) {
	platforms, err := a.platforms()
	if err != nil {
		return nil, err
	}
	var list []Properties
	var without []string
	for _, platform := range platforms {
		of := &asker{ask: a.PlatformInfo, of: platform, call: "clGetPlatformInfo", name: "a platform"}
		name := of.text(platformName)
		devices, err := a.devices(platform)
		if err != nil {
			return nil, fmt.Errorf("the OpenCL platform %s: %w", name, err)
		}
		if len(devices) == 0 {
			without = append(without, name)
		}
		for _, d := range devices {
			p, err := a.properties(platform, d)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		slices.Sort(without)
		return nil, fmt.Errorf("no OpenCL platform has a device (%s): %s", strings.Join(without, ", "), drivers)
	}
	slices.SortStableFunc(list, func(p, q Properties) int {
		return cmp.Or(cmp.Compare(p.Platform, q.Platform), cmp.Compare(p.Release, q.Release))
	})
	for i := range list {
		list[i].Ordinal = i
	}
	return list, nil
}

// Find returns the device of that number, if it can be used.
func Find(ordinal int) (Properties, error) {
	_, p, err := find(ordinal)
	return p, err
}

// find returns the device of that number, and what it is reached through.
func find(ordinal int) (*api, Properties, error) {
	a, err := openLoader()
	if err != nil {
		return nil, Properties{}, err
	}
	list, err := a.all()
	if err != nil {
		return nil, Properties{}, err
	}
	if ordinal < 0 || ordinal >= len(list) {
		return nil, Properties{}, fmt.Errorf("there is no device %s: the OpenCL drivers show %d, from %s on",
			ID(ordinal), len(list), ID(0))
	}
	p := list[ordinal]
	if why := p.unusable(); why != "" {
		return nil, p, fmt.Errorf("%s cannot be used: %s", ID(ordinal), why)
	}
	return a, p, nil
}

// ID is what --device calls the device of that number.
func ID(ordinal int) string { return fmt.Sprintf("opencl:%d", ordinal) }

// Describe returns the descriptions of all devices, or a single one that says
// why there is none.
func Describe() []device.Info {
	all, err := Devices()
	if err != nil {
		return []device.Info{{ID: "opencl", Name: "OpenCL devices", Unusable: err.Error()}}
	}
	var list []device.Info
	for _, p := range all {
		list = append(list, p.describe())
	}
	return list
}

func (p *Properties) describe() device.Info {
	info := device.Info{
		ID: ID(p.Ordinal), Memory: p.Memory, Unusable: p.unusable(),
		Name: fmt.Sprintf("%s, %s of %s", p.Name, counted(p.ComputeUnits, "compute unit"), p.Platform),
		Notes: []string{
			fmt.Sprintf("driver %s, %s, %s", p.Driver, p.Version, p.C),
			fmt.Sprintf("%s of memory, %s at most in one grid, %s of cache", memory.Size(p.Memory),
				memory.Size(p.LargestBuffer), memory.Size(p.Cache)),
			fmt.Sprintf("work-groups of %d at most, %s of local memory", p.MaxThreads, memory.Size(p.Local)),
		},
	}
	if p.Kind == "cpu" {
		info.Threads = p.ComputeUnits
	}
	vectors := counted(p.Float, "float")
	if p.Double > 0 {
		vectors += " or " + counted(p.Double, "double")
	}
	info.Notes = append(info.Notes, fmt.Sprintf("prefers vectors of %s, aligns memory to %s", vectors,
		counted(int(p.Alignment), "byte")))
	if p.Clock > 0 {
		info.Notes = append(info.Notes, fmt.Sprintf("highest clock %d MHz", p.Clock))
	}
	info.Notes = append(info.Notes, p.limits()...)
	info.Figures = p.figures()
	return info
}

// figures lists the limits; what is not known, or not there, is left out.
func (p *Properties) figures() []device.Figure {
	yes := map[bool]int64{true: 1}
	return slices.DeleteFunc([]device.Figure{
		{Name: "compute_units", Value: int64(p.ComputeUnits)},
		{Name: "block_threads", Value: p.MaxThreads},
		{Name: "block_threads_x", Value: p.MaxBlock[0]}, {Name: "block_threads_y", Value: p.MaxBlock[1]},
		{Name: "block_threads_z", Value: p.MaxBlock[2]},
		{Name: "block_shared_bytes", Value: p.Local},
		{Name: "largest_grid_bytes", Value: p.LargestBuffer},
		{Name: "constant_bytes", Value: p.Constant},
		{Name: "image_texels", Value: p.Texels},
		{Name: "cache_bytes", Value: p.Cache},
		{Name: "alignment_bytes", Value: p.Alignment},
		{Name: "vector_floats", Value: int64(p.Float)}, {Name: "vector_doubles", Value: int64(p.Double)},
		{Name: "correct_float_division", Value: yes[p.CorrectFloat]},
		{Name: "float_denormals", Value: yes[p.Denormals]},
		{Name: "host_memory", Value: yes[p.Unified]},
		{Name: "clock_mhz", Value: int64(p.Clock)},
	}, func(f device.Figure) bool { return f.Value == 0 })
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
