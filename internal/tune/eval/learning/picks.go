package learning

import (
	"context"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// PicksRequest asks how fast that is on the device which models chose that have not learned from a kernel.
type PicksRequest struct {
	Models *HeldOut
	Kernel *predict.Examples // of Models, the only one of its program
	Target *target.Target    // that it is measured on; models may have learned from another
	Search int               // trials of two searches of the kernel, one without and one with a prior; 0 makes none
	Prior  int               // configurations that the second begins with, and what goes on from picks
	Most   int               // trials, the first picks among them, where none of these is near the best
	// Row is what was measured of the kernel before; nil if nothing was.
	Row *Live
	// In does work on a device, and keeps what was tried under a name. Work knows of no trials but its own.
	In func(ctx context.Context, name string, work func(tuner.Try) error) error
}

// Each model picks as many as are judged, and more where none of these is near the best. The fastest of the recordings
// and the usual plan are measured beside them.
const (
	judgedPicks  = 5
	againAsBests = 3
)

// Picks measures what models chose for a kernel.
func Picks(ctx context.Context, r PicksRequest) (*Live, error) {
	p := &picks{PicksRequest: r, row: NewLive(r.Kernel), models: map[string]*predict.Model{},
		ranked: map[string][]predict.Ranked{}}
	if r.Row != nil {
		p.row = r.Row
	}
	for _, split := range p.splits() {
		m, err := r.Models.BothWithout(ctx, r.Kernel, split)
		if err != nil {
			return nil, err
		}
		p.models[split.Name] = m
	}
	if r.Search > 0 && len(p.row.Searches) == 0 { // first: what they find may be the best, by which picks are judged
		for _, prior := range []int{0, r.Prior} {
			if err := p.search(ctx, prior); err != nil {
				return nil, err
			}
		}
	}
	var err error
	if p.row.Recorded == 0 {
		if p.row.Recorded, err = p.fastest(ctx, "recorded", p.Kernel.Fastest(againAsBests)); err != nil {
			return nil, err
		}
	}
	usual := p.Kernel.Usual
	if p.row.Usual == 0 && usual.Family != "" && p.Kernel.Space.Check(usual) == nil {
		if p.row.Usual, err = p.fastest(ctx, "usual", []schedule.Config{usual}); err != nil {
			return nil, err
		}
	}
	return p.row, p.pickAll(ctx)
}

// pickAll has each model pick whose picks are not finished. What one search finds may be so much faster that others are
// near the best no more: it goes round once more then.
func (p *picks) pickAll(ctx context.Context) error {
	over := map[string]bool{} // searches that found nothing near the best
	for range 2 {
		for _, split := range p.splits() {
			if x := p.row.Of(split.Name); over[split.Name] || x != nil && !p.row.unfinished(x, p.Most) {
				continue
			}
			enough, err := p.pick(ctx, split.Name)
			if err != nil {
				return err
			}
			over[split.Name] = !enough
		}
	}
	return nil
}

// picks is the work on a request.
type picks struct {
	PicksRequest
	row    *Live
	models map[string]*predict.Model   // by split
	ranked map[string][]predict.Ranked // by split
}

// splits are those that leave the kernel out.
func (p *picks) splits() []Split {
	return slices.DeleteFunc(p.Models.splits(), func(s Split) bool { return p.Models.part(p.Kernel, s) == "" })
}

// ranking returns the kernel in the space that is searched, and what a model takes a plan from there.
func (p *picks) ranking(ctx context.Context, split string, call *ir.Call, s schedule.Space) (
	*predict.Kernel, []predict.Ranked, error) {
	k := *p.Kernel.Kernel
	k.Call, k.Space, k.Target = call, s, p.Target
	if p.ranked[split] == nil {
		list, err := p.models[split].Chosen(ctx, &k)
		if err != nil {
			return nil, nil, err
		}
		p.ranked[split] = list
	}
	return &k, p.ranked[split], nil
}

// prior returns what a search knows that begins with so many picks of a model.
func (p *picks) prior(split string, first int) tuner.PriorOf {
	return func(ctx context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
		k, ranked, err := p.ranking(ctx, split, call, s)
		if err != nil {
			return tuner.Prior{}, err
		}
		return p.models[split].Prior(ctx, k, ranked, first), nil
	}
}

// only has a search begin with some configurations, and know nothing else.
func only(list []schedule.Config) tuner.PriorOf {
	return func(context.Context, *ir.Call, schedule.Space) (tuner.Prior, error) {
		return tuner.Prior{First: list}, nil
	}
}

// fastest measures some configurations, and returns the least of their times; 0 if none could run.
func (p *picks) fastest(ctx context.Context, name string, list []schedule.Config) (least float64, err error) {
	err = p.In(ctx, p.name(name), func(try tuner.Try) error {
		return try(len(list), only(list), func(o *tuner.Outcome, _ int) bool {
			s := secondsOf(o)
			p.row.Found(s)
			if s > 0 && (least == 0 || s < least) {
				least = s
			}
			return false
		})
	})
	return least, err
}

// secondsOf is the time of what was tried; 0 if it could not run.
func secondsOf(o *tuner.Outcome) float64 {
	if o.Verdict != verdict.OK {
		return 0
	}
	return o.Seconds
}

// pick searches as a user would who has a model, until there are as many picks as are judged, and something is near the
// best.
func (p *picks) pick(ctx context.Context, split string) (enough bool, err error) {
	x := LivePicks{Split: split}
	err = p.In(ctx, p.name("picks-"+split), func(try tuner.Try) error {
		return try(p.Most, p.prior(split, p.Prior), func(o *tuner.Outcome, _ int) bool {
			s := secondsOf(o)
			p.row.Found(s)
			if !enough { // what was under way when it was enough came too late
				x.Seconds = append(x.Seconds, s)
				enough = p.row.enough(&x)
			}
			return enough
		})
	})
	if err != nil {
		return false, err
	}
	if ranked := p.ranked[split]; len(ranked) > 0 {
		x.Candidates, x.Config, x.Predicted = len(ranked), ranked[0].Config.String(), ranked[0].Fraction
	}
	until := slices.IndexFunc(x.Seconds, func(s float64) bool { return s > 0 }) // one ran
	if until < 0 {
		until = len(x.Seconds)
	}
	x.Ranked = min(max(predict.Leading, until+1), p.Prior, len(x.Seconds))
	if p.models[split].Second != nil {
		x.Lowered = predict.LoweredCandidates
	}
	if old := p.row.Of(split); old != nil {
		*old = x
	} else {
		p.row.Picks = append(p.row.Picks, x)
	}
	return enough, nil
}

// search searches the kernel as a user would, beginning with some configurations of a model that has not learned from
// the kernel's stencil.
func (p *picks) search(ctx context.Context, prior int) error {
	x := LiveSearch{Prior: prior}
	suffix := "auto"
	var of tuner.PriorOf
	if prior > 0 {
		suffix, of = "prior", p.prior(searched.Name, prior)
	}
	best := 0.0
	err := p.In(ctx, p.name(suffix), func(try tuner.Try) error {
		return try(p.Search, of, func(o *tuner.Outcome, n int) bool {
			x.Trials = n
			if s := secondsOf(o); s > 0 && (best == 0 || s < best) {
				best = s
				x.Steps = append(x.Steps, LiveStep{Trial: n, Seconds: best})
			}
			return false
		})
	})
	p.row.Found(best)
	p.row.Searches = append(p.row.Searches, x)
	return err
}

// searched is the split whose models searches begin with.
var searched = Splits[0]

// name names what was tried of the kernel.
func (p *picks) name(suffix string) string {
	return strings.Join(append(strings.Fields(p.row.Key()), suffix), "-")
}
