package predict

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Examples are a recorded kernel as rows of features with what is to be predicted.
type Examples struct {
	*Recorded
	Stencil string      // the group that they belong to
	Program []float64   // features
	Rows    [][]float64 // features of the program and of each trial's configuration
	Targets []float64   // each trial's fraction; 0 if it could not run
	Drawn   []bool      // whether a trial's configuration is a candidate: others were chosen for being fast
}

// Describe describes a kernel and its trials.
func Describe(r *Recorded) *Examples {
	e := &Examples{Recorded: r, Stencil: r.Group()}
	var of features.Configurations
	e.Program, of = r.describe()
	candidates := map[string]bool{}
	for _, c := range Candidates(r.Space, Shared) {
		candidates[c.String()] = true
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		e.Rows = append(e.Rows, slices.Concat(e.Program, of.Of(t.Config)))
		e.Targets = append(e.Targets, r.Fraction(t))
		e.Drawn = append(e.Drawn, candidates[t.Config.String()])
	}
	return e
}

// IsCandidate reports whether a trial may be picked where picks are judged by what was recorded: its configuration is
// one that all kernels share, or the usual one, which each ranking has.
func (e *Examples) IsCandidate(i int) bool { return e.Drawn[i] || e.Trials[i].Config.Equal(e.Usual) }

// apiOf is that of the devices that all examples were measured on.
func apiOf(all []*Examples) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].API
}

// Numbers are all examples as what regressors learn from.
func Numbers(all []*Examples) *learn.Numbers {
	n := &learn.Numbers{Features: featureNames(apiOf(all))}
	for _, e := range all {
		n.Rows = append(n.Rows, e.Rows...)
		n.Targets = append(n.Targets, e.Targets...)
		for _, f := range e.Targets {
			n.Weights = append(n.Weights, weightOf(f))
		}
	}
	return n
}

// weightOf is how much the error of a trial counts by what it has of the best: those near the best are to be told
// apart, and of slow ones it is enough to know that they are slow. docs/performance-log.md says what it gains.
func weightOf(fraction float64) float64 { return 0.15 + fraction*fraction }

// Digest is a hash of all that a model of some kernels follows from: what they are learned by, and the trees' options.
func Digest(all []*Examples) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %+v %q\n", treesVersion, options, featureNames(apiOf(all)))
	for _, e := range all {
		for i, row := range e.Rows {
			binary.Write(h, binary.LittleEndian, row)
			binary.Write(h, binary.LittleEndian, []float64{e.Targets[i], weightOf(e.Targets[i])})
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// DigestOfBoth is that of a model of both levels, which knows of registers.
func DigestOfBoth(all []*Examples) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %+v %g %g %q %+v %d\n", Digest(all), secondOptions, secondWeight(0), secondWeight(1),
		SecondFeatures(), resourceOptions, leastCompiled)
	for _, e := range all {
		for i := range e.Trials {
			fmt.Fprintf(h, "%+v\n", e.Trials[i].Resources)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TreeOptions are those of the trees that models have.
func TreeOptions() learn.BoostedOptions { return options }

// Fit grows the trees that models have.
func Fit(all []*Examples) (*learn.Boosted, error) { return Grow(Numbers(all)) }

// Grow grows such trees of any numbers.
func Grow(n *learn.Numbers) (*learn.Boosted, error) { return learn.NewBoosted(n, options) }

// Learn makes a model that ranks, without what a model's file says beside: what to expect of it, and of what programs.
func Learn(all []*Examples) (*Model, error) {
	b, err := Fit(all)
	return &Model{Version: ModelVersion, API: apiOf(all), Features: featureNames(apiOf(all)), Speed: b}, err
}
