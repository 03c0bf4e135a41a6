//go:build race

package opencl

// poolMisses is how many allocations of a launch are none of its own: with the
// race detector, pools drop some of what they are given, and every call into a
// library takes its frame from one.
const poolMisses = 4
