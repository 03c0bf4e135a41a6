//go:build !race

package tuner

import "testing"

// decides marks a test of what a search decides: the race detector is spared it (race_test.go).
func decides(*testing.T) {}
