package proof

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
)

// bed is a device that modules are run on.
type bed interface {
	id() string
	name() string
	dialect() *emit.Dialect
	machine() *machine.Machine
	// fits reports why the device cannot run a script; nil if it can.
	fits(*exec.Script) error
	build(ctx context.Context, text string, a arith.Mode) (image string, err error)
	close()
	patience() time.Duration // for a launch
}

// openBed opens a device by the name that users call it by.
func openBed(id string, cache *toolchain.Cache, workers int) (bed, error) {
	if n, ok := opencl.ParseID(id); ok {
		of, err := opencl.Find(n)
		return &openclBed{of, cache}, err
	}
	n, ok := cuda.ParseID(id)
	if !ok {
		return nil, fmt.Errorf("--device %s: kernels for GPUs run on cuda:0, opencl:0 and so on", id)
	}
	gpus, err := cuda.GPUs()
	if err != nil {
		return nil, err
	}
	if n >= len(gpus) {
		return nil, fmt.Errorf("--device %s: the driver shows %d GPUs", id, len(gpus))
	}
	b := &cudaBed{of: gpus[n]}
	b.pool, err = pool.Open(pool.Options{Cache: cache, Workers: workers, Deadline: buildLimit})
	return b, err
}

const (
	buildLimit  = 2 * time.Minute
	launchLimit = 20 * time.Second
	// tookLonger is in the errors of work that was given up because of them.
	tookLonger = "it took longer than"
	// notTrusted is in those of code that devices refuse to run.
	notTrusted = cuda.Spilled
)

// openclBed is a device of OpenCL.
type openclBed struct {
	of    opencl.Properties
	cache *toolchain.Cache
}

func (b *openclBed) id() string                { return opencl.ID(b.of.Ordinal) }
func (b *openclBed) name() string              { return b.of.Name }
func (b *openclBed) dialect() *emit.Dialect    { return emit.OpenCL }
func (b *openclBed) machine() *machine.Machine { return b.of.Machine() }
func (b *openclBed) fits(s *exec.Script) error { return s.FitsOpenCL(&b.of) }
func (b *openclBed) close()                    {}
func (b *openclBed) patience() time.Duration   { return launchLimit }

func (b *openclBed) build(ctx context.Context, text string, a arith.Mode) (string, error) {
	return pool.OpenCL(ctx, b.cache, b.of.Ordinal, a, []byte(text), buildLimit)
}

// cudaBed is a GPU that CUDA runs on.
type cudaBed struct {
	of   cuda.GPU
	pool *pool.Pool
}

func (b *cudaBed) id() string                { return cuda.ID(b.of.Ordinal) }
func (b *cudaBed) name() string              { return b.of.Name }
func (b *cudaBed) dialect() *emit.Dialect    { return emit.CUDA }
func (b *cudaBed) machine() *machine.Machine { return b.of.Machine() }
func (b *cudaBed) fits(s *exec.Script) error { return s.FitsGPU(&b.of) }
func (b *cudaBed) close()                    { b.pool.Close() }
func (b *cudaBed) patience() time.Duration   { return launchLimit }

func (b *cudaBed) build(ctx context.Context, text string, a arith.Mode) (string, error) {
	r := b.pool.Compile(ctx, []pool.Source{{Text: []byte(text), Arch: b.of.Arch(), Arithmetic: a}})[0]
	return r.Image, r.Err
}

// spoilt is a device whose compiler makes mistakes.
type spoilt struct {
	bed
	spoil func(source string) string
}

func (b *spoilt) build(ctx context.Context, text string, a arith.Mode) (string, error) {
	return b.bed.build(ctx, b.spoil(text), a)
}

// runOn runs a module on a device as far as some leaves, all for 0, and
// returns how it differs from what is expected; "" if it does not. Modules that
// the device cannot run are left alone.
func runOn(ctx context.Context, d bed, m *kernel.Module, b *ir.Binding, a arith.Mode, want *expected, leaves int64) (fits bool, reason string, err error) {
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
	got, err := exec.Open(ctx, m, b, exec.Options{Device: d.id(), Image: image, Deadline: d.patience()})
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
