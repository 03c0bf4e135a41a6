package measure

import (
	"os"
	"runtime"

	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// DeviceOf describes a device as measurements are stored with it. Its clocks are not
// asked for: trials have them.
func DeviceOf(t *target.Target) session.Device {
	d := t.Details
	return session.Device{
		API: t.API, Name: t.Name, Driver: t.Driver, Units: t.Units,
		Properties: session.Properties{
			Vendor: d.Vendor, Architecture: d.Architecture, Platform: d.Platform,
			Memory: d.Memory, Cache: t.CacheBytes, Compute: d.Clock, MemoryClock: d.MemoryClock,
			Constant: d.Constant, Buffer: d.LargestBuffer, Unified: t.Shared, Extensions: d.Extensions,
			Machine: t.Properties.Machine,
		},
	}
}

// Host describes this machine. Without a name it is as good.
func Host() session.Host {
	name, _ := os.Hostname()
	return session.Host{
		Name: name, System: runtime.GOOS + "/" + runtime.GOARCH, Processor: toolchain.ProcessorName(),
		Threads: cpu.Threads(), Memory: memory.Total(),
	}
}
