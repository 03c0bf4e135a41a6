package features

import "strings"

// toldAs are the properties of OpenCL that OmniTune's features of a device are, by their names after CL_DEVICE_.
var toldAs = map[string]string{
	"address_bits": "ADDRESS_BITS", "big_endian": "ENDIAN_LITTLE", "native_kernels": "EXECUTION_CAPABILITIES",
	"extensions": "EXTENSIONS", "cache_bytes": "GLOBAL_MEM_CACHE_SIZE", "cache_type": "GLOBAL_MEM_CACHE_TYPE",
	"cache_line": "GLOBAL_MEM_CACHELINE_SIZE", "memory_bytes": "GLOBAL_MEM_SIZE",
	"unified_memory": "HOST_UNIFIED_MEMORY", "image_2d_height": "IMAGE2D_MAX_HEIGHT",
	"image_2d_width": "IMAGE2D_MAX_WIDTH", "image_3d_depth": "IMAGE3D_MAX_DEPTH",
	"image_3d_height": "IMAGE3D_MAX_HEIGHT", "image_3d_width": "IMAGE3D_MAX_WIDTH", "images": "IMAGE_SUPPORT",
	"local_bytes": "LOCAL_MEM_SIZE", "local_type": "LOCAL_MEM_TYPE", "clock": "MAX_CLOCK_FREQUENCY",
	"compute_units": "MAX_COMPUTE_UNITS", "constant_arguments": "MAX_CONSTANT_ARGS",
	"constant_bytes": "MAX_CONSTANT_BUFFER_SIZE", "largest_buffer": "MAX_MEM_ALLOC_SIZE",
	"argument_bytes": "MAX_PARAMETER_SIZE", "read_images": "MAX_READ_IMAGE_ARGS", "samplers": "MAX_SAMPLERS",
	"max_threads": "MAX_WORK_GROUP_SIZE", "write_images": "MAX_WRITE_IMAGE_ARGS",
	"buffer_alignment": "MEM_BASE_ADDR_ALIGN", "type_alignment": "MIN_DATA_TYPE_ALIGN_SIZE",
	"queue": "QUEUE_PROPERTIES", "float_arithmetic": "SINGLE_FP_CONFIG", "type": "TYPE", "vendor_id": "VENDOR_ID",
}

// toldOf returns a feature of a device as its driver tells it; false if it does not.
func toldOf(told map[string]int64, feature string) (float64, bool) {
	n, ok := told[toldAs[feature]]
	if !ok {
		return 0, false
	}
	const cpu, gpu, native = 1 << 1, 1 << 2, 1 << 1
	switch feature {
	case "type":
		switch {
		case n&gpu != 0:
			return 1, true
		case n&cpu != 0:
			return 0, true
		}
		return absent, true // an accelerator is neither
	case "local_type": // OpenCL has 1 for memory of its own, and 2 for global memory
		if n == 1 || n == 2 {
			n = 3 - n
		}
	case "big_endian":
		n = 1 - n
	case "native_kernels":
		n = n & native / native
	case "clock", "memory_bytes", "compute_units":
		return positive(float64(n)), true
	}
	return float64(n), true
}

// toldWidth returns the width of vectors of a type that a driver prefers or has natively; NaN if it does not tell.
func toldWidth(told map[string]int64, kind, elements string) float64 {
	n, ok := told[strings.ToUpper(kind+"_vector_width_"+elements)]
	if !ok {
		return absent
	}
	return float64(n)
}
