// Package measure checks and times variants of a program's calls on a device. A variant that crashes or
// hangs does no harm to the caller.
//
// A Lab compiles variants in several processes and runs them in one worker process, which owns the device.
// The worker fills the program's grids from a seed, on the device. The plain kernels compute what a call
// makes of them once. Every cell that a variant writes is compared with that, before and after the variant is
// timed. A variant that crashes, hangs or is refused is recorded with its reason, and a new worker starts.
package measure
