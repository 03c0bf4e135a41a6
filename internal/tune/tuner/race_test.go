//go:build race

package tuner

import "testing"

// decides marks a test of what a search decides. It lowers hundreds of kernels, for which the race detector
// takes minutes, in the goroutines that the tests without this mark have, too: those of the queue that compiles,
// of strategies, of predictions and of checks while nothing is to be measured.
func decides(t *testing.T) {
	t.Helper()
	t.Skip("what a search decides is tested without the race detector")
}
