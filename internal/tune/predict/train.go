package predict

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// options are those of the trees: docs/performance-log.md says among which they were chosen, and by what.
var options = learn.BoostedOptions{Trees: 200, Depth: 7, Rate: 0.08, Part: 0.5, Features: 15, Leaf: 8, Seed: 1, Runs: 3}

// folds is how many parts the groups are divided into: each is left out once.
const folds = 10

// Train makes a model of kernels that were recorded on one device, or on any processors: what these have of threads and
// caches is among the features. progress is told how many of all steps are done.
func Train(ctx context.Context, list []*Recorded, progress func(done, all int)) (*Model, error) {
	if len(list) == 0 {
		return nil, errors.New("nothing to learn from: no kernel of the current versions was recorded")
	}
	if err := OneModel(list); err != nil {
		return nil, err
	}
	all := make([]*Examples, len(list))
	groups := map[string]int{}
	for i, r := range list {
		all[i] = Describe(r)
		if _, ok := groups[all[i].Stencil]; !ok {
			groups[all[i].Stencil] = len(groups)
		}
	}
	if len(groups) < 2 {
		return nil, errors.New("all kernels are one stencil: nothing tells how a model of it does on others")
	}
	if !slices.ContainsFunc(all, func(e *Examples) bool { return slices.Min(e.Targets) < slices.Max(e.Targets) }) {
		return nil, errors.New("nothing to learn from: of no kernel one configuration is faster than another")
	}
	m := &Model{
		Version: ModelVersion, API: list[0].API, Device: list[0].DeviceName, Features: featureNames(list[0].API),
		Training: training(all, len(groups)),
	}
	if m.API == session.CPU {
		m.Device, m.Processors = "processors", devicesOf(list)
	}
	parts := min(folds, len(groups))
	part := func(e *Examples) int { return groups[e.Stencil] % parts }
	steps := stepsOf(all, parts, progress)
	grown, err := m.learn(ctx, all, parts, part, steps.next)
	if err != nil {
		return nil, err
	}
	rows := Numbers(all).Rows
	shorten(m.Speed, rows, 3)
	if err := m.LearnRest(ctx, all, steps.next); err != nil {
		return nil, err
	}
	if m.Resources != nil {
		shorten(m.Resources.Registers, rows, 1)
		shorten(m.Resources.Spills, rows, 3)
	}
	m.SetPrograms(all)
	if err := m.expect(ctx, all, part, grown, steps.next); err != nil {
		return nil, err
	}
	return m, m.check()
}

// LearnRest learns what ranks beside the trees of the first level, from the kernels that those have learned from: the
// second level, and what predicts registers. done is that of LearnSecond.
func (m *Model) LearnRest(ctx context.Context, all []*Examples, done func()) error {
	var err error
	if m.Second, err = LearnSecond(ctx, all, done); err != nil {
		return err
	}
	m.Resources, err = LearnResources(all)
	return err
}

// OneModel refuses kernels that cannot be learned together: those of several devices, unless all are processors.
func OneModel(list []*Recorded) error {
	names := devicesOf(list)
	if len(names) < 2 || !slices.ContainsFunc(list, func(r *Recorded) bool { return r.API != session.CPU }) {
		return nil
	}
	return fmt.Errorf("a model is made of one device, and there are %s", strings.Join(names, "; "))
}

// devicesOf returns the devices that kernels were recorded on, sorted.
func devicesOf(list []*Recorded) []string {
	var names []string
	for _, r := range list {
		if !slices.Contains(names, r.Device) {
			names = append(names, r.Device)
		}
	}
	slices.Sort(names)
	return names
}

// steps are those of learning a model: each set of trees, each kernel that is lowered for the second level, and each
// part of the kernels that is picked for.
type steps struct {
	mutex     sync.Mutex
	done, all int
	progress  func(done, all int) // or nil
}

func stepsOf(all []*Examples, parts int, progress func(done, all int)) *steps {
	s := &steps{all: 2*parts + 1, progress: progress}
	for _, e := range all {
		if e.IsLowered() {
			s.all++
		}
	}
	return s
}

// next tells that one more is done.
func (s *steps) next() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.done++; s.progress != nil {
		s.progress(s.done, s.all)
	}
}

// learn grows the trees of all kernels, and returns those of all but each part. No kernel is of the part after the
// last: its trees learn from all.
func (m *Model) learn(ctx context.Context, all []*Examples, parts int, part func(*Examples) int, done func()) (
	[]*learn.Boosted, error) {
	grown := make([]*learn.Boosted, parts+1)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for n := range grown {
		work.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			var err error
			grown[n], err = Fit(without(all, func(e *Examples) bool { return part(e) == n }))
			done()
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	m.Speed = grown[parts]
	return grown[:parts], nil
}

// without returns the examples that are not left out.
func without(all []*Examples, out func(*Examples) bool) []*Examples {
	return slices.DeleteFunc(slices.Clone(all), out)
}

// training describes what is learned from.
func training(all []*Examples, groups int) Training {
	t := Training{Kernels: len(all), Groups: groups, Hash: hashOfTrials(all)}
	for _, e := range all {
		t.Trials += len(e.Trials)
	}
	return t
}

// hashOfTrials is the hash of what was measured.
func hashOfTrials(all []*Examples) string {
	h := sha256.New()
	for _, e := range all {
		fmt.Fprintf(h, "%s\n%s\n%s\n", e.Device, e.Name, e.Stencil)
		for i := range e.Trials {
			x := &e.Trials[i]
			fmt.Fprintf(h, "%s %g\n", x.Config, x.Seconds)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// SetPrograms keeps the programs that a model has learned from, what was the fastest for each, and how far they are
// from each other.
func (m *Model) SetPrograms(all []*Examples) {
	n := len(features.OfProgram)
	m.Programs, m.Scale = nil, Scale{Units: make([]float64, n)}
	for j := range n {
		mean, square := 0.0, 0.0
		for _, e := range all {
			mean += e.Program[j] / float64(len(all))
		}
		for _, e := range all {
			square += (e.Program[j] - mean) * (e.Program[j] - mean) / float64(len(all))
		}
		if m.Scale.Units[j] = rounded(math.Sqrt(square), 4); m.Scale.Units[j] == 0 {
			m.Scale.Units[j] = 1 // all had the same: one more or less is much
		}
	}
	for _, e := range all {
		x := Example{Name: e.Name}
		for _, c := range e.Fastest(1) {
			x.Best = portable(c, e.Space)
		}
		for _, v := range e.Program {
			x.Features = append(x.Features, rounded(v, 6))
		}
		m.Programs = append(m.Programs, x)
	}
	var nearest []float64
	for _, e := range all {
		others := without(all, func(o *Examples) bool { return o.Stencil == e.Stencil })
		nearest = append(nearest, m.DistanceTo(e, others))
	}
	slices.Sort(nearest)
	m.Scale.Far = rounded(nearest[len(nearest)-1], 4)
}

// distance is the root of the mean square of the differences of two programs' features, in the scale's units.
func (m *Model) distance(a, b []float64) float64 {
	s := 0.0
	for j, unit := range m.Scale.Units {
		d := (a[j] - b[j]) / unit
		s += d * d
	}
	return math.Sqrt(s / float64(len(m.Scale.Units)))
}

// shorten gives the numbers of trees fewer digits: questions the shortest that tell the same examples apart, answers
// some decimals. A model's file is to be small.
func shorten(b *learn.Boosted, rows [][]float64, decimals int) {
	unit := math.Pow10(decimals)
	values := make([][]float64, len(rows[0]))
	for j := range values {
		for _, row := range rows {
			values[j] = append(values[j], row[j])
		}
		slices.Sort(values[j])
		values[j] = slices.Compact(values[j])
	}
	b.Start = rounded(b.Start, 6)
	for _, t := range b.Trees {
		for i := range t {
			n := &t[i]
			n.Value = math.Round(n.Value*unit) / unit
			if n.Low == 0 {
				continue
			}
			v := values[n.Feature]
			k, equal := slices.BinarySearch(v, n.Split)
			if !equal {
				k--
			}
			n.Split = between(v[k], v[k+1])
		}
	}
}

// between returns the number of the fewest digits that is at least a and less than b.
func between(a, b float64) float64 {
	for digits := 1; digits < 17; digits++ {
		for _, x := range []float64{a + (b-a)/2, a} {
			if y := rounded(x, digits); y >= a && y < b {
				return y
			}
		}
	}
	return a
}

// rounded keeps some digits of a number.
func rounded(x float64, digits int) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return y
}
