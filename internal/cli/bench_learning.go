package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

type benchLearning struct {
	record       `embed:""`
	Picks        []string `help:"Also sum up what bench picks has measured and left in these files." placeholder:"FILE"`
	Lockbox      string   `help:"Judge on the recordings in this folder alone, which no choice was made by, and add the rows to the file of --json, a run after the other." placeholder:"DIR"`
	Only         []string `enum:"candidates,form,resources,live,choices" help:"Only these: candidates, form, resources, live, choices. The rows of others stay in the file of --json. Choices are only made where they are named." placeholder:"NAME"`
	Split        []string `enum:"stencil,pattern,suite,drawn,device" help:"Only models that have not learned from these: a kernel's stencil, its pattern, its suite of programs, drawn programs, or the processors that it was measured on. The rows of others stay in the file of --json." placeholder:"NAME"`
	Device       string   `help:"Only what was measured on this device: a part of its name." placeholder:"NAME"`
	heldOutFlags `embed:""`
}

func (c *benchLearning) Help() string {
	return `Judges models that pick configurations for stencils that they have not seen, on recordings: each tenth of the stencils, each pattern, and as suites Lift's programs, OmniTune's and the examples are left out once. Beside the models stand the baselines: one that knows nothing, a random order, and a table of each configuration's mean over other programs, without features. Intervals are of whole stencils drawn anew.

Examples:

	gridloom bench learning --recordings bench/recordings --json bench/results/learning-h200.json`
}

func (c *benchLearning) Run(a *app) error {
	collectLess()
	if err := c.check(); err != nil {
		return err
	}
	switch {
	case slices.Contains(c.Only, learning.PartLive) && len(c.Picks) == 0:
		return usage("--only live needs the files of --picks")
	case c.Lockbox != "" && (len(c.Only) > 0 || len(c.Split) > 0):
		return usage("--only and --split make a part of the usual figures, and --lockbox makes others")
	case slices.Contains(c.Only, learning.PartChoices) && len(c.Split) > 0:
		return usage("--only choices leaves stencils out, and takes no --split")
	}
	var kept []learning.Row
	if c.JSON != "" && c.Lockbox == "" {
		var err error
		if kept, err = bench.ReadRows[learning.Row](c.JSON, "bench learning"); err != nil {
			return err
		}
	}
	var live [][]*learning.Live
	for _, path := range c.Picks { // all is looked at before anything takes time
		list, err := learning.ReadLive(path)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return usage("--picks %s: no rows of bench picks are there", path)
		}
		live = append(live, list)
	}
	models, err := c.heldOut(a.ctx, c.Device)
	if err != nil {
		return err
	}
	models.Wanted = c.Split
	return c.keeping(a, func() error {
		if c.Lockbox != "" {
			return c.lockbox(a, models)
		}
		return c.judgeParts(a, models, live, kept)
	})
}

// judgeParts makes the parts of the figures that are wanted. Rows that were kept stay in the file beside them.
func (c *benchLearning) judgeParts(a *app, models *learning.HeldOut, live [][]*learning.Live,
	kept []learning.Row) error {
	var rows []learning.Row
	for _, part := range learning.Parts {
		if !c.wants(part) {
			continue
		}
		more, err := c.judge(a, models, part, live)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
		kept = slices.DeleteFunc(kept, func(r learning.Row) bool {
			return r.Part() == part && (c.Split == nil || slices.Contains(c.Split, r.Split))
		})
		kept = append(kept, more...)
		if err := c.keep(kept); err != nil { // other parts take as long again
			return err
		}
	}
	return learning.Write(a.stdout, rows)
}

// wants reports whether a part of the figures is made. Choices take longer than all others.
func (c *benchLearning) wants(part string) bool {
	switch {
	case len(c.Only) > 0:
		return slices.Contains(c.Only, part)
	case part == learning.PartLive:
		return len(c.Picks) > 0
	}
	return part != learning.PartChoices
}

// judge makes the rows of a part.
func (c *benchLearning) judge(a *app, models *learning.HeldOut, part string, live [][]*learning.Live) (
	[]learning.Row, error) {
	switch part {
	case learning.PartCandidates:
		return learning.Evaluate(a.ctx, models, a.commit(), a.stderr)
	case learning.PartForm:
		forms, err := learning.Forms(a.ctx, models, a.commit())
		if err == nil && len(forms) == 0 {
			fmt.Fprintln(a.stderr, "note: no form was judged: too few configurations of each were tried")
		}
		return forms, err
	case learning.PartResources:
		return learning.Resources(a.ctx, models, a.commit())
	case learning.PartChoices:
		return learning.Choices(a.ctx, models, a.commit(), a.stderr)
	}
	var rows []learning.Row
	for i, path := range c.Picks {
		m, err := told(models, live[i])
		if err != nil {
			return nil, err
		}
		more, err := learning.SumUpLive(live[i], models, m, a.commit())
		if err != nil {
			return nil, usage("--picks %s: %v", path, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// told returns the model that comes with Gridloom of the device that picks were measured on, which run tells intervals
// by; nil if there is none, or if others picked, which have learned from another device.
func told(models *learning.HeldOut, live []*learning.Live) (*predict.Model, error) {
	if !models.On(live[0].Device) {
		return nil, nil
	}
	return predict.Builtin(&session.Device{API: models.All[0].API, Name: live[0].Device})
}

// lockboxRun is a look into the lockbox.
type lockboxRun struct {
	At   string         `json:"at"`
	Rows []learning.Row `json:"rows"`
}

// lockbox judges on what no choice was made by. Each run stays in the file: one sees how often it was looked at.
func (c *benchLearning) lockbox(a *app, models *learning.HeldOut) error {
	if c.JSON == "" || len(c.Picks) > 0 {
		return usage("--lockbox needs the file of --json for its log, and sums up no --picks")
	}
	runs, err := bench.ReadRows[lockboxRun](c.JSON, "bench learning --lockbox")
	if err != nil {
		return err
	}
	list, err := engine.Recordings(a.ctx, c.Lockbox, c.Device)
	if err != nil {
		return err
	}
	rows, err := learning.Lockbox(a.ctx, models, learning.NewHeldOut(list), a.commit())
	if err != nil {
		return err
	}
	if err := learning.Write(a.stdout, rows); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "this was look %d into the lockbox\n", len(runs)+1)
	return c.keep(append(runs, lockboxRun{time.Now().UTC().Format(time.RFC3339), rows}))
}
