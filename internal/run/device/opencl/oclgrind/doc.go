// Package oclgrind runs kernels under Oclgrind, which interprets OpenCL and
// reports races, accesses outside arrays and values that nothing has written,
// and counts instructions: an opinion from outside on what generated code does.
//
// Oclgrind poses as an OpenCL driver. It and other drivers bring compilers of
// their own that do not go together in one process, so that it gets a worker
// process in which it is the only driver. It is slow: grids should be small.
package oclgrind
