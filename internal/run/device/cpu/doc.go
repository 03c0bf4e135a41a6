// Package cpu runs generated C on the processor that Gridloom itself runs on:
// shared objects that the system's compiler made, called without cgo.
//
// Every kernel NAME is a function void gl_NAME(void **args), where args[i]
// points at the i-th argument's storage: at a pointer to a buffer's first
// element, or at a scalar in its C type.
package cpu
