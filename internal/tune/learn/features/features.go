// Package features describes programs, configurations, lowered variants and the instructions of kernels by numbers,
// which learners learn from.
package features

// Feature is what one number of a description means.
type Feature struct {
	Name    string // unique within its group; it keeps its meaning for ever
	Unit    string
	Doc     string
	Example string
	Source  string // who described programs by it, and where
}
