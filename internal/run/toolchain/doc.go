// Package toolchain finds the system's C compiler and turns generated C into
// shared objects with it.
//
// The compiler is a program like any other: it may be missing, old, wrapped,
// broken or endless. So it is probed before it is relied on, called with
// argument lists and never through a shell, given a deadline, and quoted when
// it refuses. What it made is kept in a cache keyed by everything that the
// result depends on.
package toolchain
