package contest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/child"
	runcompare "github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	runexec "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// plain is a comparison under way.
type plain struct {
	opts     *PlainOptions
	dir      string // for what is compiled
	compiler *toolchain.Compiler
	want     *runexec.Reference // after the first iterations
}

// compiledCode is a program's kernels in compiled form, and how fast they are.
type compiledCode struct {
	name   string
	module *kernel.Module
	image  string
	rates  []float64 // by round
}

// speed returns the median of the rounds, with its interval.
func (c *compiledCode) speed() (median, low, high float64) {
	m, i := measure.Typical(c.rates)
	return m, i[0], i[1]
}

// over returns the ratio of two speeds, round by round.
func over(a, b *compiledCode) (ratio, low, high float64) {
	r, i := measure.Ratio(a.rates, b.rates)
	return r, i[0], i[1]
}

// lowered returns the kernels of a plan.
func (p *plain) lowered(text string) (*kernel.Module, error) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return nil, err
	}
	b := p.opts.Bound
	return lower.Program(b.Program, target.OnPaper(emit.C, nil, b.Program.Arithmetic).Lowering(b, plan))
}

// rivals compiles the code that was written by hand, in both ways, and checks
// it.
func (p *plain) rivals(ctx context.Context) ([]*compiledCode, error) {
	m, err := p.lowered("")
	if err != nil {
		return nil, err
	}
	source, err := filepath.Abs(p.opts.Rival)
	if err != nil {
		return nil, err
	}
	if p.compiler, err = toolchain.Find(ctx, os.Getenv, nil); err != nil {
		return nil, err
	}
	var list []*compiledCode
	for i, flags := range [][]string{plainFlags, nativeFlags} {
		c := &compiledCode{name: strings.Join(flags, " "), module: m,
			image: filepath.Join(p.dir, fmt.Sprintf("plain%d.so", i))}
		args := slices.Concat(p.compiler.Args, flags, []string{"-fPIC", "-shared", "-o", c.image, source, "-lm"})
		if _, err := (child.Program{Path: p.compiler.Path, Args: args}).Run(ctx); err != nil {
			return nil, fmt.Errorf("%s %s does not compile %s: %w", p.compiler.Path, c.name, p.opts.Rival, err)
		}
		if _, err := p.check(ctx, c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// found compiles what the search came to, as run does.
func (p *plain) found(ctx context.Context, plan string) (*compiledCode, error) {
	m, err := p.lowered(plan)
	if err != nil {
		return nil, err
	}
	cache, err := toolchain.OpenCache(p.dir)
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	builder := &cpu.Builder{Compiler: p.compiler, Cache: cache, Arithmetic: arith.Contract}
	image, err := builder.Build(ctx, []byte(emit.Source(emit.C, m)))
	return &compiledCode{name: "the tuned plan", module: m, image: image}, err
}

// open starts the program with some kernels.
func (p *plain) open(ctx context.Context, c *compiledCode) (runexec.Runner, error) {
	r, err := runexec.Open(ctx, c.module, p.opts.Bound, runexec.Options{Device: "cpu", Image: c.image})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	if err := r.Initialise(nil); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// beginning is how many iterations are compared with the reference executor:
// its bounds grow with each of them, as those on errors do that add up. It is
// also how many bring memory and threads into the state that the rest finds.
const beginning = 10

// begin runs the first iterations.
func begin(ctx context.Context, r runexec.Runner) (runexec.Progress, error) {
	return advance(ctx, r, runexec.Limit{Iterations: beginning})
}

func advance(ctx context.Context, r runexec.Runner, limit runexec.Limit) (runexec.Progress, error) {
	done, err := r.Advance(ctx, limit)
	if err == nil && done.Stopped {
		err = context.Cause(ctx)
	}
	return done, err
}

// reference has the reference executor run the first iterations, with bounds on
// what a compiler may change that chooses by itself what it fuses.
func (p *plain) reference(ctx context.Context) (*runexec.Reference, error) {
	if p.want != nil {
		return p.want, nil
	}
	want, err := runexec.OpenReference(p.opts.Bound.In(arith.Fast), runexec.ReferenceOptions{Bounds: interp.Fast})
	if err != nil {
		return nil, err
	}
	if err := want.Initialise(nil); err != nil {
		return nil, err
	}
	if _, err := begin(ctx, want); err != nil {
		return nil, err
	}
	p.want = want
	return want, nil
}

// check runs the first iterations with some kernels, and compares every cell of
// every grid with the reference executor. It returns how many cells those were.
func (p *plain) check(ctx context.Context, c *compiledCode) (int64, error) {
	want, err := p.reference(ctx)
	if err != nil {
		return 0, err
	}
	got, err := p.open(ctx, c)
	if err != nil {
		return 0, err
	}
	defer got.Close()
	if _, err := begin(ctx, got); err != nil {
		return 0, fmt.Errorf("%s: %w", c.name, err)
	}
	b, cells := p.opts.Bound, int64(0)
	for _, g := range b.Program.Grids {
		x, err := want.Grid(g.Name)
		if err != nil {
			return 0, err
		}
		y, err := got.Grid(g.Name)
		if err != nil {
			return 0, err
		}
		bounds, err := want.Bounds(g.Name)
		if err != nil {
			return 0, err
		}
		r, err := runcompare.Cells(runcompare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Bounds: bounds},
			x, y)
		if err != nil {
			return 0, err
		}
		if !r.OK() {
			return 0, &Disagreement{c.name, r}
		}
		cells += r.Cells
	}
	if cells == 0 {
		return 0, fmt.Errorf("%s: there is no number in any cell after %d iterations: nothing was compared", c.name,
			beginning)
	}
	fmt.Fprintf(p.opts.Log, "%s: %d cells agree with the reference executor after %d iterations\n", c.name, cells,
		beginning)
	return cells, nil
}

// Disagreement is code that computes something else than the program.
type Disagreement struct {
	Code string
	runcompare.Result
}

// Error says where it does first.
func (d *Disagreement) Error() string {
	first := d.First[0]
	return fmt.Sprintf(
		"%s: %d of %d cells of %s are further from the reference executor than rounding may put them, such as %v: %v "+
			"instead of %v",
		d.Code, d.Beyond, d.Cells, d.Grid, first.Index, first.Got, first.Want)
}

// time runs the program in a process of its own, so that the threads of one code
// are never in the way of another's, and notes its speed after the first
// iterations.
func (p *plain) time(ctx context.Context, c *compiledCode) error {
	r, err := p.open(ctx, c)
	if err != nil {
		return err
	}
	defer r.Close()
	first, err := begin(ctx, r)
	if err != nil {
		return err
	}
	all, err := advance(ctx, r, runexec.Limit{})
	if err != nil {
		return err
	}
	if all.Points == first.Points {
		return fmt.Errorf("%s has no more than %d iterations, after which timing would begin",
			p.opts.Bound.Program.Name, beginning)
	}
	c.rates = append(c.rates, float64(all.Points-first.Points)/(all.Busy-first.Busy).Seconds()/1e9)
	return nil
}
