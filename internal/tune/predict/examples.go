package predict

import (
	"math"
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
	Targets []float64   // the logarithm of each trial's fraction
	Drawn   []bool      // whether a trial's configuration is a candidate: others were chosen for being fast
}

// Describe describes a kernel and its trials.
func Describe(r *Recorded) *Examples {
	e := &Examples{Recorded: r, Stencil: r.Group()}
	var of *features.Configurations
	e.Program, of = r.describe()
	candidates := map[string]bool{}
	for _, c := range Candidates(r.Space, len(r.Trials)) {
		candidates[c.String()] = true
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		e.Rows = append(e.Rows, slices.Concat(e.Program, of.Of(t.Config)))
		e.Targets = append(e.Targets, math.Log(max(Floor, r.Fraction(t))))
		e.Drawn = append(e.Drawn, candidates[t.Config.String()])
	}
	return e
}

// Numbers are all examples as what regressors learn from.
func Numbers(all []*Examples) *learn.Numbers {
	n := &learn.Numbers{Features: featureNames()}
	for _, e := range all {
		n.Rows = append(n.Rows, e.Rows...)
		n.Targets = append(n.Targets, e.Targets...)
	}
	return n
}

// Fit grows the trees that models have.
func Fit(all []*Examples) (*learn.Boosted, error) { return Grow(Numbers(all)) }

// Grow grows such trees of any numbers.
func Grow(n *learn.Numbers) (*learn.Boosted, error) { return learn.NewBoosted(n, options) }
