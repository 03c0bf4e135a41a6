package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// role is what a plan is tried for.
type role uint8

const (
	ofSeveral    role = iota // iterations a kernel
	ofOne                    // iteration a kernel: what others are compared with
	withoutEdges             // as ofSeveral, with values that are wrong near the edges
)

// timedLoop is a plan that is carried out by repetitions of so many iterations.
type timedLoop struct {
	*exec.Remote
	as                role
	plan              string
	depth             int
	registers, spills int     // of the kernel of several iterations
	useful            float64 // share of its work
	symbol            string  // its name in the device's code
	repeats           bool    // one launch of it has as many iterations as are wanted
	differ, compared  int64   // cells
	points            int64
	busy              time.Duration // so far
	seen              float64       // the rate of a few repetitions
	rates             []float64     // of whole ones
}

// depthOf returns how many iterations a plan has in a kernel at most.
func depthOf(plan string) (int, error) {
	p, err := schedule.ParsePlan(plan)
	depth := 1
	for _, k := range p.Kernels {
		depth = max(depth, k.Depth)
	}
	return depth, err
}

// depthAs returns how many iterations a plan has in a kernel, which must suit what it is tried as.
func depthAs(plan string, as role) (int, error) {
	depth, err := depthOf(plan)
	if err == nil && (depth > 1) != (as != ofOne) {
		err = fmt.Errorf("a plan has %d iterations a kernel", depth)
	}
	return depth, err
}

// checksOf returns after how many iterations cells are compared: each plan's kernel of several
// iterations runs three times at least, and some iterations are left.
func checksOf(plans []string) (int64, error) {
	n := int64(0)
	for _, p := range plans {
		depth, err := depthOf(p)
		if err != nil {
			return 0, err
		}
		n = max(n, 3*int64(depth)+1)
	}
	return n, nil
}

// fewSteps is how many iterations are enough to time single ones. Of kernels of several iterations
// all are timed: those that are left over count as much as in the row.
const fewSteps = 200

// fastest tries plans by a few repetitions, and returns the fastest, open; but one that computes
// anything wrong at once, so that it is seen.
func (t *temporal) fastest(ctx context.Context, plans []string, as role) (*timedLoop, error) {
	var best *timedLoop
	for _, text := range plans {
		l, err := t.try(ctx, text, as)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		switch {
		case ctx.Err() != nil:
			for _, open := range []*timedLoop{l, best} {
				if open != nil {
					open.Close()
				}
			}
			return nil, err
		case err != nil:
			fmt.Fprintf(t.Log, "  %s: %v\n", text, err)
			continue
		}
		what := map[role]string{ofOne: "one iteration a kernel, ", withoutEdges: "bare, "}[as]
		fmt.Fprintf(t.Log, "  %8.1f GStencil/s, %s%d registers, %d bytes spilled: %s\n", l.seen, what, l.registers,
			l.spills, text)
		wrong := l.differ > 0
		if wrong || best == nil || l.seen > best.seen {
			l, best = best, l
		}
		if l != nil {
			l.Close()
		}
		if wrong {
			fmt.Fprintf(t.Log, "  %d cells DIFFER: %s\n", best.differ, text)
			break
		}
	}
	if best == nil {
		return nil, errors.New("none of the plans can be run")
	}
	return best, nil
}

// try opens a plan, compares what it makes of the grids with what one iteration a kernel does,
// and times a few repetitions.
func (t *temporal) try(ctx context.Context, plan string, as role) (*timedLoop, error) {
	l, err := t.open(ctx, plan, as)
	if err != nil {
		return nil, err
	}
	if err = t.check(ctx, l); err == nil {
		var rates []float64
		n := t.steps
		if as == ofOne {
			n = min(n, fewSteps)
		}
		for len(rates) < 4 && err == nil { // the first loads code and records graphs
			var rate float64
			rate, err = l.rate(ctx, n)
			rates = append(rates, rate)
		}
		l.seen = median(rates[1:])
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// compile makes the kernels of a plan, or finds those that were made before.
func (d *temporalDevice) compile(ctx context.Context, b *ir.Binding, text string, as role) (*kernel.Module,
	device.Binary, error) {
	m, err := d.lower(b, text, as)
	if err != nil {
		return nil, device.Binary{}, err
	}
	code, err := d.target.Compile(ctx, emit.Source(d.target.Dialect, m))
	return m, code, err
}

func (d *temporalDevice) lower(b *ir.Binding, text string, as role) (*kernel.Module, error) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return nil, err
	}
	options := d.target.Lowering(b, plan)
	options.Bare, options.Count = as == withoutEdges, as == ofSeveral
	return lower.Program(b.Program, options)
}

// rowsAhead is for how many rows kernels are compiled at a time, before the first is measured:
// that takes all processors, and nothing is timed meanwhile.
const rowsAhead = 8

// compileAhead compiles the kernels of rows side by side. What cannot be compiled is said when it
// is tried.
func (d *temporalDevice) compileAhead(ctx context.Context, rows []rowWanted) {
	var wg sync.WaitGroup
	for _, w := range rows {
		b, err := w.bind(w.set)
		if err != nil {
			continue
		}
		for as, plans := range [][]string{ofSeveral: w.plans, ofOne: orDefault(w.single), withoutEdges: w.bare} {
			for _, text := range plans {
				wg.Go(func() { _, _, _ = d.compile(ctx, b, text, role(as)) })
			}
		}
	}
	wg.Wait()
}

// open compiles the program with a plan, and gives it memory with what t.data has.
func (t *temporal) open(ctx context.Context, text string, as role) (*timedLoop, error) {
	l := &timedLoop{plan: text, as: as, points: t.points}
	var err error
	if l.depth, err = depthAs(text, as); err != nil {
		return nil, err
	}
	m, code, err := t.compile(ctx, t.bound, text, as)
	if err != nil {
		return nil, err
	}
	if l.Remote, err = exec.Open(ctx, m, t.bound, exec.Options{Device: t.target.ID, Image: code.Path}); err != nil {
		return nil, err
	}
	for name, data := range t.data {
		into, err := l.Grid(name)
		if err != nil {
			l.Close()
			return nil, err
		}
		copy(into, data)
	}
	if len(m.Spans) > 0 {
		span := l.mark(m, t.target.Dialect)
		if span.Work != nil {
			l.useful = span.Work.Useful()
		}
		for _, x := range span.Launches {
			l.report(x.Kernel.Name, code.Kernels, l.Usage())
		}
	}
	return l, nil
}

// mark notes the kernel of the deepest span, which carries out most iterations, and returns the span.
func (l *timedLoop) mark(m *kernel.Module, d *emit.Dialect) *kernel.Span {
	span := m.Spans[0] // spans of a loop are in the order of falling depth
	for _, x := range span.Launches {
		l.symbol = d.Symbol(x.Kernel.Name)
	}
	l.repeats = span.Repeats
	return span
}

// report notes what a kernel takes of a thread's registers, as the device and the compiler say.
func (l *timedLoop) report(name string, compiled []device.KernelReport, used []exec.KernelUsage) {
	for _, u := range used {
		if u.Kernel == name {
			l.registers = u.Registers
		}
	}
	for _, r := range compiled {
		if r.Kernel == l.symbol {
			l.spills = r.SpillStores + r.SpillLoads
		}
	}
}

// check carries out the first iterations. What one iteration a kernel makes of the grids is
// kept, and others are compared with it.
func (t *temporal) check(ctx context.Context, l *timedLoop) error {
	done, err := l.Advance(ctx, exec.Limit{Iterations: t.checks})
	if err != nil {
		return err
	}
	l.busy = done.Busy
	if l.as == withoutEdges || l.as == ofOne && t.kept != nil {
		return nil
	}
	after := map[string][]byte{}
	for _, g := range t.bound.Program.Grids {
		have, err := l.Grid(g.Name)
		if err != nil {
			return err
		}
		if l.as == ofOne {
			after[g.Name] = bytes.Clone(have)
			continue
		}
		l.differ += differing(have, t.kept[g.Name], g.Type.Size())
		l.compared += int64(len(have) / g.Type.Size())
	}
	if l.as == ofOne {
		t.kept = after
	}
	return nil
}

// rate carries out a repetition, and returns its GStencil/s.
func (l *timedLoop) rate(ctx context.Context, steps int64) (float64, error) {
	done, err := l.Advance(ctx, exec.Limit{Iterations: steps})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return 0, err
	}
	took := done.Busy - l.busy
	l.busy = done.Busy
	return float64(l.points*steps) / took.Seconds() / 1e9, nil
}

// leastTurns is how many repetitions there are at the least: enough for an interval.
const leastTurns = 9

// inTurn measures the best plan in turn with the others that are compared with it. They change
// their order, so that what else the machine does, and how warm it is, falls on all alike.
func (t *temporal) inTurn(ctx context.Context, row *TemporalRow, loops []*timedLoop, best *timedLoop) error {
	turn := func(n int) error {
		for i := range loops {
			l := loops[i]
			if n%2 == 1 {
				l = loops[len(loops)-1-i]
			}
			steps := t.steps
			if l.as == ofOne {
				steps = min(steps, fewSteps)
			}
			rate, err := l.rate(ctx, steps)
			if err != nil {
				return err
			}
			if n >= 0 {
				l.rates = append(l.rates, rate)
			}
		}
		return nil
	}
	if err := turn(-1); err != nil { // graphs of so many iterations are recorded
		return err
	}
	start, before := time.Now(), best.busy
	for n := 0; n < leastTurns || best.busy-before < t.Least; n++ {
		if err := turn(n); err != nil {
			return err
		}
	}
	row.Seconds = time.Since(start).Seconds()
	row.Rate, row.Cool = median(best.rates), slices.Max(best.rates)
	row.Low, row.High = medianInterval(best.rates)
	for _, l := range loops {
		if l == best {
			continue
		}
		ratios := ratiosOf(best, l)
		switch l.as {
		case ofOne:
			row.SinglePlan, row.Single = l.plan, median(l.rates)
			row.Ratio, row.Pairs = median(ratios), len(ratios)
			row.RatioLow, row.RatioHigh = medianInterval(ratios)
		case withoutEdges:
			row.BarePlan, row.Bare, row.Guarded = l.plan, median(l.rates), median(ratios)
		}
	}
	return nil
}

// ratiosOf returns the ratios of the rates of two loops that were timed in turn.
func ratiosOf(a, b *timedLoop) (ratios []float64) {
	for n, rate := range a.rates {
		ratios = append(ratios, rate/b.rates[n])
	}
	return ratios
}

// randomCells draws numbers between -1 and 1.
func randomCells(of types.Type, cells int64, seed uint64) []byte {
	size := int64(of.Size())
	data := make([]byte, cells*size)
	const part = 1 << 20
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for from := int64(0); from < cells; from += part {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			copy(data[from*size:], gen.Input(of, int(min(part, cells-from)), seed<<32+uint64(from/part)))
		})
	}
	wg.Wait()
	return data
}

// differing counts the elements of a size that differ.
func differing(a, b []byte, size int) int64 {
	n := int64(0)
	const part = 1 << 16
	for from := 0; from < len(a); from += part * size {
		to := min(from+part*size, len(a))
		if bytes.Equal(a[from:to], b[from:to]) {
			continue
		}
		for i := from; i < to; i += size {
			if !bytes.Equal(a[i:i+size], b[i:i+size]) {
				n++
			}
		}
	}
	return n
}
