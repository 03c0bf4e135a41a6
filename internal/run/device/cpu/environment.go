package cpu

import (
	"fmt"
	"os"
)

// waiting bounds how long threads spin before they sleep, for GCC's OpenMP
// (times around a loop: some 50 us) and LLVM's (milliseconds). A team that spins on
// is as fast as can be while all its processors are its own; when another
// process has one of them, the others spin for the rest of that one's time slice
// at every barrier. A bounded wait costs little either way: the performance log
// has the measurement.
var waiting = []string{"GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1"}

// Environment returns the variables of a process that runs kernels by so many
// threads, 0 for all that this process may use. The OpenMP runtime reads them
// when it is loaded. What the user has set stands.
func Environment(threads int) []string {
	var env []string
	switch {
	case threads > 0:
		env = append(env, fmt.Sprintf("OMP_NUM_THREADS=%d", threads))
	case os.Getenv("OMP_NUM_THREADS") == "":
		env = append(env, fmt.Sprintf("OMP_NUM_THREADS=%d", Threads()))
	}
	for _, name := range []string{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"} {
		if os.Getenv(name) != "" {
			return env
		}
	}
	return append(env, waiting...)
}
