// Package ref describes the reference executor as a device: it is on every
// machine, needs nothing, and defines what is right.
package ref

import (
	"fmt"
	"runtime"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Describe returns the device's description.
func Describe() device.Info {
	return device.Info{
		ID:      "ref",
		Name:    fmt.Sprintf("reference executor, on %d of this machine's processors", runtime.GOMAXPROCS(0)),
		Threads: runtime.GOMAXPROCS(0),
		Memory:  memory.Total(),
	}
}
