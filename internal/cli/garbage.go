package cli

import (
	"os"
	"runtime/debug"
)

// roomy is how much garbage there may be before it is collected, in percent of
// what is in use.
const roomy = 400

// collectLess has garbage collected less often, for commands that lower kernels by
// the thousand: they hold little at a time, so that the collector would run
// without a pause, on processors that compilers could have. What the user says by
// GOGC goes first.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(roomy)
	}
}
