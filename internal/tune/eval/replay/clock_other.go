//go:build !linux

package replay

import "time"

// ThreadClock tells the time.
func ThreadClock() Clock {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
