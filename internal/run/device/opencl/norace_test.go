//go:build !race

package opencl

// poolMisses is how many allocations of a launch are none of its own.
const poolMisses = 0
