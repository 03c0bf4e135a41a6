package cli

import (
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

type runCmd struct {
	File  string   `arg:"" help:"Source file; - reads standard input."`
	Set   []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	In    []string `help:"First values of a grid: .npy, .raw, .png or .jpg (repeatable)." placeholder:"GRID=FILE" sep:"none"`
	Out   []string `help:"Write a grid at the end: .npy, .raw, .vti or .png (repeatable); {step} or {step:06} in the name is the number of iterations." placeholder:"GRID=FILE" sep:"none"`
	Every int64    `help:"Also write the outputs with {step} in their names every N iterations, and at the start." placeholder:"N"`
	Check bool     `help:"First run the beginning of the program on the reference executor as well, at a size that it can afford, and compare every cell."`
	JSON  bool     `name:"json" help:"Print the summary as JSON."`
	Quiet bool     `short:"q" help:"No summary, no progress and no notes."`

	targetFlags  `embed:""`
	pictureFlags `embed:""`
	storeFlag    `embed:"" group:"device"`
	NoStore      bool `name:"no-store" group:"device" help:"Take the usual plan, not the one that tune has found and the store holds."`

	NoModel bool   `name:"no-model" group:"device" help:"Take the usual plan where the store has none, not the one that a model of the device predicts to be the fastest." xor:"model"`
	Guard   *int   `group:"device" help:"Measure so many predictions of each kernel before the run, at most 5, and take the fastest; 0 measures none. Default: 5 where a model's first predictions may have less than 0.8 of the best speed, or where it has learned from nothing like a kernel (on processors only before long runs), else 0." placeholder:"N"`
	Model   string `group:"device" help:"The model of the device, as gridloom learn writes it. Default: the one that comes with gridloom, if there is one." placeholder:"FILE" xor:"model"`

	StopOnNaN bool `name:"stop-on-nan" help:"Stop, with status 4, when a cell is NaN: all are looked at after 1, 2, 4, 8 ... iterations, where --every and --checkpoint stop, and at the end."`

	Checkpoint int64  `group:"long" help:"Save the state every N iterations, and when interrupted." placeholder:"N"`
	State      string `group:"long" help:"File for --checkpoint. Default: the program's name with .ckpt." placeholder:"FILE"`
	Resume     string `group:"long" help:"Go on from a saved state, with the same source and the same --set." placeholder:"FILE"`
}

func (c *runCmd) Help() string {
	return `Iterations are those of the program's outermost iterate. docs/cli.md tells more.

Examples:

	gridloom run examples/heat3d.loom --out u=u.npy --out u=u.png
	gridloom run examples/heat3d.loom --set N=37 --in u=a.npy --out u=b.npy --device cpu
	gridloom run examples/life.loom --every 10 --out cells=life_{step:04}.png --zoom 4
	gridloom run examples/wave.loom --check
	gridloom run examples/wave.loom --checkpoint 100 --state wave.ckpt
	gridloom run examples/wave.loom --resume wave.ckpt --out p=p.npy`
}

func (c *runCmd) Run(a *app) error {
	if err := c.consistent(); err != nil {
		return err
	}
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return misuse("--fp", err)
	}
	src, p, err := a.load(c.File, mode)
	if err != nil {
		return err
	}
	j := &job{runCmd: c, app: a, program: p}
	if j.Job, err = c.job(); err != nil {
		return err
	}
	defer j.Device.Close()
	if src, _, err = j.takeVersion(src, c.Set); err != nil {
		return err
	}
	if src, p, err = j.lookUpVersion(src, c.Set); err != nil {
		return err
	}
	if j.Bound, err = a.bind(src, p, c.Set); err != nil {
		return err
	}
	if !c.Quiet && !j.Device.Reference() {
		a.hints(src, p, j.Lowering())
	}
	if j.ins, err = newInputs(p, c.In); err != nil {
		return err
	}
	if j.outs, err = newWriters(j.Bound, c.Out, &c.pictureFlags); err != nil {
		return err
	}
	for _, w := range j.outs {
		p.Keep(w.grid) // what is asked for is a result: kernels leave others out
	}
	if err := c.series(j.outs, sample(p)); err != nil {
		return err
	}
	if j.state, err = newCheckpoint(c, j.Device.ID, j.Bound); err != nil {
		return err
	}
	j.sayUnfused()
	return j.run()
}

// consistent refuses options that contradict each other.
func (c *runCmd) consistent() error {
	switch {
	case c.Every < 0:
		return usage("--every %d: a number of iterations is positive", c.Every)
	case c.Checkpoint < 0:
		return usage("--checkpoint %d: a number of iterations is positive", c.Checkpoint)
	case c.State != "" && c.Checkpoint == 0:
		return usage("--state names the file for --checkpoint N")
	case c.Resume != "" && len(c.In) > 0:
		return usage("--resume takes the grids from the saved state, which leaves nothing to --in")
	case c.Resume != "" && c.Check:
		return usage("--check starts at the beginning of the program, and --resume in its midst").
			hintf("check without --resume first")
	case c.Guard != nil && (*c.Guard < 0 || *c.Guard > engine.MostGuarded):
		return usage("--guard %d: it is from 0 to %d", *c.Guard, engine.MostGuarded)
	case c.Guard != nil && *c.Guard > 0 && (c.Plan != "" || c.NoModel):
		return usage("--guard %d: nothing is predicted that could be measured", *c.Guard).
			hintf("leave out --plan and --no-model, or --guard")
	case c.Model != "" && c.Plan != "":
		return usage("--model %s: nothing is predicted where --plan names the plan", c.Model)
	case c.Check && c.targetFlags.Device == "ref":
		return usage("--check compares a device with the reference executor, and --device ref is that")
	}
	return nil
}

// series checks that --every has something to write.
func (c *runCmd) series(outs []*writer, grid string) error {
	if c.Every == 0 {
		return nil
	}
	for _, w := range outs {
		if w.name.HasStep() {
			return nil
		}
	}
	return usage("--every %d needs an output with {step} in its name", c.Every).
		hintf("such as --out %s=%s_{step}.npy", grid, grid)
}

func count[N int | int64](n N, word string) string {
	return quantity.Count(n, word)
}
