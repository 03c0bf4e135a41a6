package learn

import (
	"math"
	"slices"
)

// Bayes is a naive Bayes classifier: features are independent of each other within a class. Numbers are normal there,
// rounded to the mean distance of neighbouring values; words are counted, each once more than it is there (John and
// Langley, UAI 1995, without kernels).
type Bayes struct {
	Prior    []float64     `json:"prior"`
	Features []bayesColumn `json:"features"`
}

// bayesColumn is what is known of a feature in each class.
type bayesColumn struct {
	Precision float64     `json:"precision,omitempty"` // of numbers
	Normal    []normal    `json:"normal,omitempty"`    // by class
	Words     [][]float64 `json:"words,omitempty"`     // by class, the probability of each
}

type normal struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

const (
	usualPrecision = 0.01  // of a feature with one value
	leastLikely    = 1e-75 // no value of a feature makes a class impossible
	sameDeviation  = 1e-10 // nothing is known of the scale below
)

// NewBayes learns a naive Bayes classifier.
func NewBayes(t *Table) (*Bayes, error) {
	prior, err := NewZeroR(t)
	if err != nil {
		return nil, err
	}
	b := &Bayes{Prior: prior.Probabilities}
	for j := range t.Features {
		if t.Features[j].Values != nil {
			b.Features = append(b.Features, bayesColumn{Words: t.words(j)})
			continue
		}
		precision := t.precision(j)
		b.Features = append(b.Features, bayesColumn{Precision: precision, Normal: t.normals(j, precision)})
	}
	return b, nil
}

// words returns the probabilities of a feature's words in each class.
func (t *Table) words(j int) [][]float64 {
	list := make([][]float64, len(t.Classes))
	for c := range list {
		list[c] = slices.Repeat([]float64{1}, len(t.Features[j].Values))
	}
	for i, row := range t.Rows {
		if !math.IsNaN(row[j]) {
			list[t.Labels[i]][int(row[j])]++
		}
	}
	for _, p := range list {
		normalize(p)
	}
	return list
}

// precision is the mean distance of a feature's neighbouring values.
func (t *Table) precision(j int) float64 {
	var known []float64
	for _, row := range t.Rows {
		if !math.IsNaN(row[j]) {
			known = append(known, row[j])
		}
	}
	slices.Sort(known)
	sum, n := 0.0, 0
	for i := 1; i < len(known); i++ {
		if known[i] != known[i-1] {
			sum += known[i] - known[i-1]
			n++
		}
	}
	if n == 0 {
		return usualPrecision
	}
	return sum / float64(n)
}

// normals returns a feature's mean and standard deviation in each class.
func (t *Table) normals(j int, precision float64) []normal {
	type sums struct{ n, x, squares float64 }
	s := make([]sums, len(t.Classes))
	for i, row := range t.Rows {
		if math.IsNaN(row[j]) {
			continue
		}
		x, c := rounded(row[j], precision), &s[t.Labels[i]]
		c.n, c.x, c.squares = c.n+1, c.x+x, c.squares+x*x
	}
	list := make([]normal, len(s))
	for c, s := range s {
		list[c].SD = precision / 6
		if s.n == 0 {
			continue
		}
		list[c].Mean = s.x / s.n
		if sd := math.Sqrt(math.Abs(s.squares-list[c].Mean*s.x) / s.n); sd > sameDeviation {
			list[c].SD = max(precision/6, sd)
		}
	}
	return list
}

func rounded(x, precision float64) float64 { return math.RoundToEven(x/precision) * precision }

// Classify returns the probability of each class.
func (b *Bayes) Classify(row []float64) []float64 {
	p := slices.Clone(b.Prior)
	for j, f := range b.Features {
		if math.IsNaN(row[j]) {
			continue
		}
		most := 0.0
		for c := range p {
			p[c] *= max(leastLikely, f.likelihood(c, row[j]))
			most = max(most, p[c])
		}
		if most > 0 && most < leastLikely {
			for c := range p {
				p[c] /= leastLikely
			}
		}
	}
	normalize(p)
	return p
}

// likelihood is how likely a value is in a class.
func (f *bayesColumn) likelihood(class int, x float64) float64 {
	if f.Words != nil {
		return f.Words[class][int(x)]
	}
	n := f.Normal[class]
	x = rounded(x, f.Precision) - n.Mean
	below := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	return below((x+f.Precision/2)/n.SD) - below((x-f.Precision/2)/n.SD)
}
