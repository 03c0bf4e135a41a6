package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// findings are what probing a compiler has found, as the cache keeps them.
type findings struct {
	OpenMP  bool
	General []string
	Refused []string
	Notes   []string
}

// probe finds out which options the compiler takes. All at once is the common
// case and costs one compilation; only if that fails are they tried one by one.
func (c *Compiler) probe(ctx context.Context, cache *Cache) error {
	name := "probe-" + digest(c.Path, fmt.Sprint(c.Args), c.Version, Processor(), fmt.Sprint(generalFlags), probeSource) + ".json"
	if data, ok := cache.read(name); ok {
		var f findings
		if json.Unmarshal(data, &f) == nil {
			c.OpenMP, c.general, c.refused, c.Notes = f.OpenMP, f.General, f.Refused, f.Notes
			return nil
		}
	}
	if err := c.tryFlags(ctx); err != nil {
		return err
	}
	if data, err := json.Marshal(findings{c.OpenMP, c.general, c.refused, c.Notes}); err == nil {
		cache.write(name, data)
	}
	return nil
}

func (c *Compiler) tryFlags(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "gridloom-probe-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "probe.c")
	if err := os.WriteFile(source, []byte(probeSource), 0o600); err != nil {
		return err
	}
	takes := func(flags ...string) error {
		args := slices.Concat(flags, []string{"-shared", "-o", filepath.Join(dir, "probe.so"), source, "-lm"})
		_, err := c.call(ctx, probeLimit, dir, args...)
		if err == nil {
			return nil
		}
		return errors.Join(err, ctx.Err())
	}

	arithmetic := slices.Concat(Strict.flags(), Fast.flags())
	if takes(slices.Concat(generalFlags, arithmetic, []string{"-fopenmp"})...) == nil {
		c.general, c.OpenMP = append(slices.Clone(generalFlags), "-fopenmp"), true
		return nil
	}
	if err := takes("-fPIC"); err != nil {
		return fmt.Errorf("it does not make shared objects: %w", err)
	}
	for _, flag := range slices.Concat(generalFlags, arithmetic) {
		err := takes("-fPIC", flag)
		switch {
		case err == nil && slices.Contains(generalFlags, flag):
			c.general = append(c.general, flag)
		case err == nil:
		case ctx.Err() != nil:
			return ctx.Err()
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
	case ctx.Err() != nil:
		return ctx.Err()
	case c.OpenMP:
		c.general = append(c.general, "-fopenmp")
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("%s has no OpenMP: programs run on one thread", c.Path))
		if takes("-fPIC", "-fopenmp-simd") == nil {
			c.general = append(c.general, "-fopenmp-simd")
		}
	}
	return nil
}

// Flags returns the options for a mode of arithmetic.
func (c *Compiler) Flags(a Arithmetic) []string {
	flags := slices.Clone(c.general)
	for _, f := range a.flags() {
		if !slices.Contains(c.refused, f) {
			flags = append(flags, f)
		}
	}
	return flags
}
