package cpu

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Kind is the processors of this machine as one device, which runs C with OpenMP.
var Kind = device.Kind{Name: "cpu", Dialect: emit.C, Describe: describe, Find: find, Open: openDevice}

func describe(ctx context.Context, cache *toolchain.Cache) ([]device.Info, error) {
	c, err := toolchain.Find(ctx, os.Getenv, cache)
	var missing *toolchain.Missing
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	info := Describe(c, err)
	if cache.Note != "" {
		info.Notes = append(info.Notes, cache.Note)
	}
	return []device.Info{info}, nil
}

func find(int) (device.Properties, error) {
	return device.Properties{
		Name: toolchain.ProcessorName(), Units: Threads(),
		Details: device.Details{Architecture: runtime.GOARCH, Memory: memory.Total(),
			Extensions: toolchain.ProcessorFeatures()},
		Shared: true, CacheBytes: CacheBytes(os.DirFS("/"), Threads()), Compiler: openCompiler,
		Machine: hardware(os.DirFS("/"), toolchain.ProcessorName(), Threads(), toolchain.ProcessorFeatures()),
	}, nil
}

func openDevice(int, device.OpenOptions) (device.Device, error) { return Open(), nil }

// compiler is the system's C compiler.
type compiler struct {
	*toolchain.Compiler
	device.CompilerOptions
}

func openCompiler(ctx context.Context, o device.CompilerOptions) (device.Compiler, error) {
	c, err := toolchain.Find(ctx, os.Getenv, o.Cache)
	if err != nil {
		return nil, err
	}
	c.Memory = o.Memory
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return &compiler{c, o}, nil
}

func (c *compiler) Version() string               { return c.Compiler.Version }
func (c *compiler) Options(a arith.Mode) []string { return c.Flags(a) }
func (c *compiler) Fused() bool                   { return c.FMA }
func (c *compiler) Workers() int                  { return c.CompilerOptions.Workers }
func (c *compiler) Close()                        {}

// plainOptions undo what a user who compiles by hand does not ask for.
var plainOptions = []string{"-march=x86-64"}

func (c *compiler) Compile(ctx context.Context, s device.Source) (device.Binary, error) {
	start := time.Now()
	source := toolchain.Source{Text: []byte(s.Text), Arithmetic: s.Arithmetic}
	if s.Plain && runtime.GOARCH == "amd64" {
		source.Extra = plainOptions
	}
	o, err := c.Build(ctx, c.Cache, source, c.Limit)
	return device.Binary{Path: o.Path, Cached: o.Cached, Took: time.Since(start)}, err
}
