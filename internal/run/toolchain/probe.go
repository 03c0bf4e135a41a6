package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// generalFlags are asked for in every build. The language has integers that
// wrap, never reads errno or the floating-point flags, and calls nothing that
// another library could replace.
var generalFlags = []string{
	"-std=c11", "-O3", "-march=native", "-fPIC", "-w",
	"-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-fno-stack-protector",
}

// required are the flags without which the code would be wrong, not slow.
var required = []string{"-std=c11", "-fPIC", "-ffp-contract=off", "-fwrapv"}

const probeSource = `#include <math.h>
#include <stdint.h>
void gl_probe(void **args)
{
	double *u = *(double **)args[0];
	const int64_t n = *(int64_t *)args[1];
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++)
		u[i] = sqrt(u[i]) + exp(u[i]);
}
`

// probeResult is the result of probing a compiler, as the cache holds it.
type probeResult struct {
	OpenMP  bool
	FMA     bool
	General []string
	Refused []string
	Notes   []string
}

// probe finds out which options the compiler takes. All at once is the common
// case and costs one compilation; only if that fails are they tried one by one.
func (c *Compiler) probe(ctx context.Context, cache *Cache) error {
	name := "probe-" + digest(c.Path, fmt.Sprint(c.Args), c.Version, Processor(), fmt.Sprint(generalFlags), probeSource,
		fmaSource) + ".json"
	if data, ok := cache.read(name); ok {
		var f probeResult
		if json.Unmarshal(data, &f) == nil {
			c.OpenMP, c.FMA, c.general, c.refused, c.Notes = f.OpenMP, f.FMA, f.General, f.Refused, f.Notes
			return nil
		}
	}
	try := func(dir string) error {
		if err := c.tryFlags(ctx, dir); err != nil {
			return err
		}
		return c.tryFMA(ctx, dir)
	}
	if cache == nil {
		if err := try(""); err != nil {
			return err
		}
	} else if err := cache.within(try); err != nil {
		return err
	}
	if data, err := json.Marshal(probeResult{c.OpenMP, c.FMA, c.general, c.refused, c.Notes}); err == nil {
		cache.write(name, data)
	}
	return nil
}

// tryFlags tries options in a folder. What the machine could not just now ends it:
// an option that was not tried would count as unknown from then on.
func (c *Compiler) tryFlags(ctx context.Context, within string) error {
	*c = Compiler{Path: c.Path, Args: c.Args, Version: c.Version, Memory: c.Memory}
	folder, err := disk.NewFolder(within, probing(within))
	if err != nil {
		return err
	}
	defer folder.Remove()
	dir := folder.Path
	source := filepath.Join(dir, "probe.c")
	if err := os.WriteFile(source, []byte(probeSource), 0o600); err != nil {
		return err
	}
	var passing error
	takes := func(flags ...string) error {
		if passing != nil {
			return passing
		}
		args := slices.Concat(flags, []string{"-shared", "-o", filepath.Join(dir, "probe.so"), source, "-lm"})
		_, err := c.call(ctx, probeLimit, dir, args...)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			passing = errors.Join(err, ctx.Err())
			return passing
		case verdict.Of(err) == verdict.Transient || disk.Full(dir):
			passing = verdict.For(verdict.Transient, err)
		}
		return err
	}

	arithmetic := slices.Concat(arithmeticFlags(arith.Strict), arithmeticFlags(arith.Fast))
	if takes(slices.Concat(generalFlags, arithmetic, []string{"-fopenmp"})...) == nil {
		c.general, c.OpenMP = append(slices.Clone(generalFlags), "-fopenmp"), true
		return nil
	}
	if err := takes("-fPIC"); passing != nil {
		return passing
	} else if err != nil {
		return fmt.Errorf("it does not make shared objects: %w", err)
	}
	for _, flag := range slices.Concat(generalFlags, arithmetic) {
		err := takes("-fPIC", flag)
		switch {
		case err == nil && slices.Contains(generalFlags, flag):
			c.general = append(c.general, flag)
		case err == nil:
		case passing != nil:
			return passing
		case slices.Contains(required, flag):
			return fmt.Errorf("it does not take %s: %w", flag, err)
		case !slices.Contains(c.refused, flag):
			c.refused = append(c.refused, flag)
			c.Notes = append(c.Notes, fmt.Sprintf("%s does not take %s", c.Path, flag))
		}
	}
	if slices.Contains(c.refused, "-march=native") && takes("-fPIC", "-mcpu=native") == nil {
		c.general = append(c.general, "-mcpu=native")
	}
	c.OpenMP = takes("-fPIC", "-fopenmp") == nil
	switch {
	case passing != nil:
	case c.OpenMP:
		c.general = append(c.general, "-fopenmp")
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("%s has no OpenMP: programs run on one thread", c.Path))
		if takes("-fPIC", "-fopenmp-simd") == nil {
			c.general = append(c.general, "-fopenmp-simd")
		}
	}
	return passing
}

// fmaSource compiles where kernels have fused multiply-adds.
const fmaSource = "#if !(" + emit.HasFMA + ")\n#error there is none\n#endif\nint gl_probe;\n"

// tryFMA finds out whether code has fused multiply-adds.
func (c *Compiler) tryFMA(ctx context.Context, within string) error {
	folder, err := disk.NewFolder(within, probing(within))
	if err != nil {
		return err
	}
	defer folder.Remove()
	source := filepath.Join(folder.Path, "fma.c")
	if err := os.WriteFile(source, []byte(fmaSource), 0o600); err != nil {
		return err
	}
	args := slices.Concat(c.general, []string{"-c", "-o", filepath.Join(folder.Path, "fma.o"), source})
	_, err = c.call(ctx, probeLimit, folder.Path, args...)
	switch {
	case err == nil:
		c.FMA = true
	case ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case verdict.Of(err) == verdict.Transient || disk.Full(folder.Path):
		return verdict.For(verdict.Transient, err)
	default:
		c.Notes = append(c.Notes, fmt.Sprintf(
			"code of %s has no fused multiply-add: products are rounded before they are added", c.Path))
	}
	return nil
}

// probing is what the names of folders to probe in begin with.
func probing(within string) string {
	if within == "" {
		return "gridloom-probe-"
	}
	return inUse
}

// Flags returns the options for a mode of arithmetic.
func (c *Compiler) Flags(a arith.Mode) []string {
	flags := slices.Clone(c.general)
	for _, f := range arithmeticFlags(a) {
		if !slices.Contains(c.refused, f) {
			flags = append(flags, f)
		}
	}
	return flags
}
