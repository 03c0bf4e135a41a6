package opencl

import "fmt"

// Error is a refusal by the driver.
type Error struct {
	Doing string // what failed: "8.0 GiB of device memory cannot be had"
	Call  string // the function that refused
	Code  int
	Name  string // "CL_OUT_OF_RESOURCES"
}

// Error prints all of it, with the likely cause where the name does not tell
// it.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %s (%d)", e.Doing, e.Call, e.Name, e.Code)
	if cause := causes[e.Code]; cause != "" {
		s += "; " + cause
	}
	return s
}

// Lost reports whether the error may have come from a kernel that ran before,
// and may have spoilt the context.
func (e *Error) Lost() bool {
	switch e.Code {
	case -5, -14, -36, -9999:
		return true
	}
	return false
}

func fail(r code, call, doing string, args ...any) error {
	e := &Error{Doing: fmt.Sprintf(doing, args...), Call: call, Code: int(r), Name: names[int(r)]}
	if e.Name == "" {
		e.Name = "OpenCL error"
	}
	return e
}

// names are the errors' names in OpenCL's headers, by code.
var names = map[int]string{
	-1:    "CL_DEVICE_NOT_FOUND",
	-2:    "CL_DEVICE_NOT_AVAILABLE",
	-3:    "CL_COMPILER_NOT_AVAILABLE",
	-4:    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	-5:    "CL_OUT_OF_RESOURCES",
	-6:    "CL_OUT_OF_HOST_MEMORY",
	-7:    "CL_PROFILING_INFO_NOT_AVAILABLE",
	-8:    "CL_MEM_COPY_OVERLAP",
	-9:    "CL_IMAGE_FORMAT_MISMATCH",
	-10:   "CL_IMAGE_FORMAT_NOT_SUPPORTED",
	-11:   "CL_BUILD_PROGRAM_FAILURE",
	-12:   "CL_MAP_FAILURE",
	-13:   "CL_MISALIGNED_SUB_BUFFER_OFFSET",
	-14:   "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-15:   "CL_COMPILE_PROGRAM_FAILURE",
	-16:   "CL_LINKER_NOT_AVAILABLE",
	-17:   "CL_LINK_PROGRAM_FAILURE",
	-18:   "CL_DEVICE_PARTITION_FAILED",
	-19:   "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
	-30:   "CL_INVALID_VALUE",
	-31:   "CL_INVALID_DEVICE_TYPE",
	-32:   "CL_INVALID_PLATFORM",
	-33:   "CL_INVALID_DEVICE",
	-34:   "CL_INVALID_CONTEXT",
	-35:   "CL_INVALID_QUEUE_PROPERTIES",
	-36:   "CL_INVALID_COMMAND_QUEUE",
	-37:   "CL_INVALID_HOST_PTR",
	-38:   "CL_INVALID_MEM_OBJECT",
	-39:   "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
	-40:   "CL_INVALID_IMAGE_SIZE",
	-42:   "CL_INVALID_BINARY",
	-43:   "CL_INVALID_BUILD_OPTIONS",
	-44:   "CL_INVALID_PROGRAM",
	-45:   "CL_INVALID_PROGRAM_EXECUTABLE",
	-46:   "CL_INVALID_KERNEL_NAME",
	-47:   "CL_INVALID_KERNEL_DEFINITION",
	-48:   "CL_INVALID_KERNEL",
	-49:   "CL_INVALID_ARG_INDEX",
	-50:   "CL_INVALID_ARG_VALUE",
	-51:   "CL_INVALID_ARG_SIZE",
	-52:   "CL_INVALID_KERNEL_ARGS",
	-53:   "CL_INVALID_WORK_DIMENSION",
	-54:   "CL_INVALID_WORK_GROUP_SIZE",
	-55:   "CL_INVALID_WORK_ITEM_SIZE",
	-56:   "CL_INVALID_GLOBAL_OFFSET",
	-57:   "CL_INVALID_EVENT_WAIT_LIST",
	-58:   "CL_INVALID_EVENT",
	-59:   "CL_INVALID_OPERATION",
	-61:   "CL_INVALID_BUFFER_SIZE",
	-63:   "CL_INVALID_GLOBAL_WORK_SIZE",
	-64:   "CL_INVALID_PROPERTY",
	-65:   "CL_INVALID_IMAGE_DESCRIPTOR",
	-66:   "CL_INVALID_COMPILER_OPTIONS",
	-67:   "CL_INVALID_LINKER_OPTIONS",
	-72:   "CL_MAX_SIZE_RESTRICTION_EXCEEDED",
	-1001: "CL_PLATFORM_NOT_FOUND_KHR",
	-9999: "unnamed error of NVIDIA's driver",
}

const (
	tooLarge = "the grids are too large for this device, or other programs use it"
	wild     = "a kernel accessed memory outside its arrays, or needs more registers or local memory than there are; " +
		"this process can no longer use the device"
)

// causes are the likely reasons of errors, by code.
var causes = map[int]string{
	-2:  "another program has the device for itself",
	-3:  "the driver has no compiler",
	-4:  tooLarge,
	-5:  wild,
	-6:  "the machine's own memory is used up",
	-14: wild,
	-36: wild,
	-42: "the code was compiled for another device or driver",
	-43: "the driver does not know an option",
	-51: "the call has other arguments than the kernel",
	-52: "the call has fewer arguments than the kernel",
	-54: "the kernel needs more registers or local memory than a work-group of that size can have: " +
		"choose a smaller block",
	-61:   "the device has no such run of memory in one piece",
	-1001: "no driver is registered",
	-9999: wild,
}
