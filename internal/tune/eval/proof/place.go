package proof

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// place is where modules are run.
type place struct {
	*target.Target
	worker string                     // what the device is called in the workers that run kernels
	launch time.Duration              // that a launch may take
	spoil  func(source string) string // tests make mistakes with it; nil for none
}

const (
	buildLimit  = 2 * time.Minute
	launchLimit = 20 * time.Second
	// tookLonger is in the errors of work that was given up because of them.
	tookLonger = "it took longer than"
	// notTrusted is in those of code that devices refuse to run.
	notTrusted = cuda.Spilled
	// moreThreads is in the errors of blocks with more threads than their registers leave room for.
	moreThreads = "a block can have "
)

// refuses reports whether an error is that of a kernel which a device does not have the means to run. Such a kernel
// is not wrong.
func refuses(err error) bool {
	return exceedsResources(err) || verdict.Of(err) == verdict.Resources || err != nil && slices.ContainsFunc(
		[]string{tookLonger, notTrusted, moreThreads},
		func(why string) bool { return strings.Contains(err.Error(), why) })
}

// openPlace opens a device that runs kernels for GPUs, by the name that users call it by.
func openPlace(id string, cache *toolchain.Cache, workers int) (*place, error) {
	t, err := target.Open(id, target.Options{
		CompilerOptions: device.CompilerOptions{Cache: cache, Workers: workers, Limit: buildLimit},
	})
	if err != nil {
		return nil, fmt.Errorf("--device %s: %w", id, err)
	}
	if t.Reference() || t.Kind() != lower.GPU {
		return nil, fmt.Errorf("--device %s: kernels for GPUs run on cuda:0, opencl:0 and so on", id)
	}
	return &place{Target: t, worker: t.ID, launch: launchLimit}, nil
}

// build compiles kernels, and returns the path of the code.
func (p *place) build(ctx context.Context, source string, a arith.Mode) (string, error) {
	if p.spoil != nil {
		source = p.spoil(source)
	}
	b, err := p.In(a).Compile(ctx, source)
	return b.Path, err
}

// runOn runs a module on a device as far as some leaves, all for 0, and
// returns how it differs from what is expected; "" if it does not. Modules that
// the device cannot run are left alone.
func runOn(ctx context.Context, d *place, m *kernel.Module, b *ir.Binding, a arith.Mode, want *expected,
	leaves int64) (fits bool, reason string, err error) {
	if d.Cannot(m) != nil {
		return false, "", nil
	}
	script, err := exec.NewScript(m, b)
	if err != nil {
		return false, "", err
	}
	if script.Fits(d.Target) != nil {
		return false, "", nil
	}
	image, err := d.build(ctx, emit.Source(d.Dialect, m), a)
	if err != nil {
		return false, "", err
	}
	got, err := exec.Open(ctx, m, b, exec.Options{Device: d.worker, Image: image, Deadline: d.launch})
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
	reason, err = want.differs(got, m, b)
	return true, reason, err
}

// differs says how a runner differs from what is expected; "" if it does not.
func (e *expected) differs(got exec.Runner, m *kernel.Module, b *ir.Binding) (string, error) {
	for _, g := range kept(m, b) {
		have, err := got.Grid(g.Name)
		if err != nil {
			return "", err
		}
		want := e.Grid(g.Name)
		r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Bounds: want.Bound},
			want.Data, have)
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
