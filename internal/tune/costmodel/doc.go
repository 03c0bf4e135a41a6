// Package costmodel predicts how long a GPU takes for a kernel of several iterations, and what binds it there.
package costmodel
