// Package cuda runs generated CUDA on NVIDIA GPUs: through libcuda, the
// driver's interface, and NVRTC, the compiler as a library. Both are opened at
// run time without cgo, so that one program runs on machines with and without
// them; what is missing is said by Describe.
//
// The libraries are looked for where the system's loader looks and in the
// places where NVIDIA's packages put them. The environment variables
// GRIDLOOM_LIBCUDA and GRIDLOOM_NVRTC name them instead.
package cuda
