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

// Try makes so many trials of a kernel: those that first returns for its space, and then what a search chooses. It
// tells their outcomes, and how many there were.
type Try func(trials int, first tuner.First, told func(o *tuner.Outcome, n int)) error

// PicksRequest asks how fast that is on the device which models chose that have not learned from a kernel.
type PicksRequest struct {
	Models *HeldOut
	Kernel *predict.Examples // of Models, the only one of its program
	Target *target.Target    // that it is measured on; models may have learned from another
	Search int               // trials of two searches of the kernel, one without and one with a prior; 0 makes none
	Prior  int               // configurations that the second begins with
	Most   int               // picks of a model that are measured where none of the first is near the best
	// In does work on a device, and keeps what was tried under a name. Work knows of no trials but its own.
	In func(ctx context.Context, name string, work func(Try) error) error
}

// Of each model's ranking so many are measured at first, and Most if none of them is near the best. The
// fastest of the recordings are measured beside them.
const (
	firstPicks   = 10
	againAsBests = 3
)

// Picks measures what models chose for a kernel.
func Picks(ctx context.Context, r PicksRequest) (*Live, error) {
	p := &picks{PicksRequest: r, row: NewLive(r.Kernel), models: map[string]*predict.Model{},
		ranked: map[string][]predict.Ranked{}}
	for _, split := range p.splits() {
		m, err := r.Models.BothWithout(ctx, r.Kernel, split)
		if err != nil {
			return nil, err
		}
		p.models[split.Name] = m
	}
	if r.Search > 0 { // before picks are measured: these go on until one is near the best
		for _, prior := range []int{0, r.Prior} {
			if err := p.search(ctx, prior); err != nil {
				return nil, err
			}
		}
	}
	return p.row, p.measure(ctx)
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

// rank returns what a model takes a plan from in the space that is searched.
func (p *picks) rank(ctx context.Context, split string, call *ir.Call, s schedule.Space) ([]predict.Ranked, error) {
	if p.ranked[split] == nil {
		k := *p.Kernel.Kernel
		k.Call, k.Space, k.Target = call, s, p.Target
		list, err := p.models[split].Chosen(ctx, &k)
		if err != nil {
			return nil, err
		}
		p.ranked[split] = list
	}
	return p.ranked[split], nil
}

// measure measures the first picks, and more of those models none of whose was near the best.
func (p *picks) measure(ctx context.Context) error {
	again := p.Kernel.Fastest(againAsBests)
	seconds := map[string]float64{} // by configuration; 0 could not run
	return p.In(ctx, p.name("picks"), func(try Try) error {
		wanted := p.splits()
		for _, n := range []int{min(firstPicks, p.Most), p.Most} {
			first := func(ctx context.Context, call *ir.Call, s schedule.Space) ([]schedule.Config, error) {
				list := slices.Clone(again)
				for _, split := range wanted {
					ranked, err := p.rank(ctx, split.Name, call, s)
					if err != nil {
						return nil, err
					}
					list = append(list, predict.Configs(ranked, n)...)
				}
				return list, nil
			}
			err := try(len(again)+n*len(wanted), first, func(o *tuner.Outcome, _ int) {
				seconds[o.Config] = 0
				if o.Verdict == verdict.OK {
					seconds[o.Config] = o.Seconds
				}
			})
			if err != nil {
				return err
			}
			p.fill(again, seconds)
			wanted = slices.DeleteFunc(slices.Clone(wanted), func(split Split) bool {
				return p.row.Runs(p.row.Of(split.Name)) < mostRuns
			})
			if len(wanted) == 0 || n == p.Most {
				break
			}
		}
		return nil
	})
}

// fill writes what was measured into the row. A model's picks end where one was not measured.
func (p *picks) fill(again []schedule.Config, seconds map[string]float64) {
	p.row.Recorded = 0
	for _, c := range again {
		if s := seconds[c.String()]; s > 0 && (p.row.Recorded == 0 || s < p.row.Recorded) {
			p.row.Recorded = s
		}
	}
	for _, s := range seconds {
		p.row.Found(s)
	}
	p.row.Picks = nil
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
		for _, c := range predict.Configs(ranked, p.Most) {
			s, ok := seconds[c.String()]
			if !ok {
				break
			}
			x.Seconds = append(x.Seconds, s)
		}
		p.row.Picks = append(p.row.Picks, x)
	}
}

// search searches the kernel as a user would, beginning with some configurations of a model that has not learned from
// the kernel's stencil.
func (p *picks) search(ctx context.Context, prior int) error {
	x := LiveSearch{Prior: prior}
	suffix, split := "auto", searched.Name
	var first tuner.First
	if prior > 0 {
		suffix = "prior"
		first = func(ctx context.Context, call *ir.Call, s schedule.Space) ([]schedule.Config, error) {
			ranked, err := p.rank(ctx, split, call, s)
			return predict.Configs(ranked, prior), err
		}
	}
	best := 0.0
	err := p.In(ctx, p.name(suffix), func(try Try) error {
		return try(p.Search, first, func(o *tuner.Outcome, n int) {
			x.Trials = n
			if o.Verdict == verdict.OK && o.Seconds > 0 && (best == 0 || o.Seconds < best) {
				best = o.Seconds
				x.Steps = append(x.Steps, LiveStep{Trial: n, Seconds: best})
			}
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
