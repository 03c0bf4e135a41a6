// Package exec runs programs: it gives them memory and first values, carries
// out their time loop in pieces, and hands back what they have computed.
//
// A compiled program (kernels with launches, a binding of its sizes and
// scalars) becomes a Script, which is plain data. A worker process executes
// scripts on a device, on memory that it shares with this process; it can be
// stopped between any two calls, and goes on from there bit for bit. The
// reference executor does the same in this process. Both are Runners.
package exec
