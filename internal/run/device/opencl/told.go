package opencl

// asked are properties that a driver tells as numbers, by their names after CL_DEVICE_. Nothing is run by them: they
// describe the device to those who learn.
var asked = map[string]uint32{
	"TYPE": deviceType, "VENDOR_ID": 0x1001,
	"MAX_WORK_GROUP_SIZE": maxWorkGroupSize, "MAX_COMPUTE_UNITS": maxComputeUnits, "MAX_CLOCK_FREQUENCY": maxClock,
	"ADDRESS_BITS": 0x100D, "ENDIAN_LITTLE": 0x1026, "EXECUTION_CAPABILITIES": 0x1029, "QUEUE_PROPERTIES": 0x102A,
	"SINGLE_FP_CONFIG": singleFPConfig,

	"GLOBAL_MEM_SIZE": globalSize, "GLOBAL_MEM_CACHE_SIZE": globalCacheSize, "GLOBAL_MEM_CACHE_TYPE": 0x101C,
	"GLOBAL_MEM_CACHELINE_SIZE": 0x101D, "HOST_UNIFIED_MEMORY": hostUnifiedMemory, "MAX_MEM_ALLOC_SIZE": maxMemAlloc,
	"LOCAL_MEM_SIZE": localSize, "LOCAL_MEM_TYPE": 0x1022,
	"MAX_CONSTANT_BUFFER_SIZE": maxConstantBuffer, "MAX_CONSTANT_ARGS": 0x1021, "MAX_PARAMETER_SIZE": 0x1017,
	"MEM_BASE_ADDR_ALIGN": memBaseAddrAlign, "MIN_DATA_TYPE_ALIGN_SIZE": 0x101A,

	"IMAGE_SUPPORT": imageSupport, "IMAGE2D_MAX_WIDTH": 0x1011, "IMAGE2D_MAX_HEIGHT": 0x1012,
	"IMAGE3D_MAX_WIDTH": 0x1013, "IMAGE3D_MAX_HEIGHT": 0x1014, "IMAGE3D_MAX_DEPTH": 0x1015,
	"MAX_READ_IMAGE_ARGS": 0x100E, "MAX_WRITE_IMAGE_ARGS": 0x100F, "MAX_SAMPLERS": 0x1018,

	"PREFERRED_VECTOR_WIDTH_CHAR": 0x1006, "PREFERRED_VECTOR_WIDTH_SHORT": 0x1007, "PREFERRED_VECTOR_WIDTH_INT": 0x1008,
	"PREFERRED_VECTOR_WIDTH_LONG": 0x1009, "PREFERRED_VECTOR_WIDTH_FLOAT": preferredFloat,
	"PREFERRED_VECTOR_WIDTH_DOUBLE": preferredDouble, "PREFERRED_VECTOR_WIDTH_HALF": 0x1034,
	"NATIVE_VECTOR_WIDTH_CHAR": 0x1036, "NATIVE_VECTOR_WIDTH_SHORT": 0x1037, "NATIVE_VECTOR_WIDTH_INT": 0x1038,
	"NATIVE_VECTOR_WIDTH_LONG": 0x1039, "NATIVE_VECTOR_WIDTH_FLOAT": 0x103A, "NATIVE_VECTOR_WIDTH_DOUBLE": 0x103B,
	"NATIVE_VECTOR_WIDTH_HALF": 0x103C,
}

// told asks a device for numbers. What a driver does not tell is left out: some properties are of early versions of
// OpenCL, and a device can be used without any of them.
func (a *api) told(device handle) map[string]int64 {
	list := map[string]int64{}
	for name, which := range asked {
		q := &asker{ask: a.DeviceInfo, of: device}
		if n := number[uint64](q, which); q.err == nil { // those of 4 bytes are its lower half
			list[name] = int64(n)
		}
	}
	return list
}
