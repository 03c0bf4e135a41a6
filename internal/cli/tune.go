package cli

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/search"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

type tuneCmd struct {
	File     string        `arg:"" help:"Source file; - reads standard input."`
	Set      []string      `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Strategy string        `default:"auto" help:"How to search; random, local and others. Default: auto." placeholder:"NAME"`
	Budget   time.Duration `help:"Stop after so long, the last measurements included. Default: 60s, or none with --trials." placeholder:"TIME"`
	Trials   int           `help:"Stop after so many configurations." placeholder:"N"`
	Target   string        `help:"Stop when the program is so fast: 1e9 updates of cells a second, or with % a part of the copy bound." placeholder:"SPEED"`
	Depth    int           `help:"Try at most so many iterations of a time loop in one kernel; 1 tries none, nor one for all statements of an iteration. Default: as many as gain something." placeholder:"N"`
	Deep     bool          `help:"Print what came of each number of iterations in a kernel, and why no other was tried."`
	Seed     *uint64       `help:"Make other random choices. Default: 1." placeholder:"N"`
	Prior    *int          `help:"Begin with so many configurations of each kernel that a model of the device expects to be fast, if one comes with gridloom; 0 for none. Default: ${prior} with auto." placeholder:"N"`
	Model    string        `help:"The model of the device, as gridloom learn writes it: the search begins with what it expects to be fast. Default: the one that comes with gridloom." placeholder:"FILE"`
	NoHints  bool          `name:"no-hints" help:"Profile nothing within the search, and follow no hints."`
	Profile  bool          `help:"At the end profile the best plan, and time the plans that hints suggest: predicted gains beside measured ones."`
	Out      string        `help:"Write the story, a report, the best plan and a library to a folder: tuning.json, report.html, best.plan, library." placeholder:"DIR"`
	JSON     bool          `name:"json" help:"Print what happens, an object of JSON on each line."`
	Quiet    bool          `short:"q" help:"No progress and no notes."`

	spaceFlags `embed:""`

	Resume    string `group:"long" help:"Go on with an interrupted search: its session, which gridloom results sessions lists, or last." placeholder:"SESSION|last"`
	Anew      bool   `group:"long" help:"Measure again what the store knows."`
	storeFlag `embed:"" group:"long"`

	Device  string `short:"d" group:"device" default:"cpu" help:"cpu, cuda:0, opencl:0 and so on; auto for the first NVIDIA GPU, or else the cpu. Default: cpu." placeholder:"DEVICE"`
	Plan    string `group:"device" help:"Settings that stay as they are, such as local=fused; @FILE reads them from a file." placeholder:"PLAN"`
	FP      string `name:"fp" group:"device" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
	Workers int    `group:"device" help:"Compile so many configurations at the same time. Default: one a processor." placeholder:"N"`
}

func (c *tuneCmd) Help() string {
	return `Finds the fastest kernels for a program on a device. Every configuration that is timed is
checked first, at every cell, against plain kernels, which are themselves checked against the
reference executor. docs/cli.md tells more.

Examples:

	gridloom tune examples/heat3d.loom --budget 20s
	gridloom tune examples/heat3d.loom --set L=512 --set M=512 --set N=512 --device cuda:0 --out tuned
	gridloom tune examples/heat3d.loom --device cuda:0 --fix family=planes --limit 'vec<=2'
	gridloom tune examples/heat3d.loom --trials 100 --strategy random --json`
}

// usualBudget is what a search may take if nobody says otherwise.
const usualBudget = time.Minute

func (c *tuneCmd) Run(a *app) error {
	started := time.Now()
	collectLess()
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Started, o.Library = started, c.Out != ""
	if o.Plan, err = readPlan(c.Plan); err != nil {
		return err
	}
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return misuse("--fp", err)
	}
	d, err := engine.Open(engine.DeviceRequest{
		ID: c.Device, Arithmetic: mode, Purpose: engine.ToTune, Workers: c.Workers,
	})
	if err != nil {
		return err
	}
	defer d.Close()
	if d.Reference() {
		return usage("--device %s: nothing can be tuned on the reference executor", c.Device)
	}
	src, p, err := a.load(c.File, mode)
	if err != nil {
		return err
	}
	v, err := engine.VersionOf(src, p, o.Plan)
	if err != nil {
		return err
	}
	src, p, a.src = v.Source, v.Program, v.Source
	o.Plan, o.Version = v.Plan, v.Name
	if o.Bound, err = a.bind(src, p, c.Set); err != nil {
		return err
	}
	if o.Set, err = sets(c.Set); err != nil {
		return err
	}
	lowering := d.Lowering(o.Bound, o.Plan)
	if !c.Quiet {
		a.hints(src, p, lowering)
	}
	if err := c.check(o, lowering); err != nil {
		return err
	}
	if err := reserve(c.Out); err != nil {
		return err
	}
	kept, err := c.open(a, sqlite.Options{})
	if err != nil {
		return err
	}
	defer kept.Close()
	show := newTuneMeter(a, c)
	show.stopped, show.wait = a.ctx.Done(), a.interrupts.wait
	o.Events = show.event
	r := engine.TuneRequest{
		Options: o, Device: d, Store: kept, Anew: c.Anew, Continue: c.Resume,
		SeedGiven: c.Seed != nil, Source: src.Text, File: src.Name, NoHints: c.NoHints,
		Prior: c.prior(), PriorGiven: c.Prior != nil, Model: c.Model, Commit: revision(),
	}
	if r.Restrictions, err = c.restrictions(); err != nil {
		return err
	}
	notes := d.Notes()
	c.say(show, notes)
	tuned, err := engine.Tune(a.ctx, r)
	show.clear()
	c.say(show, d.Notes()[len(notes):])
	if err != nil {
		if a.ctx.Err() == nil && tuned != nil && tuned.Result != nil {
			show.say("note: gridloom tune %s --resume %s goes on from here", c.File, tuned.Session.ID)
		}
		return misfit(err)
	}
	if !c.JSON {
		if c.Deep {
			if err := printDepths(a, src, tuned.Result); err != nil {
				return err
			}
		}
		if err := printTuning(a, tuned.Result); err != nil {
			return err
		}
	}
	var bound *profile.Profile
	if c.Profile && !tuned.Interrupted {
		if bound, err = c.profile(a, d, src, tuned, show); err != nil {
			return err
		}
	}
	if c.Out != "" {
		l := engine.LibraryRequest{Tuned: tuned, Bound: tuned.Version.Bound, Set: o.Set, Source: src.Name, Free: c.Free}
		if err := writeTuning(c.Out, src, l, bound, show.say); err != nil {
			return err
		}
		if !c.JSON {
			a.row("wrote %s", filepath.Join(c.Out, "report.html"))
		}
	}
	if tuned.Interrupted {
		option := "--resume " + tuned.Session.ID
		if tuned.Of != o.Version {
			option = "--plan fission=" + tuned.Of + " " + option
		}
		show.say("interrupted: the same command with %s goes on", option)
		return &failure{status: exitInterrupted}
	}
	return nil
}

// profileBudget is the time for timing a kernel of the best plan with its variants, and for each hint.
const profileBudget = 2 * time.Second

// profile says what binds the best plan, and what its hints gain.
func (c *tuneCmd) profile(a *app, d *engine.Device, src *diag.Source, tuned *engine.Tuned, show *tuneMeter) (
	*profile.Profile, error) {
	plan, err := schedule.ParsePlan(tuned.Best)
	if err != nil {
		return nil, err
	}
	_, plan = plan.Fission() // the version of the program has been made
	v := tuned.Version
	r := engine.ProfileRequest{
		Job: engine.Job{Bound: v.Bound, Device: d, Plan: plan, Origin: engine.Chosen, Free: c.Free}, Source: v.Source,
		Budget: profileBudget, Follow: true, Progress: show.line,
	}
	if r.Source == nil {
		r.Source = src
	}
	p, err := engine.Profile(a.ctx, r)
	show.clear()
	switch {
	case err != nil:
		return nil, err
	case c.JSON:
		return p, show.lines.Encode(map[string]*profile.Profile{"profile": p})
	}
	printProfile(a, p)
	return p, nil
}

// say tells notes, unless nothing is to be told.
func (c *tuneCmd) say(show *tuneMeter, notes []string) {
	if c.Quiet {
		return
	}
	for _, text := range notes {
		show.say("note: %s", text)
	}
}

// seed is the one that was given, or the usual one.
func (c *tuneCmd) seed() uint64 {
	if c.Seed == nil {
		return 1
	}
	return *c.Seed
}

// options reads what says how to search.
func (c *tuneCmd) options() (tuner.Options, error) {
	o := tuner.Options{
		Strategy: c.Strategy, Seed: c.seed(), Budget: c.Budget, Trials: c.Trials,
		Free: c.Free, AnyIntegers: c.AnyIntegers, MaxDepth: c.Depth,
	}
	switch {
	case c.Budget < 0:
		return o, usage("--budget %v: a time is positive", c.Budget)
	case c.Trials < 0:
		return o, usage("--trials %d: a number of configurations is positive", c.Trials)
	case c.Depth < 0:
		return o, usage("--depth %d: a number of iterations is positive", c.Depth)
	case c.Workers < 0:
		return o, usage("--workers %d: a number of processes is positive", c.Workers)
	case c.Prior != nil && *c.Prior < 0:
		return o, usage("--prior %d: a number of configurations is 0 or more", *c.Prior)
	}
	if err := knownStrategy(c.Strategy); err != nil {
		return o, err
	}
	if c.Budget == 0 && c.Trials == 0 {
		o.Budget = usualBudget
	}
	if c.Target != "" {
		number, part := strings.CutSuffix(c.Target, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0) {
			return o, usage("--target %s: write a speed, such as 200, or a part, such as 95%%", c.Target)
		}
		if part {
			o.Target.Fraction = v / 100
		} else {
			o.Target.GStencils = v
		}
	}
	return o, nil
}

// knownStrategy refuses names that no strategy has, and specification files that
// cannot be read.
func knownStrategy(name string) error {
	full := name
	name, _, _ = strings.Cut(name, ":")
	if strings.HasSuffix(name, ".spec") {
		return strategyFile(search.Check(full))
	}
	var known []string
	for _, i := range search.Names() {
		known = append(known, i.Name)
	}
	if slices.Contains(known, name) {
		return nil
	}
	bad := usage("--strategy %s: there is no such strategy", name)
	if near := diag.Nearest(name, known); near != "" {
		return bad.hintf("did you mean %s?", near)
	}
	return bad.hintf("there is %s", strings.Join(known, ", "))
}

// check finds out what is wrong with the restrictions before any work starts.
func (c *tuneCmd) check(o tuner.Options, l lower.Options) error {
	l.Free, l.AnyIntegers = c.Free, c.AnyIntegers
	choices, err := lower.Choices(o.Bound.Program, l)
	if err != nil {
		return engine.BadPlan(l.Plan, err)
	}
	if _, err := c.restrict(l.Plan, choices); err != nil { // the tuner tells the notes
		return err
	}
	return fitsSpaces(c.Strategy, choices)
}

// prior is how many configurations of each kernel a model chooses to begin with.
func (c *tuneCmd) prior() int {
	switch {
	case c.Prior != nil:
		return *c.Prior
	case c.Model != "":
		return predict.AutoPrior
	}
	return engine.UsualPrior(c.Strategy)
}
