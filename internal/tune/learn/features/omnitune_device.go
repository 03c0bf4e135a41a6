package features

import "github.com/gridloom/gridloom/internal/compile/machine"

// deviceProperties are OmniTune's features of a device, but for the widths of vectors: what clGetDeviceInfo tells.
// Those without a function are in no description of a machine: drivers alone tell them (toldAs).
var deviceProperties = []struct {
	name, unit, doc, example string
	of                       func(*machine.Machine) float64
}{
	{"count", "devices", "Devices that a kernel runs on.", "1", func(*machine.Machine) float64 { return 1 }},
	{"address_bits", "bits", "Width of addresses.", "64", nil},
	{"double", "0 or 1", "1 if it has double precision.", "an H200: 1", can(machine.Double)},
	{"big_endian", "0 or 1", "1 if the largest byte of a number comes first.", "0", nil},
	{"native_kernels", "0 or 1", "1 if it also runs functions of the host.", "a processor: 1", nil},
	{"extensions", "extensions", "Extensions of OpenCL that it has.", "12", nil},
	{"cache_bytes", "bytes", "Cache of global memory, shared by all units.", "60 MiB: 62,914,560", lastCache},
	{"cache_type", "code", "0 without a cache of global memory, 1 if it is for reading, 2 for writing, too.",
		"an L2 cache: 2", nil},
	{"cache_line", "bytes", "A line of that cache.", "128", lastLine},
	{"memory_bytes", "bytes", "Global memory.", "141 GB: 1.41e11",
		func(m *machine.Machine) float64 { return positive(float64(m.Memory.Bytes)) }},
	{"unified_memory", "0 or 1", "1 if it works in the host's memory.", "a processor: 1", unified},
	{"image_2d_height", "texels", "Height of the largest image of two dimensions.", "16,384", nil},
	{"image_2d_width", "texels", "Width of the largest image of two dimensions.", "16,384", nil},
	{"image_3d_depth", "texels", "Depth of the largest image of three dimensions.", "2,048", nil},
	{"image_3d_height", "texels", "Height of the largest image of three dimensions.", "2,048", nil},
	{"image_3d_width", "texels", "Width of the largest image of three dimensions.", "2,048", nil},
	{"images", "0 or 1", "1 if it has images.", "an H200: 1", can(machine.Image)},
	{"local_bytes", "bytes", "Local memory of a work-group.", "48 KiB: 49,152", localBytes},
	{"local_type", "code", "0 without local memory, 1 if it is global memory, 2 if it is memory of its own.",
		"an H200: 2", localType},
	{"clock", "MHz", "The highest clock frequency.", "1.98 GHz: 1,980",
		func(m *machine.Machine) float64 { return positive(1000 * m.ClockGHz) }},
	{"compute_units", "units", "Multiprocessors or cores.", "an H200: 132",
		func(m *machine.Machine) float64 { return positive(float64(m.Units)) }},
	{"constant_arguments", "arguments", "Constant buffers that a kernel may take.", "9", nil},
	{"constant_bytes", "bytes", "The largest constant buffer.", "64 KiB: 65,536", nil},
	{"largest_buffer", "bytes", "The largest buffer.", "a quarter of the memory", nil},
	{"argument_bytes", "bytes", "Arguments of a kernel together.", "4,352", nil},
	{"read_images", "images", "Images that a kernel may read.", "256", nil},
	{"samplers", "samplers", "Samplers that a kernel may use.", "32", nil},
	{"max_threads", "threads", "Threads that a work-group may have.", "1,024",
		ofGPU(func(g *machine.GPU) float64 { return float64(g.ThreadsPerBlock) })},
	{"dimensions", "axes", "Axes of a work-group.", "3", func(*machine.Machine) float64 { return 3 }},
	{"max_threads_x", "threads", "Threads that a work-group may have along x.", "1,024", along(0)},
	{"max_threads_y", "threads", "Threads that a work-group may have along y.", "1,024", along(1)},
	{"max_threads_z", "threads", "Threads that a work-group may have along z.", "64", along(2)},
	{"write_images", "images", "Images that a kernel may write.", "16", nil},
	{"buffer_alignment", "bits", "Alignment of buffers.", "4,096", nil},
	{"type_alignment", "bytes", "Alignment of any element.", "128", nil},
	{"queue", "code", "Properties of command queues, a bit each: order left open, times told.", "both: 3", nil},
	{"float_arithmetic", "code", "What float can do, a bit each: denormals, infinities, roundings.", "191", nil},
	{"type", "code", "0 for processors, 1 for GPUs.", "an H200: 1", deviceType},
	{"vendor", "code", "Who has made it; a name has no number.", "never known", nil},
	{"vendor_id", "code", "The vendor's number.", "4,318", nil},
	{"opencl_version", "version", "The version of OpenCL.", "1.2", nil},
}

// positive is a number that is known to be positive where it is known.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return absent
}

// can reports what a device may use in OpenCL, if it is programmed in that.
func can(c machine.Capability) func(*machine.Machine) float64 {
	return func(m *machine.Machine) float64 {
		switch d := m.Dialect("opencl"); {
		case d == nil:
			return absent
		case d.Can(c):
			return 1
		}
		return 0
	}
}

func ofGPU(of func(*machine.GPU) float64) func(*machine.Machine) float64 {
	return func(m *machine.Machine) float64 {
		if m.GPU == nil {
			return absent
		}
		return positive(of(m.GPU))
	}
}

// along is the most threads along an axis, x first.
func along(axis int) func(*machine.Machine) float64 {
	return ofGPU(func(g *machine.GPU) float64 { return float64(g.MaxBlock[axis]) })
}

// shared returns the cache that all units share, or nil.
func shared(m *machine.Machine) *machine.Cache {
	if n := len(m.Caches); n > 0 && !m.Caches[n-1].PerUnit {
		return &m.Caches[n-1]
	}
	return nil
}

func lastCache(m *machine.Machine) float64 {
	if c := shared(m); c != nil {
		return positive(float64(c.Bytes))
	}
	return absent
}

func lastLine(m *machine.Machine) float64 {
	if c := shared(m); c != nil {
		return positive(float64(c.LineBytes))
	}
	return absent
}

// localBytes is the memory that a work-group shares in OpenCL.
func localBytes(m *machine.Machine) float64 {
	if d := m.Dialect("opencl"); d != nil && d.SharedPerBlock > 0 {
		return float64(d.SharedPerBlock)
	}
	return ofGPU(func(g *machine.GPU) float64 { return float64(g.SharedPerBlock) })(m)
}

func localType(m *machine.Machine) float64 {
	if m.GPU == nil {
		return absent
	}
	return 2 * can(machine.Shared)(m)
}

func unified(m *machine.Machine) float64 {
	if m.Kind == machine.KindCPU {
		return 1
	}
	return absent
}

func deviceType(m *machine.Machine) float64 {
	if m.Kind == machine.KindGPU {
		return 1
	}
	return 0
}
