package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// TuneRequest asks for the fastest plan of a program. Of the options, Lab, Log, Resume, Good,
// Likely, Others and Restrict follow from the rest, and Events may be nil.
type TuneRequest struct {
	tuner.Options
	Device       *Device               // opened ToTune
	Restrictions schedule.Restrictions // what the kernels' spaces are restricted to

	Store     store.Store // keeps what is measured; nil keeps nothing, and nothing is known before
	Anew      bool        // what the store knows is measured again
	Continue  string      // the session to go on with, or "last"; "" begins a new one
	SeedGiven bool        // a session to go on with has to have the seed
	Source    string      // the program's text
	File      string      // that it was read from, for hints; "" is that of the program's name
	NoHints   bool        // nothing is profiled within the search
	Own       bool        // the program is searched as it is, and no versions of its source
	Prior     int         // configurations of each kernel that a model of the device chooses to begin with; 0 are none
	// PriorGiven has the search say so where there is no model to choose them.
	PriorGiven bool
	Model      string // the file of that model; "" is the one that comes with Gridloom
	Commit     string // of this Gridloom

	model *predict.Model // nil if there is none
}

// Tuned is what a search has found.
type Tuned struct {
	*tuner.Result
	Version tuner.Version // of the program, that all this is of
	About   measure.About
	Session session.Session // what the store calls it; without a store its ID is empty
	// Of is the version of the program that the session is of: where a search was ended, that which was searched then.
	Of string
	// Stored is what the store has on the program's plans at all sizes after the search, if a
	// library is to be made.
	Stored []StoredPlans
	// Predicted is what the model of the device says of the trials of single iterations.
	Predicted []PredictedTrials
	// Prior says what the search began with; nil if no model chose that.
	Prior *PriorUse
}

// PriorUse says which model chose what a search begins with.
type PriorUse struct {
	Picks int           `json:"picks"` // of each kernel
	Model predict.About `json:"model"`
	Far   int           `json:"far"` // kernels that are unlike all that it has learned from
	// LearnedOn are the processors that the model has learned on, if it has not seen this machine.
	LearnedOn []string `json:"learned_on,omitempty"`
}

// String says it to the user.
func (p *PriorUse) String() string {
	text := fmt.Sprintf("the search of a kernel begins with %s by %s", quantity.Count(p.Picks, "pick"), p.Model)
	if len(p.LearnedOn) > 0 {
		text += ", which has learned on " + strings.Join(p.LearnedOn, "; ")
	}
	if p.Far > 0 {
		text += fmt.Sprintf("; unlike all that it has learned from: %s", quantity.Count(p.Far, "kernel"))
	}
	return text
}

// Tune searches. Everything that is measured is in the store before the next measurement
// begins. The end of ctx ends the search, and what was found is the result. An error that comes
// with a session leaves what can be gone on with.
func Tune(ctx context.Context, r TuneRequest) (*Tuned, error) {
	if r.Device.Reference() {
		return nil, requestf("device "+r.Device.ID, "nothing can be tuned on the reference executor")
	}
	if _, err := r.Device.compiler(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.Lab, err = measure.Open(ctx, r.Device.Target); err != nil {
		return nil, &Fault{Cause: Environment, Option: "device " + r.Device.ID, Err: err}
	}
	defer r.Lab.Close()
	prior, err := r.begin()
	if err != nil {
		return nil, err
	}
	r.Restrict = r.Restrictions.Apply
	by := map[*tuner.Result]*Tuned{}
	var last *Tuned
	run := func(ctx context.Context, o tuner.Options, v tuner.Version) (*tuner.Result, error) {
		one := r
		one.Options, one.Source = o, v.Source.Text
		one.Adviser = r.adviser(v)
		t, err := one.tune(ctx)
		if t == nil {
			return nil, err
		}
		t.Of, t.Prior = v.Name, prior
		by[t.Result], last = t, t
		return t.Result, err
	}
	src := diag.NewSource(cmp.Or(r.File, r.Bound.Program.Name+".loom"), r.Source)
	if len(r.Restrictions) > 0 || r.Continue != "" || r.Own {
		own := tuner.Version{Name: r.Version, Source: src, Bound: r.Bound}
		r.Adviser = r.adviser(own)
		t, err := r.tune(ctx)
		if t != nil {
			t.Version, t.Of, t.Prior = own, own.Name, prior
		}
		return t, err
	}
	result, version, err := tuner.RunVersions(ctx, r.Options, src, run)
	tuned := by[result]
	if tuned == nil || err != nil || ctx.Err() != nil {
		tuned = last
	}
	if tuned != nil {
		tuned.Result, tuned.Version = result, version
	}
	return tuned, err
}

// tune searches one version of the program.
func (r *TuneRequest) tune(ctx context.Context) (*Tuned, error) {
	if err := r.know(); err != nil {
		return nil, err
	}
	t, err := r.search(ctx)
	if r.model != nil && t != nil && t.Result != nil {
		t.Predicted = predicted(r.model, r.Bound, r.Device.Target, t.Result)
	}
	return t, err
}

// search searches one version of the program, with a store if there is one.
func (r *TuneRequest) search(ctx context.Context) (*Tuned, error) {
	var err error
	tuned := &Tuned{About: r.Lab.About()}
	if r.Store == nil {
		tuned.Result, err = tuner.Run(ctx, r.Options)
		return tuned, err
	}
	rec, err := r.record(ctx)
	if err != nil {
		return nil, err
	}
	if r.Library {
		list, err := r.stored(ctx, rec.about)
		if err != nil {
			return nil, err
		}
		r.Others = finalistsFrom(list, r.Bound)
	}
	r.Log = rec
	tell := r.Events
	r.Events = func(e tuner.Event) {
		rec.report(e)
		if tell != nil {
			tell(e)
		}
	}
	tuned.Result, err = tuner.Run(ctx, r.Options)
	tuned.Session = rec.session.Info()
	if err != nil {
		return tuned, err
	}
	if err := rec.finish(tuned.Result); err != nil {
		return tuned, err
	}
	if r.Library {
		tuned.Stored, err = r.stored(context.WithoutCancel(ctx), rec.about)
	}
	return tuned, err
}

// UsualPrior is how many those are of a strategy, where the user does not say. Others than auto are for those who want
// to see what a strategy does by itself.
func UsualPrior(strategy string) int {
	if name, _, _ := strings.Cut(strategy, ":"); name == "auto" {
		return predict.AutoPrior
	}
	return 0
}

// begin finds the model of the device, and tells what the search begins with by it; nil if that is nothing.
func (r *TuneRequest) begin() (*PriorUse, error) {
	var err error
	if r.model, err = modelOn(r.Device.Target, r.Model); err != nil || r.Prior == 0 {
		return nil, err
	}
	if r.model == nil {
		if r.PriorGiven {
			r.note("no model that comes with Gridloom is of %s: the search begins without picks",
				nameOf(r.Device.Target))
		}
		return nil, nil
	}
	kernels, err := predict.KernelsOf(r.Bound, r.Device.Target, schedule.Plan{})
	if err != nil {
		return nil, err
	}
	use := &PriorUse{Picks: r.Prior, Model: r.model.About(), LearnedOn: elsewhere(r.model, r.Device.Target)}
	for _, k := range kernels {
		if _, far := r.model.Nearest(k, 1); far {
			use.Far++
		}
	}
	r.note("%s", use)
	return use, nil
}

// note tells the user something before the search.
func (r *TuneRequest) note(format string, args ...any) {
	if r.Events != nil {
		r.Events(tuner.Event{Kind: tuner.EventNote, Text: fmt.Sprintf(format, args...)})
	}
}

// know has the search begin with what the model expects to be fast.
func (r *TuneRequest) know() error {
	m := r.model
	if m == nil || r.Prior == 0 {
		return nil
	}
	kernels, err := predict.KernelsOf(r.Bound, r.Device.Target, schedule.Plan{})
	if err != nil {
		return err
	}
	bound, target, n := r.Bound, r.Device.Target, r.Prior
	r.PriorOf = func(ctx context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
		var own []*predict.Kernel
		for _, k := range kernels {
			if k.Call == call {
				own = append(own, k)
			}
		}
		if len(own) != 1 { // which of them is searched is not known, and the first level need not know
			k := &predict.Kernel{Bound: bound, Call: call, Space: s, Target: target}
			return m.Prior(ctx, k, m.Rank(k), n), nil
		}
		k := *own[0]
		k.Space = s
		ranked, err := m.Chosen(ctx, &k)
		if err != nil {
			return tuner.Prior{}, err
		}
		return m.Prior(ctx, &k, ranked, n), nil
	}
	return nil
}

// stored returns what the store has on the program's plans.
func (r *TuneRequest) stored(ctx context.Context, about session.Scenario) ([]StoredPlans, error) {
	list, err := store.Plans(ctx, r.Store, about)
	return groupBySizes(r.Bound.Program, list), err
}
