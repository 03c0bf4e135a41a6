package contest

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// GarveyOptions says which recordings to replay, and how.
type GarveyOptions struct {
	Folder   string // of the recordings
	Subjects []*Subject
	Seeds    int // of random sampling
	// Labels are kernels from whose best techniques forests learn, too; none if there are no others.
	Labels []Label
	Log    io.Writer
}

// Label is a kernel with the technique of loading that is the best for it.
type Label struct {
	Stencil   string    // as predict.Kernel.Group names it
	Features  []float64 // of section 6.1
	Technique string
}

// GarveyResult is the comparison of Garvey 2018, section 8, by replays of
// recorded spaces.
type GarveyResult struct {
	Device       string          `json:"device"`
	Commit       string          `json:"commit"` // of the recordings
	versions.Set                 // likewise
	Grid         string          `json:"grid"`
	Sample       int             `json:"sample"` // configurations that random sampling tries
	Seeds        int             `json:"seeds"`  // of random sampling
	Kernels      []GarveyKernel  `json:"kernels"`
	Rows         []GarveyRow     `json:"rows"`    // as in Tables 3 and 7
	Loading      []GarveyLoading `json:"loading"` // hybrid against random sampling, for each technique
	Summary      GarveySummary   `json:"summary"`
	ByTechnique  []TechniqueRow  `json:"by_technique"` // as in Table 4
	Interest     []InterestRow   `json:"interest"`     // of the spaces, the means last
	Values       []ValueRow      `json:"best_values"`  // of the best configurations
}

// GarveyKernel is a recorded space.
type GarveyKernel struct {
	Kernel         string  `json:"kernel"`
	Configurations int     `json:"configurations"`
	Valid          int     `json:"valid"`
	Best           float64 `json:"best_ms"`
	Plan           string  `json:"best"`
	Median         float64 `json:"median_ms"`
}

// GarveyRow is a strategy's row, averaged over the kernels: speed-ups
// geometrically.
type GarveyRow struct {
	Strategy       string  `json:"strategy"`
	Kind           string  `json:"kind"` // baseline, oracle or predicted
	OverRandom     float64 `json:"speedup_over_random"`
	OverExpert     float64 `json:"speedup_over_expert"`
	Configurations float64 `json:"configurations"` // compiled
	Compile        float64 `json:"compile_seconds"`
	Run            float64 `json:"run_seconds"`
	Best           float64 `json:"best_count"` // kernels for which nobody found a faster one
	*Prediction            // of predicted rows
}

// Prediction is how well a forest chooses the technique that a grouped search then searches (Garvey 2018, Table 6).
type Prediction struct {
	Learned  string  `json:"learned_from"` // kernels recorded as a whole, or also those of other recordings
	Kernels  int     `json:"learned_kernels"`
	Classes  int     `json:"learned_classes"` // techniques that are the best of some: of one there is nothing to learn
	Accuracy float64 `json:"accuracy"`
	Weighted float64 `json:"weighted_accuracy"` // the mean of the speed over the oracle's
	// Usual is the weighted accuracy of ZeroR, which takes what is the best most often.
	Usual float64 `json:"weighted_accuracy_zeror"`
}

// GarveyLoading is what hybrid does with a technique of loading, against random
// sampling of the same configurations.
type GarveyLoading struct {
	Kernel         string  `json:"kernel"`
	Technique      string  `json:"technique"`
	Configurations int     `json:"configurations"`
	RandomTried    int     `json:"random_tried"`
	RandomSeconds  float64 `json:"random_seconds"`
	RandomBest     float64 `json:"random_best_ms"`
	HybridCompiled float64 `json:"hybrid_compiled"`
	HybridSeconds  float64 `json:"hybrid_seconds"`
	HybridBest     float64 `json:"hybrid_best_ms"`
	// Fraction is hybrid's speed over random sampling's.
	Fraction float64 `json:"fraction_of_random_best"`
	// Part is the part of random sampling's time after which hybrid was as fast,
	// and Near the same for within 1 %; nil if it never was.
	Part *float64 `json:"part_of_random_time"`
	Near *float64 `json:"part_of_random_time_within_1_percent"`
}

// GarveySummary counts the pairs of a kernel and a technique.
type GarveySummary struct {
	Pairs         int     `json:"pairs"`
	Reached       int     `json:"reached"`         // by hybrid: random sampling's best
	InTime        int     `json:"reached_in_0.30"` // in at most 30 % of its time
	MeanPart      float64 `json:"mean_part_of_random_time"`
	Near          int     `json:"within_1_percent"`
	NearInTime    int     `json:"within_1_percent_in_0.30"`
	MeanNear      float64 `json:"mean_part_of_random_time_within_1_percent"`
	WholePart     float64 `json:"mean_whole_time_over_random_time"` // of hybrid until it ends
	MeanFraction  float64 `json:"mean_fraction_of_random_best"`
	LeastFraction float64 `json:"least_fraction_of_random_best"`
}

const (
	sampleSize = 1000 // of random sampling (Garvey 2018, 5.1)
	inTime     = 0.30
	tolerance  = 1.01
)

// Garvey compares strategies on the recordings that are complete (Record). The result is nil if none is.
func Garvey(ctx context.Context, o GarveyOptions) (*GarveyResult, error) {
	if err := checkFolder(o.Folder); err != nil {
		return nil, err
	}
	all, err := openRecordings(o.Folder, o.Subjects)
	if err == nil {
		err = checkVersions(all, false)
	}
	if err != nil {
		return nil, err
	}
	var recordings []*recordingFile
	for i, b := range all {
		if !b.complete() {
			fmt.Fprintf(o.Log, "%s is left out: it is not recorded as a whole\n", b.name)
			continue
		}
		if grid := o.Subjects[i].Grid(); b.about.Grid != "" && b.about.Grid != grid {
			return nil, &GridError{b.path(), b.about.Grid, grid}
		}
		recordings = append(recordings, b)
	}
	if len(recordings) == 0 {
		return nil, nil
	}
	return compare(ctx, recordings, o)
}

// GridError says that a recording is of another grid than the one that is wanted.
type GridError struct{ Path, Recorded, Wanted string }

func (e *GridError) Error() string {
	return fmt.Sprintf("%s is of a grid of %s cells, not of %s", e.Path, e.Recorded, e.Wanted)
}

// checkVersions refuses recordings of different versions, since rows are averages over all. With record, incomplete
// recordings count as of the current versions.
func checkVersions(recordings []*recordingFile, record bool) error {
	var first *recordingFile
	for _, b := range recordings {
		complete := b.complete()
		switch {
		case !complete && !record:
			continue // left out
		case !complete && len(b.list) > 0 && !b.about.IsCurrent():
			return b.outdated()
		case !complete:
			b = &recordingFile{folder: b.folder, name: b.name, about: about{Set: versions.Current()}}
		}
		if first == nil {
			first = b
		}
		if b.about.Set != first.about.Set {
			return fmt.Errorf("%s is of %s, and %s of %s: they cannot be compared; give another folder",
				first.path(), first.about.Definitions(), b.path(), b.about.Definitions())
		}
	}
	return nil
}

// compare replays the recordings.
func compare(ctx context.Context, recordings []*recordingFile, o GarveyOptions) (*GarveyResult, error) {
	seeds := o.Seeds
	g := &GarveyResult{
		Device: recordings[0].about.Device, Commit: recordings[0].about.Commit, Grid: recordings[0].about.Grid,
		Set: recordings[0].about.Set, Sample: sampleSize, Seeds: seeds,
		Kernels: []GarveyKernel{}, Loading: []GarveyLoading{},
	}
	t := table{}
	var spaces []*plainSpace
	for _, b := range recordings {
		r, err := b.replayable()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		y, err := replay.NewBaseline(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		g.Kernels = append(g.Kernels, GarveyKernel{b.about.Program, len(r.Trials), r.Valid(), 1e3 * y.Best(),
			b.best().Config, 1e3 * y.Median()})
		space, err := newPlainSpace(b.about.Program, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		spaces = append(spaces, space)
		parts, err := g.load(ctx, b.about.Program, r, seeds)
		if err == nil {
			err = t.add(ctx, b.about.Program, r, parts, seeds)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
	}
	if err := t.predict(o.Labels, o.Log); err != nil {
		return nil, err
	}
	g.Rows, g.ByTechnique = t.rows(), t.techniques()
	g.sum()
	g.Interest, g.Values = interest(spaces, seeds, sampleSize), bestValues(spaces)
	return g, nil
}

// load compares hybrid with random sampling for each technique, and returns the parts of the recording by technique:
// nil where nothing works.
func (g *GarveyResult) load(ctx context.Context, kernel string, r *replay.Recording,
	seeds int) ([]*replay.Recording, error) {
	parts := make([]*replay.Recording, len(techniques))
	for i, t := range techniques {
		part, err := t.of(r)
		if err != nil {
			continue // no such kernel works
		}
		parts[i] = part
		list, err := samples(ctx, part, seeds, sampleSize, math.Inf(1))
		if err != nil {
			return nil, err
		}
		random := typicalCost(list)
		hybrid, err := try(ctx, part, "hybrid", 1, math.MaxInt, math.Inf(1))
		if err != nil {
			return nil, err
		}
		x := GarveyLoading{
			Kernel: kernel, Technique: t.name, Configurations: len(part.Trials),
			RandomTried:   min(sampleSize, len(part.Trials)),
			RandomSeconds: random.total(), RandomBest: 1e3 * random.Best,
			HybridCompiled: hybrid.Configurations, HybridSeconds: hybrid.total(), Fraction: random.Best / hybrid.Best,
		}
		if !math.IsInf(hybrid.Best, 1) {
			x.HybridBest = 1e3 * hybrid.Best
		}
		const rounding = 1 + 1e-9 // of means
		if at, ok := hybrid.first(random.Best * rounding); ok {
			p := at / random.total()
			x.Part = &p
		}
		if at, ok := hybrid.first(random.Best * tolerance); ok {
			p := at / random.total()
			x.Near = &p
		}
		g.Loading = append(g.Loading, x)
	}
	return parts, nil
}

// sum computes the summary.
func (g *GarveyResult) sum() {
	s := GarveySummary{Pairs: len(g.Loading), LeastFraction: math.Inf(1)}
	n := float64(len(g.Loading))
	for _, x := range g.Loading {
		s.WholePart += x.HybridSeconds / x.RandomSeconds / n
		s.MeanFraction += math.Log(x.Fraction) / n
		s.LeastFraction = min(s.LeastFraction, x.Fraction)
		count(x.Part, &s.Reached, &s.InTime, &s.MeanPart)
		count(x.Near, &s.Near, &s.NearInTime, &s.MeanNear)
	}
	s.MeanFraction = math.Exp(s.MeanFraction)
	s.MeanPart /= float64(max(1, s.Reached))
	s.MeanNear /= float64(max(1, s.Near))
	g.Summary = s
}

// count adds a part of the time to a summary.
func count(part *float64, reached, early *int, total *float64) {
	if part == nil {
		return
	}
	*reached++
	*total += *part
	if *part <= inTime {
		*early++
	}
}
