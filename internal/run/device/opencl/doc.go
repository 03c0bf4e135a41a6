// Package opencl runs generated OpenCL C on any device with a driver for it:
// GPUs of all makers, and processors through PoCL. The drivers are reached
// through the loader libOpenCL, which is opened at run time without cgo, so
// that one program runs on machines with and without it; what is missing is
// said by Describe.
//
// The environment variable GRIDLOOM_LIBOPENCL names the loader, and that of the
// loader itself, OCL_ICD_VENDORS, the folder or file that names the drivers.
package opencl
