package cli

import (
	"fmt"
	"io"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

type learnCmd struct {
	Out        string `required:"" help:"The file of the model." placeholder:"FILE"`
	Recordings string `help:"Learn from the recordings in this folder and its folders, and not from the store." placeholder:"DIR"`
	Device     string `help:"Learn from what was measured on this device alone: a part of its name." placeholder:"NAME"`
	Variants   string `help:"A file in which is kept what was counted of lowered kernels, so that it is made once." placeholder:"FILE"`
	Quiet      bool   `short:"q" help:"No progress."`
	JSON       bool   `name:"json" help:"Print what the model has learned from as JSON."`
	storeFlag  `embed:""`
}

func (c *learnCmd) Help() string {
	return `Makes a model of what was measured on a device, which predicts the speed of kernels that were never measured. The same measurements give the same file, byte for byte.

Examples:

	gridloom learn --recordings bench/recordings --out h200.json.gz
	gridloom learn --device H200 --out mine.json.gz`
}

// fewStencils are too few for what first picks come to to say much: each tenth of the stencils is left out once.
const fewStencils = 20

// learnedJSON is what --json prints.
type learnedJSON struct {
	Device    string  `json:"device"`
	Hash      string  `json:"hash"`
	Kernels   int     `json:"kernels"`
	Groups    int     `json:"groups"`
	Trials    int     `json:"trials"`
	Changed   int     `json:"changed"`
	Unread    int     `json:"unread"`
	Others    int     `json:"other_versions"` // sessions
	Unchecked int     `json:"unchecked"`      // trials
	Expected  float64 `json:"expected"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

func (c *learnCmd) Run(a *app) error {
	collectLess()
	if err := gridio.CheckFile(c.Out); err != nil {
		return err
	}
	if c.Variants != "" {
		if err := gridio.CheckFile(c.Variants); err != nil {
			return err
		}
	}
	r := engine.LearnRequest{Recordings: c.Recordings, Device: c.Device}
	if c.Recordings == "" {
		kept, err := c.open(a, sqlite.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		defer kept.Close()
		r.Store = kept
	}
	if !c.Quiet {
		r.Progress = func(done, all int) { fmt.Fprintf(a.stderr, "%d of %d steps of learning are done\n", done, all) }
	}
	var m *engine.Learned
	err := predict.KeepVariants(a.ctx, c.Variants, a.interrupts.hold, func() (err error) {
		m, err = engine.Learn(a.ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, u := range m.Unread {
		fmt.Fprintf(a.stderr, "note: session %s of %s is left out: %v\n", u.Session, u.Program, u.Err)
	}
	if err := gridio.WriteFile(c.Out, func(w io.Writer) error { return m.Write(w) }); err != nil {
		return err
	}
	e, t := m.Expected(), m.Training
	if c.JSON {
		return a.printJSON(learnedJSON{m.Device, t.Hash, t.Kernels, t.Groups, t.Trials, m.Changed, len(m.Unread),
			m.Others, m.Unchecked, e.Mean, e.Low, e.High})
	}
	a.row("%s: %s of %s, %s", m.Device, quantity.Count(t.Trials, "trial"), quantity.Count(t.Kernels, "kernel"),
		quantity.Count(t.Groups, "stencil"))
	for _, text := range m.LeftOut() {
		a.row("%s", text)
	}
	if m.Unchecked > 0 {
		a.row("%s learned from unchecked: nothing tells whether today's compiler makes the same kernels of them",
			quantity.Count(m.Unchecked, "trial"))
	}
	a.row("first picks for stencils that were left out have %s", expectationText(e, false))
	if t.Groups < fewStencils {
		a.row("warning: so few stencils say little of others; gridloom record measures more")
	}
	return nil
}
