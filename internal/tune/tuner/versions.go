package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Where the kernels of a program spill registers, as the compiler says, or none works, its versions are tuned as well:
// those that fission makes of the source, with smaller stencils (Rawat et al. 2019, section VI-B). The program gets the
// first part of the budget, and all of it where nothing is spilled.
//
// The version cire saves operations, and registers only by chance. So it is tuned where they spill, too, but also where
// the best plan is well below the speed of a copy: what memory binds gains nothing by fewer operations, and the rest is
// bound by operations or by caches. The version inline is tuned there, too: its statements share a loop over cells, and
// threads wait for nobody, which costs operations.

// yieldPart is the part of the budget after which versions are tuned, and unspilledPart that where some are tuned
// though nothing spills: searches go on from what is found by then, so that little is lost if none is faster.
const yieldPart, unspilledPart = 0.7, 0.5

// fewestTrials is how many trials a second a search has to make for the fastest version to be tuned further: where
// compilers take longer, versions need all of the time that is left.
const fewestTrials = 2

// leastSaved is the part of its operations and loads that a version saves at least to be tuned for that.
const leastSaved = 0.1

// versionNames are the versions that are tuned, those first that compute least twice. Many values that are shared may
// have no room on the chip: so the eight that save most are tried, too.
var versionNames = []string{fission.CIREVersion, fission.CIREVersion + "-8", fission.InlineVersion,
	fission.RecomputeVersion, fission.StatementVersion, fission.TrivialVersion}

// Version is a program with the version of its source that it is made of.
type Version struct {
	Name   string // "" for the program as it is
	Source *diag.Source
	Bound  *ir.Binding
	saved  float64 // the part of its operations and loads that the program as it is has besides
	least  float64 // seconds of an update at least, predicted (leastOfVersion); 0 where nothing is
}

// withoutSpills reports whether a version is tuned where nothing spills, too, if memory does not bind the program.
func (v Version) withoutSpills() bool {
	return v.saved >= leastSaved || v.Name == fission.InlineVersion
}

// why says why it is tuned there.
func (v Version) why() string {
	if v.Name == fission.InlineVersion {
		return "all statements may share a loop over cells"
	}
	return fmt.Sprintf("%.0f %% of its operations and loads are saved", 100*v.saved)
}

// VersionResult is what came of a version of the program.
type VersionResult struct {
	Version string  `json:"version"`           // "" for the program as it is
	Seconds float64 `json:"seconds,omitempty"` // of an update of the program by the best plan; 0 if there is none
	Spills  int     `json:"spills,omitempty"`  // bytes of a thread: the most of the best plan's kernels
	Trials  int     `json:"trials,omitempty"`
	Best    string  `json:"best,omitempty"` // the plan, which names the version
	Failed  string  `json:"failed,omitempty"`
}

// RunVersions tunes a program of a source, and its versions where its kernels spill. Each is tuned by run, which is Run
// or does more; the fastest gets what is left of the budget in the end. The result is that of the fastest version, one
// that run has returned, whose plans name the version; all are in Versions.
func RunVersions(ctx context.Context, o Options, src *diag.Source,
	run func(context.Context, Options, Version) (*Result, error)) (*Result, Version, error) {
	own := Version{Name: o.Version, Source: src, Bound: o.Bound}
	var versions []Version
	if len(o.Plan.Kernels) == 0 && len(o.Resume) == 0 && o.Version == "" {
		versions = versionsOf(src, o)
	}
	if len(versions) == 0 && o.Version == "" {
		r, err := run(ctx, o, own)
		return r, own, err
	}
	if o.Started.IsZero() {
		o.Started = o.now()
	}
	events := o.Events
	var last *Event // the result, which is told once it is known which version is the fastest
	o.Events = func(e Event) {
		switch {
		case e.Kind == EventResult:
			last = &e
		case events != nil:
			events(e)
		}
	}
	tell := func(r *Result) {
		if last != nil && events != nil {
			last.Result = r
			events(*last)
		}
	}
	if o.Version != "" {
		r, err := run(ctx, o, own)
		if r != nil {
			r.nameVersion(o.Version, r)
		}
		tell(r)
		return r, own, err
	}
	o.yield = yieldPart
	if o.unspilled = slices.ContainsFunc(versions, Version.withoutSpills); o.unspilled {
		o.yield = unspilledPart
	}
	whole, failed := run(ctx, o, own)
	spills := failed == nil && (whole.Spills > 0 || whole.unfit)
	if !spills {
		versions = slices.DeleteFunc(versions, func(v Version) bool { return !v.withoutSpills() })
	}
	if ctx.Err() != nil || failed != nil || !spills && (len(versions) == 0 || whole.atBound) {
		tell(whole)
		return whole, own, failed
	}
	o.yield = 0
	best, of := whole, own
	list := []VersionResult{whole.asVersion("", nil)}
	// goOn searches a version, from the best kernels of all calls so far, in its part of what is left of the budget.
	goOn := func(v Version, parts int) (*Result, bool, error) {
		p := o
		p.Bound, p.from = v.Bound, best.leadersOfLoops()
		if v.Name != "" {
			p.Restrict = nil
		}
		if !p.share(parts) {
			return nil, false, nil
		}
		r, err := run(ctx, p, v)
		if r == nil {
			r = &Result{}
		}
		faster := err == nil && r.Best != "" && r.seconds() < best.seconds()
		return r, faster, err
	}
	note := func(format string, args ...any) {
		if events != nil {
			events(Event{Kind: EventNote, Text: fmt.Sprintf(format, args...)})
		}
	}
	further := 0 // a part for the fastest, where searches come to something in so little time
	if o.Budget > 0 && float64(whole.Trials) >= fewestTrials*whole.Seconds {
		further = 1
	}
	for i := range versions {
		versions[i].least = leastOfVersion(versions[i].Bound, o.Lab.About().Target)
	}
	for o.hasTime() && ctx.Err() == nil {
		versions = promisingVersions(versions, best.seconds(), note)
		if len(versions) == 0 {
			break
		}
		v := versions[0]
		versions = versions[1:]
		why := v.why()
		if spills {
			why = "kernels spill registers, or do not fit"
		}
		note("%s: the version %s is tuned", why, v.Name)
		r, faster, err := &Result{}, false, SameBits(ctx, o.Bound, v.Bound, o.Set)
		if err == nil {
			r, faster, err = goOn(v, 1+len(versions)+further)
		}
		if r == nil {
			break
		}
		list = append(list, r.asVersion(v.Name, err))
		if faster {
			best, of = r, v
		}
	}
	if further > 0 && ctx.Err() == nil && o.hasTime() {
		what := "the program as it is"
		if of.Name != "" {
			what = "the version " + of.Name
		}
		note("%s is tuned further", what)
		if r, faster, err := goOn(of, 1); faster {
			i := slices.IndexFunc(list, func(v VersionResult) bool { return v.Version == of.Name })
			best, list[i] = r, r.asVersion(of.Name, err)
		}
	}
	if of.Name != "" {
		best.nameVersion(of.Name, whole)
	}
	best.Versions, best.Interrupted = list, ctx.Err() != nil
	best.Notes = append(best.Notes, versionsText(list, of.Name))
	tell(best)
	return best, of, nil
}

// leadersOfLoops returns the fastest configurations of the kernels of loops that the best plan has, by their names.
func (r *Result) leadersOfLoops() map[string][]schedule.Config {
	plan, err := schedule.ParsePlan(r.Best)
	if err != nil {
		return nil
	}
	leaders := map[string][]schedule.Config{}
	for _, k := range r.Kernels {
		i := slices.IndexFunc(plan.Kernels, func(p schedule.Kernel) bool { return p.ID() == k.Kernel })
		if i < 0 || !slices.ContainsFunc(r.Loops, func(l LoopResult) bool { return l.Loop == plan.Kernels[i].Name() }) {
			continue
		}
		good := slices.DeleteFunc(slices.Clone(k.Trials), func(o Outcome) bool { return o.Seconds == 0 })
		slices.SortStableFunc(good, func(a, b Outcome) int { return cmp.Compare(a.Seconds, b.Seconds) })
		for _, o := range good[:min(len(good), mostStarts)] {
			if c, err := schedule.ParseConfig(o.Config); err == nil {
				leaders[k.Kernel] = append(leaders[k.Kernel], c)
			}
		}
	}
	return leaders
}

// versionsText says which version is the fastest.
func versionsText(list []VersionResult, fastest string) string {
	var parts []string
	for _, v := range list {
		text := "the program as it is"
		if v.Version != "" {
			text = v.Version
		}
		switch {
		case v.Failed != "":
			text += " has no result"
		case v.Seconds > 0:
			text += " takes " + quantity.Time(v.Seconds)
		}
		if v.Spills > 0 {
			text += fmt.Sprintf(" and spills %d bytes of a thread", v.Spills)
		}
		parts = append(parts, text)
	}
	text := "versions of the source: " + strings.Join(parts, "; ")
	if fastest != "" {
		text += fmt.Sprintf("; plans name the fastest: fission=%s", fastest)
	}
	return text
}

// share limits a version's search to its part of what is left, of so many. It returns false if nothing is left.
func (o *Options) share(parts int) bool {
	if o.Budget == 0 {
		o.Started, o.Trials = time.Time{}, max(1, o.Trials/2)
		return true
	}
	now := o.now()
	o.Budget = o.Started.Add(o.Budget).Sub(now) / time.Duration(parts)
	o.Started = now
	return o.Budget > 0
}

// leastShare is the part of a budget that a search of a version has to have, to come to anything.
const leastShare = 0.05

// hasTime reports whether there is time for another version.
func (o *Options) hasTime() bool {
	return o.Budget == 0 || o.Started.Add(o.Budget).Sub(o.now()) > time.Duration(leastShare*float64(o.Budget))
}

func (o *Options) now() time.Time {
	if o.Clock != nil {
		return o.Clock()
	}
	return time.Now()
}

// versionsOf returns the versions of a program, each text once, that compute the same as it at a small size.
func versionsOf(src *diag.Source, o Options) []Version {
	var list []Version
	for _, name := range versionNames {
		made, err := fission.Make(name, src, o.Bound.Program.Arithmetic)
		if err != nil || made == nil ||
			slices.ContainsFunc(list, func(v Version) bool { return v.Source.Text == made.Source.Text }) {
			continue
		}
		p, wrong := lang.Load(made.Source)
		if wrong.HasErrors() {
			continue
		}
		b, wrong := p.In(o.Bound.Program.Arithmetic).Bind(o.Set)
		if !wrong.HasErrors() && slices.Equal(b.Params, o.Bound.Params) {
			list = append(list, Version{Name: name, Source: made.Source, Bound: b, saved: made.Saved})
		}
	}
	return list
}

// mostCompared is how many iterations two versions of a program are compared for.
const mostCompared = 2

// SameBits returns an error if another version of a program differs from it on the reference executor, at a small size,
// from random contents: all cells have to be the same to the bit, and under fast arithmetic within what that promises.
// The set is what both were bound with.
func SameBits(ctx context.Context, b, version *ir.Binding, set map[string]string) error {
	small := (&subject{bound: b}).small(set)
	if small == nil {
		return errors.New("it cannot be made small enough for the reference executor")
	}
	sizes := maps.Clone(set)
	if sizes == nil {
		sizes = map[string]string{}
	}
	for i, q := range small.Program.Params {
		if _, given := set[q.Name]; given || q.Default == nil || constant(q.Default) {
			sizes[q.Name] = fmt.Sprint(small.Params[i])
		}
	}
	other, list := version.Program.Bind(sizes)
	if list.HasErrors() {
		return errors.New(list[0].Message)
	}
	var states [2]*interp.State
	for n, x := range []*ir.Binding{small, other} {
		var o interp.Options
		if n == 0 && b.Program.Arithmetic == arith.Fast {
			o.Bounds = interp.Fast
		}
		s, err := interp.New(x, o)
		if err != nil {
			return err
		}
		for i, g := range b.Program.Grids {
			a := s.Grid(g.Name)
			for cell := range a.Len() {
				a.Set(cell, measure.Value(g.Type, int64(cell), int64(i)))
			}
		}
		var at ir.Cursor
		for ctx.Err() == nil {
			leaf, more := at.Next(x.Program.Body, s.Evaluate)
			if !more || at.Completed >= mostCompared {
				break
			}
			s.Execute(leaf)
		}
		states[n] = s
	}
	for _, g := range b.Program.Grids {
		if !alike(states[0].Grid(g.Name), states[1].Grid(g.Name)) {
			return fmt.Errorf("it differs from the program in %s, which is a mistake of Gridloom", g.Name)
		}
	}
	return ctx.Err()
}

// alike reports whether cells are the same, or within the bounds of the first.
func alike(x, y *interp.Array) bool {
	if x.Bound == nil {
		return string(x.Data) == string(y.Data)
	}
	for n := range x.Len() {
		v, w := x.At(n), y.At(n)
		same := math.Float64bits(v) == math.Float64bits(w) || v != v && w != w
		if !same && !(math.Abs(v-w) <= x.Bound[n]) {
			return false
		}
	}
	return true
}

// seconds is the time of an update of the program by the best plan.
func (r *Result) seconds() float64 {
	for _, c := range r.Contenders {
		if c.Plan == r.Best {
			return c.Seconds
		}
	}
	return 0
}

// asVersion returns the result in short.
func (r *Result) asVersion(name string, err error) VersionResult {
	v := VersionResult{Version: name, Seconds: r.seconds(), Spills: r.Spills, Trials: r.Trials}
	v.Best = named(r.Best, name)
	if err != nil {
		v.Failed = err.Error()
	}
	return v
}

// named returns the text of a plan that names a version.
func named(plan, version string) string {
	p, err := schedule.ParsePlan(plan)
	if err != nil || plan == "" {
		return plan
	}
	return p.WithFission(version).String()
}

// nameVersion gives plans the name of their version, and speeds those updates that the program as it is has.
func (r *Result) nameVersion(name string, whole *Result) {
	r.Version = name
	r.Best = named(r.Best, name)
	updates := 0.0
	if len(whole.Contenders) > 0 {
		updates = whole.Contenders[0].GStencils * whole.Contenders[0].Seconds
	}
	for i := range r.Contenders {
		c := &r.Contenders[i]
		c.Plan = named(c.Plan, name)
		if updates == 0 {
			continue
		}
		c.GStencils, c.Fraction = updates/c.Seconds, 0
		if whole.Bound.GStencils > 0 {
			c.Fraction = c.GStencils / whole.Bound.GStencils
		}
	}
	if updates > 0 {
		r.Bound = whole.Bound
	}
}
