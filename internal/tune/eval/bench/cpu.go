package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// CPURow is one case of the suite "cpu".
type CPURow struct {
	Case           string  `json:"case"`
	DType          string  `json:"dtype"`
	Grid           string  `json:"grid"`
	Plan           string  `json:"plan"`
	GStencils      float64 `json:"gstencils"` // 1e9 points a second, median
	BytesPerPoint  float64 `json:"bytes_per_point"`
	FractionOfCopy float64 `json:"fraction_of_copy"`
	CopyGBs        float64 `json:"copy_gbs"`
	Copy           string  `json:"copy"` // which copy was the faster
	Ratio          float64 `json:"ratio_to_openmp"`
	RatioLow       float64 `json:"ratio_low"` // 95 % interval of the median
	RatioHigh      float64 `json:"ratio_high"`
	Pairs          int     `json:"pairs"`
	Nest           string  `json:"openmp"` // schedule and collapse depth that were the fastest
	Arithmetic     string  `json:"arithmetic"`
	CellsCompared  int64   `json:"cells_compared"`
	LargestDiff    float64 `json:"largest_difference"`
	Host           string  `json:"machine"`
	Compiler       string  `json:"compiler"`
	Commit         string  `json:"commit"`
}

// CPUOptions says how to run the suite.
type CPUOptions struct {
	Case   string // the only case, by its name or its label; "" for all
	Pairs  int    // interleaved measurements; at least 9
	Commit string // of the source that is measured
	Scale  int    // divides every size, for tests; 0 and 1 are the real sizes
	Log    io.Writer
}

// cpuCase is one program with its hand-written nest.
type cpuCase struct {
	name  string
	axes  int
	label string
}

var cpuCases = []cpuCase{
	{"star7", 3, "3D 7-point star"},
	{"box27", 3, "3D 27-point box"},
	{"star5", 2, "2D 5-point star"},
	{"himeno", 3, "Himeno 19-point"},
}

// CPUCases returns the names of the cases.
func CPUCases() []string {
	var names []string
	for _, c := range cpuCases {
		names = append(names, c.name)
	}
	return names
}

// HasCPUCase reports whether a case has this name or label.
func HasCPUCase(name string) bool { return cpuCasesOf(name) != nil }

// cpuCasesOf returns the cases of a name or label; all for "".
func cpuCasesOf(name string) []cpuCase {
	if name == "" {
		return cpuCases
	}
	for _, c := range cpuCases {
		if c.name == name || c.label == name {
			return []cpuCase{c}
		}
	}
	return nil
}

// CPU measures generated C against hand-written OpenMP C, each the best of its
// variants, in interleaved pairs with a copy between.
func CPU(ctx context.Context, o CPUOptions) ([]CPURow, error) {
	if o.Pairs < 9 {
		return nil, fmt.Errorf("bench cpu: %d pairs: at least 9 are needed", o.Pairs)
	}
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev := cpu.Open()
	defer dev.Close()
	b := &cpuBench{
		ctx:      ctx,
		opts:     o,
		dev:      dev,
		compiler: compiler,
		builder:  &cpu.Builder{Compiler: compiler, Cache: cache, Arithmetic: arith.Contract},
	}
	var rows []CPURow
	for _, c := range cpuCasesOf(o.Case) {
		row, err := b.run(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.label, err)
		}
		rows = append(rows, row)
		fmt.Fprintf(o.Log, "%-16s %-14s %7.3f GStencil/s  %5.1f %% of copy  %.3f of OpenMP (%.3f to %.3f)\n",
			row.Case, row.Grid, row.GStencils, 100*row.FractionOfCopy, row.Ratio, row.RatioLow, row.RatioHigh)
	}
	return rows, nil
}

type cpuBench struct {
	ctx      context.Context
	opts     CPUOptions
	dev      device.Device
	compiler *toolchain.Compiler
	builder  *cpu.Builder
}

// program is a case with memory for its grids.
type program struct {
	bound *ir.Binding
	grids map[*ir.Grid]device.Buffer
	host  map[*ir.Grid][]byte
	cells map[*ir.Scalar]device.Buffer
	cell  map[*ir.Scalar][]byte
	out   *ir.Grid // the grid that is written
}

func (b *cpuBench) run(c cpuCase) (CPURow, error) {
	p, err := b.load(c)
	if err != nil {
		return CPURow{}, err
	}
	fmt.Fprintf(b.opts.Log, "%s: choosing variants\n", c.label)
	ours, plan, err := b.bestPlan(c, p)
	if err != nil {
		return CPURow{}, err
	}
	nest, variant, err := b.bestNest(c, p)
	if err != nil {
		return CPURow{}, err
	}
	row := CPURow{
		Case: c.label, DType: p.out.Type.Word(), Grid: gridText(p.bound, p.out), Plan: plan, Nest: variant,
		Pairs: b.opts.Pairs, Arithmetic: "contract", Commit: b.opts.Commit,
		Host:     fmt.Sprintf("%s, %d threads", toolchain.ProcessorName(), cpu.Threads()),
		Compiler: b.compiler.Version,
	}
	if row.CellsCompared, row.LargestDiff, err = compareRuns(p, ours, nest); err != nil {
		return row, err
	}
	return row, b.measure(p, ours, nest, &row)
}

// load compiles a case's source and fills its grids with random values.
func (b *cpuBench) load(c cpuCase) (*program, error) {
	text, err := files.ReadFile("cases/" + c.name + ".loom")
	if err != nil {
		return nil, err
	}
	src := diag.NewSource(c.name+".loom", string(text))
	prog, list := lang.Load(src)
	if list.HasErrors() {
		return nil, errors.New(diag.Render(src, list, diag.Style{}))
	}
	prog = prog.In(arith.Contract)
	bound, list := prog.Bind(nil)
	if !list.HasErrors() && b.opts.Scale > 1 {
		set := map[string]string{}
		for i, q := range prog.Params {
			set[q.Name] = strconv.FormatInt(bound.Params[i]/int64(b.opts.Scale), 10)
		}
		bound, list = prog.Bind(set)
	}
	if list.HasErrors() {
		return nil, errors.New(diag.Render(src, list, diag.Style{}))
	}
	p := &program{
		bound: bound,
		grids: map[*ir.Grid]device.Buffer{}, host: map[*ir.Grid][]byte{},
		cells: map[*ir.Scalar]device.Buffer{}, cell: map[*ir.Scalar][]byte{},
	}
	rng := rand.New(rand.NewPCG(1, 7))
	for _, g := range prog.Grids {
		n := int64(g.Type.Size())
		for _, k := range bound.Shape(g.Dims) {
			n *= int64(k)
		}
		region, err := memory.Anonymous(n)
		if err != nil {
			return nil, err
		}
		p.host[g] = region.Bytes()
		fill(g.Type, region.Bytes(), rng)
		if p.grids[g], err = b.dev.Share(region.Bytes()); err != nil {
			return nil, err
		}
	}
	for _, s := range prog.Scalars {
		if s.Reduced {
			region, err := memory.Anonymous(8)
			if err != nil {
				return nil, err
			}
			p.cell[s] = region.Bytes()
			if p.cells[s], err = b.dev.Share(region.Bytes()); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range prog.Calls[0].Arrays {
		if a.Written {
			p.out = a.Grid
		}
	}
	return p, nil
}

func fill(t types.Type, b []byte, rng *rand.Rand) {
	switch t {
	case types.F64:
		for i, v := 0, view[float64](b); i < len(v); i++ {
			v[i] = rng.Float64()
		}
	case types.F32:
		for i, v := 0, view[float32](b); i < len(v); i++ {
			v[i] = rng.Float32()
		}
	default:
		panic("bench: no case has grids of " + t.Word())
	}
}

func view[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// stepLaunches are what one step launches.
type stepLaunches []device.PreparedLaunch

func (c stepLaunches) launch() error {
	for _, l := range c {
		if err := l.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// plans are the configurations that compete for a case: what a short search
// over cache blocks would try.
func plans(axes int) []string {
	if axes == 2 {
		return []string{"block=0x0", "block=1x0", "block=4x0", "block=16x0", "block=64x0", "block=0x2048",
			"block=64x2048", "block=64x4096"}
	}
	return []string{
		"block=0x0x0", "block=1x0x0", "block=4x0x0", "block=16x0x0", "block=0x8x0", "block=0x16x0", "block=0x32x0",
		"block=0x64x0",
		"block=16x16x0", "block=32x32x0", "block=64x16x0", "block=64x64x0", "block=128x16x0", "block=128x32x0",
		"block=1x16x0",
	}
}

func (b *cpuBench) bestPlan(c cpuCase, p *program) (stepLaunches, string, error) {
	var best stepLaunches
	var bestText string
	fastest := math.Inf(1)
	for _, text := range plans(c.axes) {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			return nil, "", err
		}
		m, err := lower.Program(p.bound.Program, lower.Options{Plan: plan, Bound: p.bound})
		if err != nil {
			return nil, "", err
		}
		image, err := b.builder.Build(b.ctx, []byte(emit.Source(emit.C, m)))
		if err != nil {
			return nil, "", err
		}
		lib, err := b.dev.Load(image)
		if err != nil {
			return nil, "", err
		}
		run, err := b.bind(p, m, lib)
		if err != nil {
			return nil, "", err
		}
		t, err := quick(run)
		if err != nil {
			return nil, "", err
		}
		if t < fastest {
			best, bestText, fastest = run, text, t
		}
	}
	return best, bestText, nil
}

// bind prepares the launches of the program's one call.
func (b *cpuBench) bind(p *program, m *kernel.Module, lib device.Library) (stepLaunches, error) {
	scratch := map[*kernel.Scratch]device.Buffer{}
	for _, s := range m.Scratch {
		env := map[*kernel.Var]op.Value{}
		for i, v := range s.Sizes {
			env[v] = op.Int(types.I64, p.bound.Params[s.Params[i]])
		}
		buf, err := b.dev.Alloc(kernel.Eval(s.Cells, env).I * int64(s.Elem.Size()))
		if err != nil {
			return nil, err
		}
		scratch[s] = buf
	}
	var out stepLaunches
	for _, l := range m.Calls[p.bound.Program.Calls[0]] {
		var args []device.Arg
		for _, a := range l.Args {
			args = append(args, p.arg(a, scratch))
		}
		c, err := lib.Prepare(l.Kernel.Name, args)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (p *program) arg(a kernel.Arg, scratch map[*kernel.Scratch]device.Buffer) device.Arg {
	var v device.Value
	switch a := a.(type) {
	case kernel.GridArg:
		return &device.Slot{Buffer: p.grids[a.Grid]}
	case kernel.ScratchArg:
		return &device.Slot{Buffer: scratch[a.Scratch]}
	case kernel.CellArg:
		return &device.Slot{Buffer: p.cells[a.Scalar]}
	case kernel.ScalarArg:
		v.Set(p.bound.Scalar(a.Scalar))
	case kernel.SizeArg:
		v.Set(op.Int(types.I64, p.bound.Params[a.Param]))
	case kernel.StepArg:
		v.Set(op.Int(types.I32, 0))
	}
	return &v
}

// bestNest builds the hand-written nest with every schedule and collapse
// depth. Its arguments are those of the kernel in the order of the source:
// the written grid, the grids that are read, the residual, sizes, scalars.
func (b *cpuBench) bestNest(c cpuCase, p *program) (stepLaunches, string, error) {
	text, err := files.ReadFile("nests/" + c.name + ".c")
	if err != nil {
		return nil, "", err
	}
	prog := p.bound.Program
	args := []device.Arg{&device.Slot{Buffer: p.grids[p.out]}}
	names := []string{"u"}
	if c.name == "himeno" {
		names = strings.Fields("p a0 a1 a2 a3 b0 b1 b2 c0 c1 c2 wrk1 bnd")
	}
	for _, n := range names {
		args = append(args, &device.Slot{Buffer: p.grids[prog.Grid(n)]})
	}
	for _, s := range prog.Scalars {
		if s.Reduced {
			args = append(args, &device.Slot{Buffer: p.cells[s]})
		}
	}
	for i := range prog.Params {
		args = append(args, p.arg(kernel.SizeArg{Param: i}, nil))
	}
	for _, s := range prog.Scalars {
		if !s.Reduced {
			args = append(args, p.arg(kernel.ScalarArg{Scalar: s}, nil))
		}
	}
	var best stepLaunches
	var bestText string
	fastest := math.Inf(1)
	for _, sched := range []string{"static", "static, 1", "static, 4", "dynamic", "dynamic, 4", "guided"} {
		for collapse := 1; collapse <= c.axes; collapse++ {
			if c.name == "himeno" && collapse == 3 {
				continue // its inner loop has a pragma of its own
			}
			source := fmt.Sprintf("#define SCHEDULE %s\n#define COLLAPSE %d\n%s", sched, collapse, text)
			image, err := b.byHand(source)
			if err != nil {
				return nil, "", err
			}
			lib, err := b.dev.Load(image)
			if err != nil {
				return nil, "", err
			}
			one, err := lib.Prepare("nest", args)
			if err != nil {
				return nil, "", err
			}
			t, err := quick(stepLaunches{one})
			if err != nil {
				return nil, "", err
			}
			if t < fastest {
				best, fastest = stepLaunches{one}, t
				bestText = fmt.Sprintf("schedule(%s) collapse(%d)", sched, collapse)
			}
		}
	}
	return best, bestText, nil
}

// quick returns the shortest of a few runs after a warm-up, in seconds.
func quick(c stepLaunches) (float64, error) {
	best := math.Inf(1)
	for i := range 6 {
		start := time.Now()
		if err := c.launch(); err != nil {
			return 0, err
		}
		if t := time.Since(start).Seconds(); i > 0 {
			best = min(best, t)
		}
	}
	return best, nil
}

// batch returns seconds a launch, over launches that take at least 20 ms.
func batch(c stepLaunches, n int) (float64, error) {
	start := time.Now()
	for range n {
		if err := c.launch(); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(n), nil
}

// byHand compiles code that was written by hand, with the options of generated
// code but for one: it is the compiler that fuses products with sums there.
func (b *cpuBench) byHand(source string) (string, error) {
	o, err := b.builder.Compiler.Build(b.ctx, b.builder.Cache, toolchain.Source{
		Text: []byte(source), Arithmetic: b.builder.Arithmetic, Extra: []string{"-ffp-contract=fast"},
	}, b.builder.Limit)
	return o.Path, err
}

// compareRuns runs both codes and compares every cell of the output. The
// compiler may fuse other products of the code by hand, so that a few units in
// the last place are no error.
func compareRuns(p *program, ours, nest stepLaunches) (int64, float64, error) {
	out := p.host[p.out]
	poison := func() {
		for i := range out {
			out[i] = 0xff
		}
	}
	poison()
	if err := nest.launch(); err != nil {
		return 0, 0, err
	}
	want := append([]byte(nil), out...)
	poison()
	if err := ours.launch(); err != nil {
		return 0, 0, err
	}
	var largest float64
	n := len(out) / p.out.Type.Size()
	at := func(b []byte, i int) float64 {
		if p.out.Type == types.F32 {
			return float64(view[float32](b)[i])
		}
		return view[float64](b)[i]
	}
	limit := 64 * 0x1p-53
	if p.out.Type == types.F32 {
		limit = 64 * 0x1p-24
	}
	cells := int64(0)
	for i := range n {
		x, y := at(out, i), at(want, i)
		if x != x && y != y {
			continue // neither writes this cell
		}
		cells++
		d := math.Abs(x - y)
		if !(d <= limit*max(1, math.Abs(y))) {
			return 0, 0, fmt.Errorf("cell %d: generated code has %g, the hand-written nest %g", i, x, y)
		}
		largest = max(largest, d)
	}
	if cells == 0 {
		return 0, 0, fmt.Errorf("there is no number in any cell of %s: nothing was compared", p.out.Name)
	}
	return cells, largest, nil
}

// measure times ours and the nest in pairs that change their order, with a
// copy between, and fills in the row.
func (b *cpuBench) measure(p *program, ours, nest stepLaunches, row *CPURow) error {
	copies, bytes, err := b.copies(p)
	if err != nil {
		return err
	}
	t, err := quick(ours)
	if err != nil {
		return err
	}
	n := max(1, int(math.Ceil(0.02/t)))
	var a, ratio []float64
	rates := map[string][]float64{}
	for i := range b.opts.Pairs {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		first, second := ours, nest
		if i%2 == 1 {
			first, second = nest, ours
		}
		x, err := batch(first, n)
		if err != nil {
			return err
		}
		for _, c := range copies {
			t, err := batch(stepLaunches{c.launch}, 3)
			if err != nil {
				return err
			}
			rates[c.name] = append(rates[c.name], bytes/t/1e9)
		}
		y, err := batch(second, n)
		if err != nil {
			return err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		a, ratio = append(a, x), append(ratio, y/x)
	}
	points, perPoint := p.work()
	for _, c := range copies {
		if r := median(rates[c.name]); r > row.CopyGBs {
			row.CopyGBs, row.Copy = r, c.name
		}
	}
	row.GStencils = points / median(a) / 1e9
	row.BytesPerPoint = perPoint
	row.FractionOfCopy = row.GStencils * perPoint / row.CopyGBs
	row.Ratio = median(ratio)
	row.RatioLow, row.RatioHigh = medianInterval(ratio)
	return nil
}

// work returns the points of the statement's domain and the bytes that must
// move for each: every grid that is read, once, and the one that is written.
func (p *program) work() (points, bytes float64) {
	points = 1
	for _, st := range p.bound.Program.Calls[0].Body {
		if st.Array != nil {
			for _, axis := range st.Axes {
				points *= float64(p.bound.Range(st.Domain[axis]).Len())
			}
		}
	}
	for _, a := range p.bound.Program.Calls[0].Arrays {
		if a.Read || a.Written {
			bytes += float64(a.Type.Size())
		}
	}
	return points, bytes
}

type copyLaunch struct {
	name   string
	launch device.PreparedLaunch
}

// copies prepares the copies between two grids, and returns the bytes that
// each reads and writes.
func (b *cpuBench) copies(p *program) ([]copyLaunch, float64, error) {
	text, err := files.ReadFile("nests/copy.c")
	if err != nil {
		return nil, 0, err
	}
	image, err := b.builder.Build(b.ctx, text)
	if err != nil {
		return nil, 0, err
	}
	lib, err := b.dev.Load(image)
	if err != nil {
		return nil, 0, err
	}
	var from *ir.Grid
	for _, g := range p.bound.Program.Grids {
		if g != p.out && g.Type == p.out.Type {
			from = g
			break
		}
	}
	var n device.Value
	count := int64(len(p.host[from]) / 8)
	n.Set(op.Int(types.I64, count))
	args := []device.Arg{&device.Slot{Buffer: p.grids[p.out]}, &device.Slot{Buffer: p.grids[from]}, &n}
	var out []copyLaunch
	for _, name := range []string{"copy_loop", "copy_libc"} {
		c, err := lib.Prepare(name, args)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, copyLaunch{name, c})
	}
	return out, float64(16 * count), nil
}

func gridText(b *ir.Binding, g *ir.Grid) string {
	var parts []string
	for _, n := range b.Shape(g.Dims) {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, "x")
}
