package cpu

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Builder compiles C.
type Builder struct {
	Compiler   *toolchain.Compiler
	Cache      *toolchain.Cache
	Arithmetic arith.Mode
	Limit      time.Duration // for one compilation; 0 is no limit
}

// Build compiles the source, unless that was done before.
func (b *Builder) Build(ctx context.Context, source []byte) (string, error) {
	o, err := b.Compiler.Build(ctx, b.Cache, toolchain.Source{Text: source, Arithmetic: b.Arithmetic}, b.Limit)
	return o.Path, err
}

// Describe returns the device's description, given what the search for a
// compiler came to.
func Describe(c *toolchain.Compiler, err error) device.Info {
	info := device.Info{ID: "cpu", Threads: Threads(), Memory: memory.Total()}
	if err == nil && !c.OpenMP {
		info.Threads = 1
	}
	info.Name = fmt.Sprintf("%s, %s", toolchain.ProcessorName(), threads(info.Threads))
	if err != nil {
		info.Unusable = err.Error()
		return info
	}
	info.Notes = append([]string{fmt.Sprintf("compiled by %s: %s", c.Path, c.Version)}, c.Notes...)
	return info
}

// Threads returns how many threads kernels use unless told otherwise: the
// processors that this process may use. Unlike OpenMP's own count it heeds the
// limits of containers.
func Threads() int { return runtime.GOMAXPROCS(0) }

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}
