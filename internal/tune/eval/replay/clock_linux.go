package replay

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadClock tells the processor time of the calling thread, so that other work
// on the machine does not count.
func ThreadClock() Clock {
	began := time.Now()
	return func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			return time.Since(began)
		}
		return time.Duration(t.Nano())
	}
}
