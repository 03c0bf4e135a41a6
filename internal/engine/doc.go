// Package engine does what Gridloom is asked for: it parses and binds programs, compiles
// and runs them, checks them against the reference executor, tunes them, makes libraries of
// them, and remembers plans. Requests and results are typed values. The command line, the
// public package and services only word them.
package engine
