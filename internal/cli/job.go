package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

// job is a run under way.
type job struct {
	*runCmd
	*app
	engine.Job
	program *ir.Program
	ins     []gridFile
	outs    []*writer
	state   *checkpoint
	meter   *meter
	noted   []string
	expects *engine.Prediction // nil if no model was asked
}

// takeVersion has the job be of the version of a source that its plan names, if it names one. It returns the source
// and the program that the job is of then.
func (j *job) takeVersion(src *diag.Source, set []string) (*diag.Source, *ir.Program, error) {
	v, err := engine.VersionOf(src, j.program, j.Plan)
	if err != nil || v.Name == "" {
		return src, j.program, err
	}
	if j.Whole, err = j.bind(src, j.program, set); err != nil {
		return nil, nil, err
	}
	j.app.src, j.program, j.Plan, j.Version = v.Source, v.Program, v.Plan, v.Name
	return v.Source, v.Program, nil
}

// note tells what the user should know, once, unless nothing is to be told.
func (j *job) note(text string) {
	if !j.Quiet && !slices.Contains(j.noted, text) {
		j.noted = append(j.noted, text)
		fmt.Fprintf(j.stderr, "note: %s\n", indented(text))
	}
}

// sayUnfused tells where the default arithmetic is not that of other devices.
// What keeps the device from telling is told when it is needed.
func (j *job) sayUnfused() {
	if j.program.Arithmetic != arith.Contract {
		return
	}
	if fused, err := j.Device.Fused(j.ctx); err == nil && !fused {
		j.note("code for this processor has no fused multiply-add: products are rounded before they are added, " +
			"and the last bits of results differ from other devices")
	}
}

// startsAtZero says which grids the program reads before it has given them
// values, and which bring zeros with them when they change places.
func (j *job) startsAtZero() {
	unset := engine.Unset(j.Bound, grids(j.ins))
	var names []string
	for _, g := range unset.FromStart {
		names = append(names, g.Name)
	}
	if len(names) > 0 {
		fmt.Fprintf(j.stderr, "note: without --in or an initial formula, these start at zero: %s\n",
			strings.Join(names, ", "))
	}
	for _, pair := range unset.Rims {
		fmt.Fprintf(j.stderr, "warning: %s changes places with %s but has no first values: "+
			"cells that no statement writes are zero in it\n",
			pair[0].Name, pair[1].Name)
	}
}

// check compares the beginning of the run with the reference executor.
func (j *job) check() (*engine.Verification, error) {
	set, err := sets(j.Set)
	if err != nil {
		return nil, err
	}
	r := engine.CheckRequest{Job: j.Job, Set: set, Given: grids(j.ins)}
	r.Note = j.note
	r.Fill = func(runner exec.Runner) error {
		_, err := fill(runner, j.Bound, j.ins)
		return err
	}
	r.Begin = func(iterations int64) {
		j.meter = newMeter(j.app, iterations, j.Quiet)
		j.meter.what = "check: "
	}
	r.Progress = func(p exec.Progress) { j.meter.show(p) }
	v, err := engine.Check(j.ctx, r)
	if j.meter != nil {
		j.meter.clear()
	}
	return v, err
}

func (j *job) run() error {
	j.lookUp()
	if err := j.predict(); err != nil {
		return err
	}
	// All is looked at before anything takes time.
	if j.Origin != engine.Stored { // which was seen to fit
		if err := j.Fits(); err != nil {
			return err
		}
	}
	if !j.Quiet {
		notes, err := j.SpanNotes(j.pauses()...)
		if err != nil {
			return err
		}
		for _, text := range notes {
			j.note(text)
		}
	}
	files, err := openInputs(j.Bound, j.ins)
	if err != nil {
		return err
	}
	closeInputs(files)
	if j.Resume != "" {
		a, _, err := j.state.open(j.Resume)
		if err != nil {
			return err
		}
		a.Close()
	}
	if !j.Quiet && j.Resume == "" {
		j.startsAtZero()
		j.foretell()
	}
	return j.persist(func() error {
		s := newSummary(j)
		if j.Check && j.Resume == "" {
			v, err := j.check()
			if err != nil {
				return err
			}
			s.Check = v
			if err := j.verdict(s); err != nil {
				return err
			}
		}
		return j.execute(s)
	})
}

// execute runs the program from its start, or from a saved state, to its end.
func (j *job) execute(s *summary) error {
	j.meter = newMeter(j.app, engine.Iterations(j.Bound), j.Quiet)
	r, err := j.Open(j.ctx, engine.Hooks{Progress: j.meter.show, Note: j.note})
	if err != nil {
		return err
	}
	defer r.Close()
	s.Kernels, s.Plan, s.Expects = r.Kernels, j.PlanText(), j.expects
	if s.Plan != "" {
		s.Origin = j.Origin.String()
	}
	at := int64(0)
	if j.Resume == "" {
		err = initialise(r, j.Bound, j.ins)
	} else {
		at, err = j.resume(r)
	}
	if err != nil {
		return err
	}
	v := j.newVigil(r.Dropped)
	done, err := j.loop(r, at, v)
	if err != nil {
		return err
	}
	if done.Stopped {
		return j.stopped(r, done)
	}
	if err := v.look(r, done.Iterations, done.Busy); err != nil {
		return err
	}
	for _, w := range j.outs {
		if err := w.write(r, done.Iterations); err != nil {
			return err
		}
	}
	if j.Quiet && !j.JSON {
		return nil
	}
	if err := s.finish(j, r, done); err != nil {
		return err
	}
	if !j.Quiet {
		v.warn(s.Grids)
	}
	if j.JSON {
		return j.printJSON(s)
	}
	s.print(j.stdout, j.outs)
	return nil
}

// resume puts a runner into the saved state and returns its iterations.
func (j *job) resume(r exec.Runner) (int64, error) {
	was, err := j.state.restore(r, j.Resume)
	if err != nil {
		return 0, err
	}
	if was.Device != j.Device.ID {
		j.note(fmt.Sprintf("the state was saved on %s, and goes on on %s", was.Device, j.Device.ID))
	}
	j.meter.from = was.Iterations
	for _, w := range j.outs {
		w.goOn(j.Every, was.Iterations)
	}
	return was.Iterations, nil
}

// loop advances to the end, stopping where outputs and states are due, and to
// look after the cells.
func (j *job) loop(r exec.Runner, at int64, v *vigil) (exec.Progress, error) {
	if err := v.look(r, at, 0); err != nil {
		return exec.Progress{}, err
	}
	if at == 0 {
		if err := j.frames(r, 0); err != nil {
			return exec.Progress{}, err
		}
	}
	for {
		next := v.next(at)
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
		if err := v.look(r, at, p.Busy); err != nil {
			return p, err
		}
		if j.Every > 0 && at%j.Every == 0 {
			if err := j.frames(r, at); err != nil {
				return p, err
			}
		}
		if j.Checkpoint > 0 && at%j.Checkpoint == 0 {
			if err := j.interrupts.hold(func() error { return j.state.save(r, at) }); err != nil {
				return p, err
			}
		}
	}
}

// frames writes the outputs that have a step in their names, if a series is
// wanted.
func (j *job) frames(r exec.Runner, step int64) error {
	if j.Every == 0 {
		return nil
	}
	for _, w := range j.outs {
		if w.name.HasStep() {
			if err := w.write(r, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopped ends a run that the user has interrupted.
func (j *job) stopped(r exec.Runner, p exec.Progress) error {
	after := failf(exitInterrupted, "interrupted after %s", count(p.Iterations, "iteration"))
	if j.Checkpoint == 0 {
		return after.hintf("nothing was kept; with --checkpoint N there is a state to go on from")
	}
	if err := j.interrupts.hold(func() error { return j.state.save(r, p.Iterations) }); err != nil {
		return err
	}
	return after.hintf("go on with --resume %s", j.state.path)
}

// lookUp gives the run the plan that the store knows to be the fastest. Whatever is wrong with
// the store, the run goes on without it.
func (j *job) lookUp() {
	path := j.storePath()
	if path == "" {
		return
	}
	found, err := j.LookUp(j.ctx, path)
	j.sayFound(found, err)
}

// predict gives the run the plan that a model expects to be the fastest, if the store has none.
func (j *job) predict() error {
	if j.NoModel {
		return nil
	}
	p, err := j.Job.Model(j.ctx, j.runCmd.Model)
	if p == nil || err != nil {
		return err
	}
	j.expects = p
	measured := ""
	if most := j.guarded(p); most > 0 {
		if measured, err = j.guard(most); err != nil {
			return err
		}
	}
	var deep []engine.Deepened
	if measured == "" { // else the store has the plan, and the next run takes that
		if deep, err = j.Deepen(j.ctx, engine.LeastDeepened, j.pauses()...); err != nil {
			return err
		}
	}
	if j.Quiet {
		return nil
	}
	if p.Kernels > 0 || p.Locals.Fuse() || len(deep) > 0 || measured != "" {
		fmt.Fprintf(j.stderr, "plan by prediction: %s\n", j.Job.Plan.WithFission(j.Version))
	}
	switch {
	case measured != "":
		j.note(measured + "; gridloom tune finds the fastest")
		return nil
	case p.Kernels > 0:
		j.note(fmt.Sprintf("nothing was measured: such plans have %s%s; gridloom tune finds the fastest",
			expectationText(p.Expected, p.Far > 0), learnedOnText(p.LearnedOn)))
	}
	if p.Locals.Fuse() {
		j.note(localsText(p.Locals))
	}
	for _, d := range deep {
		j.note(fmt.Sprintf("%s is predicted to take %s an iteration, and kernels of one take %s at least",
			d.Kernel.ID(), quantity.Time(d.Seconds), quantity.Time(d.Loop.Single)))
	}
	if p.Far > 0 {
		j.note(farText(p) + "; gridloom tune finds the fastest plan")
	}
	return nil
}

// pauses are how often the run stops.
func (j *job) pauses() []engine.Pause {
	return []engine.Pause{{Iterations: j.Every, Wish: "--every"}, {Iterations: j.Checkpoint, Wish: "--checkpoint"}}
}

// guarded is how many predictions of each kernel are measured before the run.
func (j *job) guarded(p *engine.Prediction) int {
	switch {
	case p.Kernels == 0 && p.Far == 0:
		return 0
	case j.Guard != nil:
		return *j.Guard
	case p.IsUnsure() && j.IsWorthGuard():
		return engine.MostGuarded
	}
	return 0
}

// guard measures some predictions, and says of what the plan is the fastest. What keeps it from measuring, it says, and
// the run goes on with what was predicted.
func (j *job) guard(most int) (string, error) {
	t, err := j.measureFirst(most)
	switch {
	case j.ctx.Err() != nil:
		return "", context.Cause(j.ctx)
	case err != nil:
		j.note(fmt.Sprintf("the predictions could not be measured: %v", err))
		return "", nil
	}
	j.expects.Measured = t.Trials
	return fmt.Sprintf("it is the fastest of %s and of the usual plan, measured in %.1f s",
		count(t.Trials, "prediction"), t.Seconds), nil
}

// measureFirst measures predictions, in the store if there is one: then the next run finds the plan there.
func (j *job) measureFirst(most int) (*engine.Tuned, error) {
	set, err := sets(j.Set)
	if err != nil {
		return nil, err
	}
	d, err := engine.Open(engine.DeviceRequest{
		ID: j.runCmd.Device, Arithmetic: j.program.Arithmetic, Purpose: engine.ToTune,
	})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	r := engine.GuardRequest{
		Job: &j.Job, Device: d, Source: j.app.src.Text, Set: set, Model: j.runCmd.Model, Most: most,
		Commit: revision(),
	}
	if j.storePath() != "" {
		kept, err := j.open(j.app, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		defer kept.Close()
		r.Store = kept
	}
	return engine.Guard(j.ctx, r)
}

// lookUpVersion has the job be of the version of a source that the store knows to be faster than the program as it is.
// It returns the source and the program that the job is of then.
func (j *job) lookUpVersion(src *diag.Source, given []string) (*diag.Source, *ir.Program, error) {
	path := j.storePath()
	if path == "" || j.Origin != engine.Usual || j.Device.Reference() {
		return src, j.program, nil
	}
	var err error
	if j.Bound, err = j.bind(src, j.program, given); err != nil {
		return nil, nil, err
	}
	set, err := sets(given)
	if err != nil {
		return nil, nil, err
	}
	v, found, err := j.LookUpVersion(j.ctx, path, src, set)
	j.sayFound(found, err)
	if v == nil {
		return src, j.program, nil
	}
	j.app.src, j.program = v.Source, v.Program
	return v.Source, v.Program, nil
}

// storePath is where the store is to look in; "" if nobody wants to, or has a folder for it.
func (j *job) storePath() string {
	if j.NoStore {
		return ""
	}
	path, err := j.path()
	if err != nil {
		return ""
	}
	return path
}

// sayFound says which plan is from the store, or why none is.
func (j *job) sayFound(found *session.Session, err error) {
	if err != nil {
		text, _ := split(err)
		j.note(fmt.Sprintf("the plan is not from the store: %s", text))
	}
	if found == nil || j.Quiet {
		return
	}
	fmt.Fprintln(j.stderr, storedText(j.Job.Plan.WithFission(j.Version), found))
	for _, text := range j.Left {
		j.note(text)
	}
}

// storedText says which plan is from the store.
func storedText(plan schedule.Plan, found *session.Session) string {
	when := ""
	if !found.IsCurrent() {
		when = " under " + found.Definitions() + "; tune finds out what is fastest now"
	}
	return fmt.Sprintf("plan from the store: %s, tuned at %s%s", plan, found.Sizes, when)
}
