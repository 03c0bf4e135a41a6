package proof

import (
	"context"
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
)

// bed is a device that modules are run on.
type bed interface {
	id() string
	dialect() *emit.Dialect
	// fits reports why the device cannot run a script; nil if it can.
	fits(*exec.Script) error
	build(ctx context.Context, text string, a toolchain.Arithmetic) (image string, err error)
}

// openclBed is a device of OpenCL.
type openclBed struct {
	device opencl.Properties
	cache  *toolchain.Cache
}

func (b *openclBed) id() string                { return opencl.ID(b.device.Ordinal) }
func (b *openclBed) dialect() *emit.Dialect    { return emit.OpenCL }
func (b *openclBed) fits(s *exec.Script) error { return s.FitsOpenCL(&b.device) }

func (b *openclBed) build(ctx context.Context, text string, a toolchain.Arithmetic) (string, error) {
	return pool.OpenCL(ctx, b.cache, b.device.Ordinal, a, []byte(text), poclLimit)
}

// runOn runs a module on a device as far as some leaves, all for 0, and
// returns how it differs from what is expected; "" if it does not. Modules that
// the device cannot run are left alone.
func runOn(ctx context.Context, d bed, m *kernel.Module, b *ir.Binding, a toolchain.Arithmetic, want *expected, leaves int64) (fits bool, reason string, err error) {
	for _, k := range m.Kernels {
		if d.dialect().Lacks(k) != nil {
			return false, "", nil
		}
	}
	script, err := exec.NewScript(m, b)
	if err != nil {
		return false, "", err
	}
	if d.fits(script) != nil {
		return false, "", nil
	}
	image, err := d.build(ctx, emit.Source(d.dialect(), m), a)
	if err != nil {
		return false, "", err
	}
	got, err := exec.Open(ctx, m, b, exec.Options{Device: d.id(), Image: image, Deadline: poclLimit})
	if err != nil {
		return false, "", err
	}
	defer got.Close()
	var given []string
	for _, g := range b.Program.Grids {
		cells, err := got.Grid(g.Name)
		if err != nil {
			return false, "", err
		}
		copy(cells, want.data[g])
		if want.given[g] {
			given = append(given, g.Name)
		}
	}
	if err := got.Initialise(given); err != nil {
		return false, "", err
	}
	if _, err := got.Advance(ctx, exec.Limit{Leaves: leaves}); err != nil {
		return false, "", err
	}
	reason, err = want.differs(got, b)
	return true, reason, err
}

// differs says how a runner differs from what is expected; "" if it does not.
func (e *expected) differs(got exec.Runner, b *ir.Binding) (string, error) {
	for _, g := range b.Program.Grids {
		have, err := got.Grid(g.Name)
		if err != nil {
			return "", err
		}
		want := e.Grid(g.Name)
		r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Bounds: want.Bound}, want.Data, have)
		if err != nil {
			return "", err
		}
		if !r.OK() {
			return r.String(), nil
		}
	}
	for _, x := range b.Program.Scalars {
		have, err := got.Scalar(x.Name)
		if err != nil {
			return "", err
		}
		want, bound := e.Scalar(x)
		if !agree(have.AsFloat(), want.AsFloat(), bound, e.bounded) && !math.IsInf(bound, 1) {
			return fmt.Sprintf("%s is %v, should be %v within %.3g", x.Name, have, want, bound), nil
		}
	}
	return "", nil
}
