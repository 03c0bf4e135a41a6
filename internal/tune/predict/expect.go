package predict

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Expectation is a fraction of the fastest speed that is expected, with its 90 % interval.
type Expectation struct {
	Mean float64 `json:"expected"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// wide is the lower end of an interval from which a pick should be measured before it is trusted: no program should
// lose more than a fifth.
const wide = 0.8

// IsWide reports whether so much may be lost that it is worth measuring.
func (e Expectation) IsWide() bool { return e.Low < wide }

// Pick is what a first pick came to for a kernel whose group was not learned from.
type Pick struct {
	Fraction float64 `json:"fraction"` // of the fastest
	Distance float64 `json:"distance"` // of the kernel's program from the nearest that was learned from
}

// Expect returns the mean of what picks came to, and the interval that nine of ten lie in: up to all of the speed,
// which the best of them have.
func Expect(picks []Pick) Expectation {
	var list []float64
	e := Expectation{High: 1}
	for _, p := range picks {
		list = append(list, p.Fraction)
		e.Mean += p.Fraction / float64(len(picks))
	}
	slices.Sort(list)
	e.Low = quantile(list, 0.1)
	return e
}

// ExpectAt uses one of so many picks, those whose distances are nearest to the program's; and some at least, so that a
// tenth of them is not a single one.
const (
	alikePart  = 3
	leastAlike = 30
)

// ExpectAt is Expect by the picks for programs that were about as far from what was learned from: the further a program
// is, the less its first pick has.
func ExpectAt(picks []Pick, distance float64) Expectation {
	list := slices.Clone(picks)
	most := 0.0
	for _, p := range picks {
		most = max(most, p.Distance)
	}
	distance = min(distance, most)
	slices.SortStableFunc(list, func(a, b Pick) int {
		return cmp.Compare(math.Abs(a.Distance-distance), math.Abs(b.Distance-distance))
	})
	return Expect(list[:min(len(list), max(leastAlike, len(list)/alikePart))])
}

// Expected is what a first pick is expected to have of the fastest speed, over all programs.
func (m *Model) Expected() Expectation { return Expect(m.Picks) }

// ExpectedOf is what the first pick for a kernel is expected to have. A program that has more or less of something than
// all that were learned from is as far as any.
func (m *Model) ExpectedOf(k *Kernel) Expectation {
	program := features.Program(k.Bound, k.Call)
	order, distance := m.byDistance(program)
	if len(order) == 0 || m.outside(program) {
		return ExpectAt(m.Picks, math.Inf(1))
	}
	return ExpectAt(m.Picks, distance[order[0]])
}

// DistanceTo is how far a kernel's program is from the nearest of others, in the units of the model's.
func (m *Model) DistanceTo(e *Examples, others []*Examples) float64 {
	least := math.Inf(1)
	for _, o := range others {
		least = min(least, m.distance(e.Program, o.Program))
	}
	return least
}

// expect has models pick for the kernels of each part that they have not learned from: by both levels, and the next
// where one is refused. grown are the trees of the first level without each part.
func (m *Model) expect(ctx context.Context, all []*Examples, part func(*Examples) int, grown []*learn.Boosted,
	done func()) error {
	picks := make([][]Pick, len(grown))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for n, speed := range grown {
		work.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			x := &Model{Version: m.Version, API: m.API, Features: m.Features, Speed: speed}
			others := without(all, func(e *Examples) bool { return part(e) == n })
			if err := x.LearnRest(ctx, others, func() {}); err != nil {
				return err
			}
			for _, e := range all {
				if part(e) != n {
					continue
				}
				fraction, err := x.firstPick(ctx, e)
				if err != nil {
					return err
				}
				picks[n] = append(picks[n], Pick{rounded(fraction, 4), rounded(m.DistanceTo(e, others), 4)})
			}
			done()
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	m.Picks = slices.Concat(picks...)
	slices.SortStableFunc(m.Picks, func(a, b Pick) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Fraction, b.Fraction))
	})
	return nil
}

// firstPick returns the fraction that the first pick among a kernel's candidates has that is not refused. The usual
// configuration is one of them, as of each ranking. Where no candidate was tried, as in the sessions of a search, it is
// picked among all that was: that these were chosen makes it look better than it is.
func (m *Model) firstPick(ctx context.Context, e *Examples) (float64, error) {
	any := slices.Contains(e.Drawn, true)
	var configs []schedule.Config
	fractions := map[string]float64{}
	for i := range e.Trials {
		t := &e.Trials[i]
		if !any || e.IsCandidate(i) {
			configs = append(configs, t.Config)
			fractions[t.Config.String()] = e.Fraction(t)
		}
	}
	ranked, err := m.RankTried(ctx, e.Kernel, configs)
	if err != nil {
		return 0, err
	}
	var first []float64
	for _, x := range ranked[:min(1+StandBy, len(ranked))] {
		first = append(first, fractions[x.Config.String()])
	}
	return FirstToRun(first), nil
}

// FirstToRun is what a run with a ranking's plan has of the fastest speed, by what each candidate has, 0 where it is
// refused: that of the first, or of the next that stands by; 0 if none can run.
func FirstToRun(fractions []float64) float64 {
	for _, f := range fractions[:min(1+StandBy, len(fractions))] {
		if f > 0 {
			return f
		}
	}
	return 0
}

// quantile interpolates in a sorted list.
func quantile(list []float64, q float64) float64 {
	at := q * float64(len(list)-1)
	i := int(at)
	if i+1 >= len(list) {
		return list[len(list)-1]
	}
	return list[i] + (at-float64(i))*(list[i+1]-list[i])
}
