package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
)

type runCmd struct {
	File string   `arg:"" help:"Source file; - reads standard input."`
	Set  []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	In   []string `help:"First values of a grid: .npy, .png, .jpg, or .raw (repeatable)." placeholder:"GRID=FILE" sep:"none"`
	Out  []string `help:"Write a grid at the end: .npy, .raw, .vti or .png (repeatable); {step} or {step:06} in the name is the number of iterations." placeholder:"GRID=FILE" sep:"none"`

	targetFlags  `embed:""`
	pictureFlags `embed:""`

	Every      int64  `help:"Also write the outputs with {step} in their names every N iterations." placeholder:"N"`
	Check      bool   `help:"Also run the reference executor, on a size that it can afford, and compare every cell."`
	Checkpoint int64  `help:"Save the state every N iterations, and when interrupted." placeholder:"N"`
	State      string `help:"File for --checkpoint. Default: the source's name with .ckpt." placeholder:"FILE" type:"path"`
	Resume     string `help:"Go on from a saved state." placeholder:"FILE" type:"path"`
	Quiet      bool   `short:"q" help:"No progress and no notes."`
	JSON       bool   `name:"json" help:"Print the summary as JSON."`
}

func (c *runCmd) Help() string {
	return `Iterations are those of the program's outermost iterate.

Examples:
  gridloom run examples/heat3d.loom --out u=u.npy --out u=u.png
  gridloom run examples/heat3d.loom --set N=37 --in u=a.npy --out u=b.npy --device cpu
  gridloom run examples/life.loom --every 10 --out cells=life_{step:04}.png --zoom 4
  gridloom run examples/wave.loom --check
  gridloom run long.loom --checkpoint 1000; gridloom run long.loom --resume long.ckpt`
}

// job is a run under way.
type job struct {
	*runCmd
	*app
	program *ir.Program
	bound   *ir.Binding
	target  target
	ins     []gridFile
	outs    []*output
	meter   *meter
	state   *checkpoint
}

func (c *runCmd) Run(a *app) error {
	if err := c.consistent(); err != nil {
		return err
	}
	src, p, err := a.load(c.File)
	if err != nil {
		return err
	}
	j := &job{runCmd: c, app: a, program: p}
	if j.target, err = c.target(); err != nil {
		return err
	}
	if j.bound, err = a.bind(src, p, c.Set); err != nil {
		return err
	}
	if j.ins, err = gridFiles(p, "--in", c.In); err != nil {
		return err
	}
	if j.outs, err = newOutputs(j.bound, c.Out, &c.pictureFlags); err != nil {
		return err
	}
	if err := c.series(j.outs); err != nil {
		return err
	}
	j.state = newCheckpoint(c, p, j.bound, src.Text)
	err = j.run()
	var f *failure
	if err != nil && !errors.As(err, &f) {
		return hinted(err)
	}
	return err
}

// consistent refuses options that contradict each other.
func (c *runCmd) consistent() error {
	switch {
	case c.Every < 0 || c.Checkpoint < 0:
		return usage("--every and --checkpoint take a positive number of iterations")
	case c.Resume != "" && len(c.In) > 0:
		return usage("--resume takes the grids from the saved state, so that --in has no meaning")
	case c.State != "" && c.Checkpoint == 0:
		return usage("--state names the file for --checkpoint N")
	}
	return nil
}

// series checks that --every has something to write.
func (c *runCmd) series(outs []*output) error {
	if c.Every == 0 {
		return nil
	}
	for _, o := range outs {
		if o.name.HasStep() {
			return nil
		}
	}
	return usage("--every %d needs an output with {step} in its name, such as --out u=u_{step}.npy", c.Every)
}

func (j *job) run() error {
	files, err := openInputs(j.bound, j.ins)
	if err != nil {
		return err
	}
	defer closeInputs(files)
	if !j.Quiet && j.Resume == "" {
		j.startsAtZero(j.program, j.ins)
	}
	j.meter = newMeter(j.app, j.bound, j.Quiet)
	r, err := j.target.open(j.ctx, j.bound, j.meter.show)
	if err != nil {
		return err
	}
	defer r.Close()
	begin := int64(0)
	if j.Resume != "" {
		if begin, err = j.state.restore(r, j.Resume); err != nil {
			return err
		}
		j.meter.from = begin
	} else if err := initialise(r, j.ins, files); err != nil {
		return err
	}
	done, err := j.loop(r, begin)
	if err != nil {
		return err
	}
	if done.Stopped {
		return j.stopped(r, done)
	}
	for _, o := range j.outs {
		if err := o.write(r, j.bound, done.Iterations); err != nil {
			return err
		}
	}
	if err := j.summary(r, done); err != nil {
		return err
	}
	if j.Check {
		r.Close() // its memory may be needed
		return j.check()
	}
	return nil
}

// loop advances to the end, stopping where outputs and states are due.
func (j *job) loop(r exec.Runner, at int64) (exec.Progress, error) {
	if j.Every > 0 && at == 0 {
		if err := j.frames(r, 0); err != nil {
			return exec.Progress{}, err
		}
	}
	for {
		next := int64(0)
		for _, period := range []int64{j.Every, j.Checkpoint} {
			if period > 0 && (next == 0 || period-at%period < next) {
				next = period - at%period
			}
		}
		p, err := r.Advance(j.ctx, exec.Limit{Iterations: next})
		j.meter.clear()
		if err != nil {
			return p, err
		}
		at = p.Iterations
		if p.Finished || p.Stopped {
			return p, nil
		}
		if j.Every > 0 && at%j.Every == 0 {
			if err := j.frames(r, at); err != nil {
				return p, err
			}
		}
		if j.Checkpoint > 0 && at%j.Checkpoint == 0 {
			if err := j.state.save(r, at); err != nil {
				return p, err
			}
		}
	}
}

// frames writes the outputs that have a step in their names.
func (j *job) frames(r exec.Runner, step int64) error {
	for _, o := range j.outs {
		if o.name.HasStep() {
			if err := o.write(r, j.bound, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopped ends a run that the user has interrupted.
func (j *job) stopped(r exec.Runner, p exec.Progress) error {
	if j.Checkpoint == 0 {
		return failf(exitInterrupted, "interrupted after %s; the outputs were not written (--checkpoint N keeps a state to resume from)", count(p.Iterations, "iteration"))
	}
	if err := j.state.save(r, p.Iterations); err != nil {
		return err
	}
	return failf(exitInterrupted, "interrupted after %s; go on with --resume %s", count(p.Iterations, "iteration"), j.state.path)
}

func count(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// runSummary is what a run prints at its end.
type runSummary struct {
	Program    string         `json:"program"`
	Device     string         `json:"device"`
	FP         string         `json:"fp"`
	Sizes      map[string]int `json:"sizes"`
	Iterations int64          `json:"iterations"`
	Seconds    float64        `json:"seconds"`
	Points     int64          `json:"points"`
	GPoints    float64        `json:"gpoints_per_s"`
	Scalars    []scalarResult `json:"scalars,omitempty"`
	Grids      []gridResult   `json:"grids,omitempty"`
	Outputs    []string       `json:"outputs,omitempty"`
}

type scalarResult struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

type gridResult struct {
	Name  string  `json:"name"`
	Shape []int   `json:"shape"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
	NaNs  int64   `json:"nans,omitempty"`
}

func (j *job) summary(r exec.Runner, p exec.Progress) error {
	s := runSummary{
		Program: j.program.Name, Device: j.target.device, FP: j.FP, Sizes: map[string]int{},
		Iterations: p.Iterations, Seconds: p.Busy.Seconds(), Points: p.Points,
	}
	if p.Busy > 0 {
		s.GPoints = float64(p.Points) / p.Busy.Seconds() / 1e9
	}
	var sizes []string
	for i, q := range j.program.Params {
		s.Sizes[q.Name] = int(j.bound.Params[i])
		sizes = append(sizes, fmt.Sprintf("%s=%d", q.Name, j.bound.Params[i]))
	}
	for _, sc := range j.program.Scalars {
		if !sc.Reduced {
			continue
		}
		v, err := r.Scalar(sc.Name)
		if err != nil {
			return err
		}
		s.Scalars = append(s.Scalars, scalarResult{sc.Name, jsonNumber(v)})
	}
	for _, g := range j.program.Grids {
		if !g.CopyOut {
			continue
		}
		cells, err := r.Grid(g.Name)
		if err != nil {
			return err
		}
		s.Grids = append(s.Grids, statistics(g, j.bound.Shape(g.Dims), cells))
	}
	for _, o := range j.outs {
		s.Outputs = append(s.Outputs, o.name.Expand(int(p.Iterations)))
	}
	if j.JSON {
		return j.printJSON(s)
	}
	if j.Quiet {
		return nil
	}
	fmt.Fprintf(j.stdout, "%s (%s): %s in %s on %s", s.Program, strings.Join(sizes, " "), count(s.Iterations, "iteration"), p.Busy.Round(time.Microsecond), s.Device)
	if s.GPoints > 0 {
		fmt.Fprintf(j.stdout, ", %.4g GPoints/s", s.GPoints)
	}
	fmt.Fprintln(j.stdout)
	for _, x := range s.Scalars {
		fmt.Fprintf(j.stdout, "  %-8s %v\n", x.Name, x.Value)
	}
	for _, g := range s.Grids {
		fmt.Fprintf(j.stdout, "  %-8s min %.7g, mean %.7g, max %.7g", g.Name, g.Min, g.Mean, g.Max)
		if g.NaNs > 0 {
			fmt.Fprintf(j.stdout, ", %s not a number", count(g.NaNs, "cell"))
		}
		fmt.Fprintln(j.stdout)
	}
	for _, o := range s.Outputs {
		fmt.Fprintf(j.stdout, "  wrote %s\n", o)
	}
	return nil
}
