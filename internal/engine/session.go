package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

const sessionsHint = "gridloom results sessions lists searches"

// record begins a session, or takes up the one to go on with: then the options say what it
// had come to.
func (r *TuneRequest) record(ctx context.Context) (*recorder, error) {
	about := scenario(r.Bound, r.Lab.About())
	n := &recorder{ctx: ctx, store: r.Store, about: about}
	var err error
	if !r.Anew {
		if n.known, err = store.Known(ctx, r.Store, about); err != nil {
			return nil, err
		}
	}
	search := session.Search{
		Scenario: about, Source: Digest([]byte(r.Source)), Commit: r.Commit,
		Strategy: r.Strategy, Seed: r.Seed, Budget: r.budget(),
	}
	if r.Continue == "" {
		if r.Good, err = good(ctx, r.Store, about); err != nil {
			return nil, err
		}
		search.Space = r.space()
		n.session, err = r.Store.Begin(ctx, search)
		return n, err
	}
	search.Space = r.space()
	info, err := r.earlier(ctx, search)
	if err != nil {
		return nil, err
	}
	if n.session, err = r.Store.Resume(ctx, info.ID, r.Commit); err != nil {
		return nil, err
	}
	r.Seed = info.Seed
	if r.Good, err = began(info.Space); err != nil {
		return nil, err
	}
	r.Likely = tuner.Likely(r.Lab.About(), info.Budget.Time, info.Budget.Trials)
	var profiled time.Time
	if r.Options.Advice, profiled, err = r.advice(ctx, info.ID); err != nil {
		return nil, err
	}
	watch := stopwatch{runs: info.Runs}
	for t, err := range store.Log(ctx, r.Store, info.ID) {
		if err != nil {
			return nil, err
		}
		at := watch.at(&t)
		if t.Kernel != "" && !t.Transient() {
			x := tried(&t)
			x.At, x.Hinted = at, !profiled.IsZero() && !t.At.Before(profiled)
			r.Options.Resume = append(r.Options.Resume, x)
		}
	}
	return n, nil
}

// advice returns what profiles have said in a session, and when the first did.
func (r *TuneRequest) advice(ctx context.Context, id string) (list []tuner.Advice, first time.Time, err error) {
	for e, err := range r.Store.Events(ctx, id) {
		if err != nil {
			return nil, first, err
		}
		var a tuner.Advice
		if e.Kind != session.Profiled || json.Unmarshal(e.Detail, &a) != nil {
			continue
		}
		if list = append(list, a); len(list) == 1 {
			first = e.At
		}
	}
	return list, first, nil
}

// budget is what ends the search, as the store keeps it.
func (r *TuneRequest) budget() session.Budget {
	return session.Budget{Time: r.Budget, Trials: r.Trials, Target: session.Target(r.Target)}
}

// space is what restricts the search and what it begins from, as the store keeps it.
func (r *TuneRequest) space() session.Space {
	s := session.Space{Free: r.Free, AnyIntegers: r.AnyIntegers, Plan: r.Plan.String()}
	for _, x := range r.Restrictions {
		s.Restrictions = append(s.Restrictions, session.Restriction{Kind: x.Kind, Text: x.Text})
	}
	for _, g := range r.Good {
		s.Begin = append(s.Begin, g.String())
	}
	return s
}

// earlier finds the session to go on with, and checks that it is the same search.
func (r *TuneRequest) earlier(ctx context.Context, now session.Search) (session.Session, error) {
	option := "resume " + r.Continue
	if r.Continue != "last" {
		info, err := store.Session(ctx, r.Store, r.Continue)
		if err != nil {
			return info, err
		}
		if !info.IsCurrent() {
			return info, r.outdated(info)
		}
		if what := r.differs(info.Search, now); what != "" {
			return info, requestf(option, "that search had another %s", what).hintf(sessionsHint)
		}
		return info, nil
	}
	var last, older session.Session
	for info, err := range r.Store.Sessions(ctx, store.Filter{Program: now.Program.Hash}) {
		if err != nil {
			return last, err
		}
		switch {
		case r.differs(info.Search, now) != "":
		case info.IsCurrent():
			last = info
		default:
			older = info
		}
	}
	if last.ID == "" && older.ID != "" {
		return last, r.outdated(older)
	}
	if last.ID == "" {
		const none = "there is no search of this program on this device with this strategy, seed and space"
		return last, requestf(option, none).hintf(sessionsHint)
	}
	return last, nil
}

// outdated refuses to go on with a search of other versions.
func (r *TuneRequest) outdated(i session.Session) error {
	return requestf("resume "+r.Continue,
		"search %s was made under %s, and this Gridloom has %s: their times cannot be compared",
		i.ID, i.Definitions(), session.Current().Definitions()).
		hintf("without --resume a new search begins from the best that it found")
}

// differs names what two searches do not have in common; "" if one is the
// other. A seed that is not given is that of the search to go on with.
func (r *TuneRequest) differs(a, b session.Search) string {
	for _, x := range []struct {
		what string
		same bool
	}{
		{"program", a.Program.Hash == b.Program.Hash}, {"sizes", a.Sizes.Equal(b.Sizes)}, {"arithmetic", a.FP == b.FP},
		{"device", a.Device.API == b.Device.API && a.Device.String() == b.Device.String()},
		{"strategy", a.Strategy == b.Strategy},
		{"seed", !r.SeedGiven || a.Seed == b.Seed}, {"space", a.Space.SameAs(&b.Space)},
	} {
		if !x.same {
			return x.what
		}
	}
	return ""
}
