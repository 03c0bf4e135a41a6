package cli

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/gridloom/gridloom/internal/run/memory"
)

// limits refuses to begin where the limits of this process leave no room for it.
// Within a limit of address space, rubbish is collected before it is met.
func (a *app) limits() error {
	here := memory.System("/")
	if err := here.CheckLimits(os.Geteuid(), runtime.GOMAXPROCS(0)); err != nil {
		return failf(exitDevice, "%w", err).hintf("raise the limit")
	}
	if limit, ok := here.AddressSpace(); ok && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 2)
	}
	return nil
}
