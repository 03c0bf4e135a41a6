package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/synth"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

type recordCmd struct {
	Suite      string   `arg:"" help:"A suite that gridloom synth lists; spatial: the programs of bench spatial; or examples."`
	Recordings string   `required:"" help:"The folder of the recordings, a file for each program." placeholder:"DIR"`
	Program    []string `help:"Only these programs, also such of omnitune as are not in its list." placeholder:"NAME"`
	Size       []string `help:"Cells of the grids on each axis, or of all axes, outermost first. Default: the suite's. With --one-in it may be repeated." placeholder:"N[xN...]"`
	Type       string   `help:"The grids' type. Default: the suite's." placeholder:"TYPE"`
	Same       int      `default:"200" help:"Configurations of each kernel that all programs are recorded with. Default: 200." placeholder:"N"`
	Adaptive   int      `default:"100" help:"Configurations after those that a search chooses. Default: 100." placeholder:"N"`
	Exhaustive bool     `help:"In the place of both: all configurations of a part of the space of each program, as T4 files to replay. Of garvey for bench garvey, of tuner for bench tuner."`
	OneIn      int      `help:"With --exhaustive: one of so many configurations, drawn by a hash, of some kernels of garvey and of garvey416." placeholder:"N"`
	Likely     int      `help:"In the place of both: configurations of each kernel that a model takes for fast, other ones for each program." placeholder:"N"`
	Model      string   `help:"The model of --likely, as gridloom learn --out writes it. Default: the one of the device that comes with gridloom." placeholder:"FILE"`
	sliceFlags `embed:""`
	storeFlag  `embed:""`
}

func (c *recordCmd) Help() string {
	return `Measures kernels of many programs with configurations that are the same everywhere, and with some that a
search chooses. Each program has a file of its own, so that the same command goes on where it
was ended; gridloom learn reads them. With --likely, those configurations are measured that a
model takes for fast, into files of their own beside: what a model errs about it learns there.

Examples:

	gridloom record spatial --recordings recordings --budget 10m
	gridloom record examples --recordings recordings --size 256
	gridloom record garvey --recordings recordings --program star-zyx-r2
	gridloom record garvey --recordings recordings --likely 100
	gridloom record garvey --recordings recordings --exhaustive
	gridloom record garvey --recordings samples --exhaustive --one-in 15 --size 64 --size 8x1024x1024
	gridloom record garvey416 --recordings samples --exhaustive --one-in 15`
}

// subject is a program to record.
type subject struct {
	name, file string // of the program, and of its recording
	source     string
	points     int // that a cell is computed from
	bound      *ir.Binding
}

func (c *recordCmd) Run(a *app) error {
	collectLess()
	switch {
	case (c.Suite == spatialSuite || c.Suite == examplesSuite) && c.Type != "":
		return usage("--type: the programs of %s have theirs", c.Suite)
	case len(c.Size) > 1 && c.OneIn == 0:
		return usage("--size %s: there is one size, unless --one-in samples several", strings.Join(c.Size, ", "))
	case c.OneIn < 0 || c.OneIn == 1:
		return usage("--one-in %d: a sample is one of 2 configurations or more", c.OneIn)
	case c.OneIn > 0 && !c.Exhaustive:
		return usage("--one-in: it is a part of what --exhaustive records")
	case c.Same < 0 || c.Adaptive < 0 || c.Same+c.Adaptive < 1:
		return usage("--same %d --adaptive %d: numbers of configurations are positive", c.Same, c.Adaptive)
	case c.Likely < 0:
		return usage("--likely %d: a number of configurations is positive", c.Likely)
	case c.Model != "" && c.Likely == 0:
		return usage("--model: only the configurations of --likely are a model's")
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Exhaustive {
		if c.Likely > 0 {
			return usage("--exhaustive, --likely: they can't be used together")
		}
		return c.exhaustive(a)
	}
	list, err := c.subjects()
	if err != nil {
		return err
	}
	d, err := c.device()
	if err != nil {
		return err
	}
	defer d.Close()
	kept, err := c.open(a, sqlite.Options{})
	if err != nil {
		return err
	}
	defer kept.Close()
	folder := filepath.Join(c.Recordings, c.Suite)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	ending := ".jsonl.gz"
	if c.Likely > 0 {
		ending = "-likely" + ending
	}
	until, done, missed := time.Now().Add(c.Budget), 0, 0
	for i, x := range list {
		r := engine.RecordRequest{
			Bound: x.bound, Source: x.source, Device: d, Store: kept, Path: filepath.Join(folder, x.file+ending),
			Commit: revision(), Same: c.Same, Adaptive: c.Adaptive, Likely: c.Likely, Model: c.Model,
		}
		interrupted := failf(exitInterrupted,
			"interrupted: %d of %d programs are recorded, and the same command goes on", done, len(list))
		ok, err := r.Recorded(a.ctx)
		switch {
		case err != nil && a.ctx.Err() != nil:
			return interrupted
		case err != nil:
			return err
		case ok:
			done++
			continue
		}
		if time.Now().After(until) {
			fmt.Fprintf(a.stderr, "the time is up: %d of %d programs are recorded, and the same command goes on\n",
				done, len(list))
			return nil
		}
		began := time.Now()
		t, err := engine.Record(a.ctx, r)
		switch {
		case err != nil && a.ctx.Err() != nil:
			return interrupted
		case err != nil && !unmeasurable(err): // one program less
			missed++
			fmt.Fprintf(a.stderr, "%s: %v\n", x.name, err)
			continue
		case err != nil:
			return err
		}
		done++
		fmt.Fprintf(a.stderr, "%d of %d: %s: %s\n", i+1, len(list), x.name,
			recordingText(t.Result, time.Since(began)))
	}
	fmt.Fprintf(a.stderr, "%d of %d programs are recorded\n", done, len(list))
	if missed > 0 {
		return &failure{status: exitDevice}
	}
	return nil
}

// recordingText says what a recording has.
func recordingText(r *tuner.Result, took time.Duration) string {
	best := 0.0
	for _, c := range r.Contenders {
		best = max(best, c.GStencils)
	}
	return fmt.Sprintf("%d configurations in %.1f s, the best has %.4g GStencil/s", r.Trials, took.Seconds(), best)
}

// unmeasurable reports whether an error is one of the device or the machine, and not of a program.
func unmeasurable(err error) bool {
	_, fault := errors.AsType[*engine.Fault](err)
	return fault
}

// mostPoints are those of programs that are recorded before all others: larger ones take minutes to compile.
const mostPoints = 130

// subjects returns the programs of the suite, in an order in which neighbours differ: a recording that is ended early
// has something of everything.
func (c *recordCmd) subjects() ([]subject, error) {
	var list []subject
	var err error
	switch c.Suite {
	case spatialSuite:
		list, err = c.spatial()
	case examplesSuite:
		list, err = c.examples()
	default:
		list, err = c.synthetic()
	}
	if err != nil {
		return nil, err
	}
	if list, err = selected(c.Program, list, func(x subject) string { return x.name }); err != nil {
		return nil, err
	}
	list = spread(list)
	slices.SortStableFunc(list, func(x, y subject) int { return lastIf(x.points > mostPoints, y.points > mostPoints) })
	return list, nil
}

// selected returns the programs of a suite that a user names, all of them if none is named.
func selected[T any](wanted []string, list []T, nameOf func(T) string) ([]T, error) {
	var names []string
	for _, x := range list {
		names = append(names, nameOf(x))
	}
	for _, name := range wanted {
		if slices.Contains(names, name) {
			continue
		}
		bad := usage("--program %s: the suite has no such program", name)
		if near := diag.Nearest(name, names); near != "" {
			return nil, bad.hintf("did you mean %s?", near)
		}
		return nil, bad.hintf("there is %s", strings.Join(names, ", "))
	}
	if len(wanted) == 0 {
		return list, nil
	}
	return slices.DeleteFunc(list, func(x T) bool { return !slices.Contains(wanted, nameOf(x)) }), nil
}

// lastIf orders what is so after what is not.
func lastIf(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// spread puts a list into an order in which neighbours are far apart in the old one: by the golden ratio.
func spread[T any](list []T) []T {
	const golden = 0.6180339887498949
	left := slices.Clone(list)
	var out []T
	at := 0.0
	for len(left) > 0 {
		i := int(at * float64(len(left)))
		out = append(out, left[i])
		left = slices.Delete(left, i, i+1)
		if at += golden; at >= 1 {
			at--
		}
	}
	return out
}

// synthetic returns the programs of a suite of package synth.
func (c *recordCmd) synthetic() ([]subject, error) {
	suite, err := synth.FindSuite(c.Suite)
	if err != nil {
		return nil, usage("%v, %s, %s", err, spatialSuite, examplesSuite)
	}
	o := synth.Options{Type: c.Type}
	suffix := ""
	if c.Type != "" {
		suffix += "-" + c.Type
	}
	if len(c.Size) > 0 {
		if o.Size, err = parseSize(c.Size[0]); err != nil {
			return nil, err
		}
		suffix += "-" + c.Size[0]
	}
	programs := suite.Programs()
	for _, name := range c.Program { // some suites have others than those of their list
		listed := slices.ContainsFunc(programs, func(x synth.Program) bool { return x.Name == name })
		if x, err := suite.Find(name); err == nil && !listed {
			programs = append(programs, x)
		}
	}
	var list []subject
	for _, x := range programs {
		text, err := x.Source(o)
		if err != nil {
			return nil, usage("--%v", err)
		}
		src := diag.NewSource(x.Name+".loom", text)
		p, errs := lang.Load(src)
		if errs.HasErrors() {
			return nil, errors.New(diag.Render(src, errs, diag.Style{}))
		}
		b, errs := p.In(arith.Contract).Bind(nil)
		if errs.HasErrors() {
			return nil, fmt.Errorf("%s: %s", x.Name, errs[0].Message)
		}
		list = append(list, subject{x.Name, x.Name + suffix, src.Text, x.Points, b})
	}
	return list, nil
}

// Suites beside those of package synth: the programs of bench spatial, and the examples.
const (
	spatialSuite  = "spatial"
	examplesSuite = "examples"
)

func (c *recordCmd) spatial() ([]subject, error) {
	var list []subject
	for _, row := range bench.SpatialProblems() {
		p, err := bench.SpatialProgram(row.Name, row.DType)
		if err != nil {
			return nil, err
		}
		set := map[string]string{}
		for i, q := range p.Params {
			set[q.Name] = fmt.Sprint(row.Sizes[i])
		}
		x, err := c.sized(p.In(arith.Contract), row.Name+"-"+row.DType, set)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// examples returns those examples that have kernels at the size.
func (c *recordCmd) examples() ([]subject, error) {
	files, err := fs.Glob(examples.FS, "*.loom")
	if err != nil {
		return nil, err
	}
	var list []subject
	for _, name := range files {
		text, err := examples.FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p, errs := lang.Load(diag.NewSource(name, string(text)))
		if errs.HasErrors() {
			return nil, fmt.Errorf("%s: %s", name, errs[0].Message)
		}
		x, err := c.sized(p.In(arith.Contract), strings.TrimSuffix(name, ".loom"), map[string]string{})
		if err != nil {
			return nil, err
		}
		x.source = string(text)
		list = append(list, x)
	}
	return list, nil
}

// sized binds a program to values of its parameters, or all of them to the size that the user wants.
func (c *recordCmd) sized(p *ir.Program, name string, set map[string]string) (subject, error) {
	file := name
	if len(c.Size) > 0 {
		size, err := parseSize(c.Size[0])
		if err != nil {
			return subject{}, err
		}
		if len(size) > 1 {
			return subject{}, usage("--size %s: programs of %s have one size for all axes", c.Size[0], c.Suite)
		}
		for _, q := range p.Params {
			set[q.Name] = fmt.Sprint(size[0])
		}
		file += "-" + c.Size[0]
	}
	b, errs := p.Bind(set)
	if errs.HasErrors() {
		return subject{}, usage("--size %s: %s: %s", strings.Join(c.Size, ""), name, errs[0].Message)
	}
	return subject{name, file, "", 0, b}, nil
}
