// Package memory gives grids a place that two processes can work in, and says
// no before the machine runs out of it.
//
// Grids live in one anonymous shared file (memfd), which no size limit of
// /dev/shm applies to and which is gone when the last process that has it is.
package memory
