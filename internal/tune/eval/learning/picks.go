package learning

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Try makes so many trials of a kernel: those that its prior begins with, and then what a search chooses. It tells
// their outcomes, and how many there were, and ends where that is enough.
type Try func(trials int, prior tuner.PriorOf, told func(o *tuner.Outcome, n int) (enough bool)) error

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
	In func(ctx context.Context, name string, work func(Try) error) error
}

// Of each model's ranking so many are measured. A search that begins with them goes on, as a user's does: it picks as
// many as are judged, and more where none of these is near the best. The fastest of the recordings are measured beside
// them.
const (
	firstPicks   = predict.Leading
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
	if len(p.row.Picks) == 0 {
		if err := p.measure(ctx); err != nil {
			return nil, err
		}
	}
	err := p.goOnFromAll(ctx)
	if errors.Is(err, errOtherPicks) { // the models have learned from others since
		p.row.Picks = nil
		if err = p.measure(ctx); err == nil {
			err = p.goOnFromAll(ctx)
		}
	}
	return p.row, err
}

// goOnFromAll goes on from the picks of each model that are not finished. What one search finds may be so much faster
// that others are near the best no more: it goes round once more then.
func (p *picks) goOnFromAll(ctx context.Context) error {
	over := map[string]bool{} // searches that found nothing near the best
	for range 2 {
		for i := range p.row.Picks {
			x := &p.row.Picks[i]
			if p.models[x.Split] == nil || over[x.Split] || !p.row.unfinished(x, p.Most) {
				continue
			}
			enough, err := p.goOn(ctx, x)
			if err != nil {
				return err
			}
			over[x.Split] = !enough
		}
	}
	return nil
}

// errOtherPicks says that a model picks others than those of the row.
var errOtherPicks = errors.New("the first pick is another than that of the row")

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

// prior returns what a search knows that begins with the first of a model's ranking.
func (p *picks) prior(split string, first int) tuner.PriorOf {
	return func(ctx context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
		k, ranked, err := p.ranking(ctx, split, call, s)
		if err != nil {
			return tuner.Prior{}, err
		}
		return p.models[split].Prior(k, ranked, first), nil
	}
}

// measure measures the first picks of all models.
func (p *picks) measure(ctx context.Context) error {
	again := p.Kernel.Fastest(againAsBests)
	seconds := map[string]float64{} // by configuration; 0 could not run
	n := min(firstPicks, p.Most)
	return p.In(ctx, p.name("picks"), func(try Try) error {
		first := func(ctx context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
			list := slices.Clone(again)
			for _, split := range p.splits() {
				_, ranked, err := p.ranking(ctx, split.Name, call, s)
				if err != nil {
					return tuner.Prior{}, err
				}
				list = append(list, predict.Configs(ranked, n)...)
			}
			return tuner.Prior{First: list}, nil
		}
		err := try(len(again)+n*len(p.splits()), first, func(o *tuner.Outcome, _ int) bool {
			seconds[o.Config] = secondsOf(o)
			return false
		})
		p.fill(again, seconds, n)
		return err
	})
}

// secondsOf is the time of what was tried; 0 if it could not run.
func secondsOf(o *tuner.Outcome) float64 {
	if o.Verdict != verdict.OK {
		return 0
	}
	return o.Seconds
}

// fill writes what was measured into the row. A model's picks end where one was not measured.
func (p *picks) fill(again []schedule.Config, seconds map[string]float64, n int) {
	p.row.Recorded = 0
	for _, c := range again {
		if s := seconds[c.String()]; s > 0 && (p.row.Recorded == 0 || s < p.row.Recorded) {
			p.row.Recorded = s
		}
	}
	for _, s := range seconds {
		p.row.Found(s)
	}
	for _, split := range p.splits() {
		ranked := p.ranked[split.Name]
		if len(ranked) == 0 {
			continue
		}
		x := LivePicks{Split: split.Name, Candidates: len(ranked), Config: ranked[0].Config.String(),
			Predicted: ranked[0].Fraction}
		if p.models[split.Name].Second != nil {
			x.Lowered = predict.LoweredCandidates
		}
		for _, c := range predict.Configs(ranked, n) {
			s, ok := seconds[c.String()]
			if !ok {
				break
			}
			x.Seconds = append(x.Seconds, s)
		}
		x.Ranked = len(x.Seconds)
		p.row.Picks = append(p.row.Picks, x)
	}
}

// goOn searches on from the first picks of a model until there are as many as are judged, and something is near the
// best.
func (p *picks) goOn(ctx context.Context, x *LivePicks) (enough bool, err error) {
	x.keepFirst()
	prior := p.prior(x.Split, max(p.Prior, x.Ranked))
	first := map[string]bool{} // they were measured beside those of other models
	err = p.In(ctx, p.name("picks-"+x.Split), func(try Try) error {
		checked := func(ctx context.Context, call *ir.Call, s schedule.Space) (tuner.Prior, error) {
			known, err := prior(ctx, call, s)
			if err == nil && (len(known.First) < x.Ranked || known.First[0].String() != x.Config) {
				err = errOtherPicks
			}
			for _, c := range known.First {
				first[c.String()] = true
			}
			return known, err
		}
		return try(p.Most, checked, func(o *tuner.Outcome, _ int) bool {
			s := secondsOf(o)
			p.row.Found(s)
			if !enough && !first[o.Config] { // what was under way when it was enough came too late
				x.Seconds = append(x.Seconds, s)
				enough = p.row.enough(x)
			}
			return enough
		})
	})
	return enough, err
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
	err := p.In(ctx, p.name(suffix), func(try Try) error {
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
