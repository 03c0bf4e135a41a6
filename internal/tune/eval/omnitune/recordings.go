package omnitune

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// A recorded kernel at its sizes on its device is a scenario. Its work-group sizes are the blocks of the family tile,
// whose blocks are refused for some kernels and not for others; nearly all blocks of planes run. Every kernel was
// recorded with the same configurations, as far as its space has them (predict.Candidates). Those that most kernels of
// as many axes share are the only ones that count, not those that a search chose for being fast: so the settings beside
// a block are the same everywhere. The time of a block is that of the fastest of its configurations.
const recordedFamily = "tile"

// describedBy is the plan of the kernel whose instructions describe a scenario: the plainest, whatever its block is.
const describedBy = "family=cells"

// FromRecordings makes scenarios of recorded kernels. clang, which may be nil, counts their instructions. What the
// features do not know, or know alike of all, is left out.
func FromRecordings(ctx context.Context, list []*predict.Recorded, clang *toolchain.Clang) (*Suite, error) {
	s := &Suite{Splits: RecordedSplits}
	shared := sharedBy(list)
	described := make([][]float64, len(list))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range list {
		work.Go(func() (err error) {
			if described[i], err = describe(ctx, r, clang); err != nil {
				err = fmt.Errorf("%s: %w", r.Name, err)
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	kept := telling(described)
	for _, j := range kept {
		s.Features = append(s.Features, featureName(features.OfOmniTune[j].Name))
	}
	stencils := map[string]int{}
	for i, r := range list {
		x := recordedScenario(r, shared[len(r.Bound.Program.Axes)])
		if len(x.Sizes) == 0 {
			s.Empty++
			continue
		}
		for _, j := range kept {
			x.Features = append(x.Features, described[i][j])
		}
		group := r.Group()
		if _, known := stencils[group]; !known {
			stencils[group] = len(stencils)
		}
		x.Kernel = stencils[group]
		s.Scenarios = append(s.Scenarios, x)
	}
	if len(s.Scenarios) == 0 {
		return nil, errors.New("no recorded kernel has a shared configuration of the family " + recordedFamily)
	}
	s.findTwins()
	s.Baseline, s.Expert = s.safest(), usualBlock(list)
	s.Data = s.hash()
	return s, nil
}

// sharedBy are the configurations that most kernels with so many axes were to be recorded with, in order.
func sharedBy(list []*predict.Recorded) map[int][]schedule.Config {
	kernels, times := map[int]int{}, map[int]map[string]int{}
	configs := map[string]schedule.Config{}
	for _, r := range list {
		axes := len(r.Bound.Program.Axes)
		if times[axes] == nil {
			times[axes] = map[string]int{}
		}
		kernels[axes]++
		for _, c := range predict.Candidates(r.Space, predict.Shared) {
			if c.Family == recordedFamily {
				times[axes][c.String()]++
				configs[c.String()] = c
			}
		}
	}
	lists := map[int][]schedule.Config{}
	for axes, n := range kernels {
		for _, text := range slices.Sorted(maps.Keys(times[axes])) {
			if 2*times[axes][text] > n {
				lists[axes] = append(lists[axes], configs[text])
			}
		}
	}
	return lists
}

// recordedScenario is a kernel's scenario without features. A size is legal if a configuration with it ran. It is
// refused if none did, and each was refused by the kernel's space or failed. Else nothing is known of it.
func recordedScenario(r *predict.Recorded, shared []schedule.Config) Scenario {
	x := Scenario{
		Name: r.Name + " " + r.Types(), Device: r.Device, Dataset: r.Sizes(), Pattern: r.Pattern(), Judged: true,
	}
	_, none := synthetic.Find(r.Name)
	x.Synthetic = none == nil
	tried := map[string]*predict.Trial{}
	for i := range r.Trials {
		tried[r.Trials[i].Config.String()] = &r.Trials[i]
	}
	seconds, unknown := map[Size]float64{}, map[Size]bool{}
	var sizes []Size
	for _, c := range shared {
		size, ok := blockOf(r.Space, c)
		if !ok {
			continue
		}
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
		switch t := tried[c.String()]; {
		case t != nil && t.Seconds > 0:
			if best, ran := seconds[size]; !ran || t.Seconds < best {
				seconds[size] = t.Seconds
			}
		case t == nil && !refusedBySpace(r.Space, c):
			unknown[size] = true
		}
	}
	slices.SortFunc(sizes, compareSizes)
	best := math.Inf(1)
	for _, size := range sizes {
		switch t, ran := seconds[size]; {
		case ran:
			x.Sizes, best = append(x.Sizes, size), min(best, t)
		case !unknown[size]:
			x.Illegal = append(x.Illegal, size)
		}
	}
	x.Best = 1000 * best
	for _, size := range x.Sizes {
		x.Speeds = append(x.Speeds, best/seconds[size])
	}
	return x
}

// synthetic are the kernels that were generated; others are of real programs.
var synthetic, _ = synth.FindSuite("garvey")

// blockOf returns the block of a configuration; false if a space has no such family.
func blockOf(s schedule.Space, c schedule.Config) (Size, bool) {
	if s.Family(c.Family) == nil {
		return Size{}, false
	}
	return sizeOf(s.ByRole(c).Ints(schedule.Threads))
}

// sizeOf returns the size of a block's threads, innermost last.
func sizeOf(threads []int64) (Size, bool) {
	size := [3]int{1, 1, 1}
	if len(threads) == 0 || len(threads) > len(size) {
		return Size{}, false
	}
	for i := range threads {
		size[i] = int(threads[len(threads)-1-i])
	}
	return Size{size[0], size[1], size[2]}, true
}

// refusedBySpace reports whether a configuration breaks a constraint of a space. What has values that the space does
// not have is not refused: nobody has said that it would not run.
func refusedBySpace(s schedule.Space, c schedule.Config) bool {
	f := s.Family(c.Family)
	for _, set := range c.Values {
		i := slices.IndexFunc(f.Params, func(p schedule.Param) bool { return p.Name == set.Name })
		if i < 0 || !slices.ContainsFunc(f.Params[i].Values, set.Value.Equal) {
			return false
		}
	}
	return slices.ContainsFunc(f.Constraints, func(k schedule.Constraint) bool { return !k.Allows(c) })
}

// describe returns OmniTune's features of a kernel.
func describe(ctx context.Context, r *predict.Recorded, clang *toolchain.Clang) ([]float64, error) {
	launches, err := plainest(r)
	if err != nil {
		return nil, err
	}
	n, err := features.InstructionsOf(ctx, clang, launches)
	if err != nil {
		return nil, err
	}
	return features.OmniTune(r.Bound, r.Call, n, r.Target.Machine, nil), nil
}

// plainest lowers a kernel's call for OpenCL as it is described.
func plainest(r *predict.Recorded) ([]*kernel.Launch, error) {
	plan, err := schedule.ParsePlan(describedBy)
	if err != nil {
		return nil, err
	}
	m, err := lower.Program(r.Bound.Program,
		target.OnPaper(emit.OpenCL, nil, r.Bound.Program.Arithmetic).Lowering(r.Bound, plan))
	if err != nil {
		return nil, err
	}
	return m.Calls[r.Call], nil
}

// telling are the features that are known of all kernels, and differ.
func telling(described [][]float64) []int {
	var list []int
	for j := range features.OfOmniTune {
		differ, unknown := false, false
		for _, v := range described {
			differ = differ || v[j] != described[0][j]
			unknown = unknown || math.IsNaN(v[j])
		}
		if differ && !unknown {
			list = append(list, j)
		}
	}
	return list
}

// featureName is what models that ask for a feature know it by.
func featureName(name string) string {
	return cmp.Or(map[string]string{
		"border_north": "BorderNorth", "border_south": "BorderSouth", "border_east": "BorderEast",
		"border_west": "BorderWest", "device_max_threads": "dev_max_work_group_size",
	}[name], name)
}

// safest is the size that no scenario refuses and that most ran; of several the best by geometric mean.
func (s *Suite) safest() Size {
	var all []*Scenario
	times := map[Size]int{}
	for i := range s.Scenarios {
		all = append(all, &s.Scenarios[i])
		for _, size := range s.Scenarios[i].Sizes {
			times[size]++
		}
	}
	score, safe := baselineFallback(all), safeIn(all)
	sizes := slices.SortedFunc(maps.Keys(times), compareSizes)
	better := func(a, b Size) bool {
		if x, y := safe(a, times[a]), safe(b, times[b]); x != y {
			return x
		}
		if times[a] != times[b] {
			return times[a] > times[b]
		}
		return score(nil, Size{}, a) > score(nil, Size{}, b)
	}
	best := sizes[0]
	for _, size := range sizes[1:] {
		if better(size, best) {
			best = size
		}
	}
	return best
}

// usualBlock is the default block of most kernels.
func usualBlock(list []*predict.Recorded) Size {
	times := map[Size]int{}
	for _, r := range list {
		f := r.Space.Family(recordedFamily)
		if f == nil {
			continue
		}
		if size, ok := blockOf(r.Space, f.Choose(func(p *schedule.Param) schedule.Value { return p.Default })); ok {
			times[size]++
		}
	}
	var best Size
	for _, size := range slices.SortedFunc(maps.Keys(times), compareSizes) {
		if times[size] > times[best] {
			best = size
		}
	}
	return best
}

// hash tells suites apart.
func (s *Suite) hash() string {
	h := sha256.New()
	fmt.Fprintln(h, s.Features, s.Baseline, s.Expert)
	for i := range s.Scenarios {
		fmt.Fprintf(h, "%+v\n", s.Scenarios[i])
	}
	return fmt.Sprintf("recordings %x", h.Sum(nil))[:len("recordings ")+12]
}
