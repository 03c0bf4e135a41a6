// Package measure checks and times variants of a program's stages on a device,
// and is never brought down by one.
//
// A Lab compiles variants in many processes and runs them in one worker that
// owns the device. The worker fills the program's grids from a seed, on the
// device; what a stage makes of them is computed once by the plainest kernels,
// and every cell that a variant writes is compared with it before and after the
// variant is timed. What crashes, hangs or is refused costs the worker, which
// is started anew, and is recorded with its reason.
package measure
