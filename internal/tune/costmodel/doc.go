// Package costmodel predicts how long a GPU takes for the kernel of several iterations, term by term: what moves
// through memory, what is issued, what moves through shared memory, what blocks wait for. The terms are counted on
// the kernel itself and turned into seconds by the description of the device alone. The largest term is what binds
// the kernel. Nothing is compiled, and nothing is measured.
package costmodel
