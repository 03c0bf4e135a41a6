package learn

import "slices"

// ZeroR knows how often each class is among the examples, and nothing else.
type ZeroR struct {
	Probabilities []float64 `json:"probabilities"`
}

// NewZeroR learns the frequencies of the classes, each counted once more than it is there, so that none is impossible.
func NewZeroR(t *Table) (*ZeroR, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	p := slices.Repeat([]float64{1}, len(t.Classes))
	for _, c := range t.Labels {
		p[c]++
	}
	normalize(p)
	return &ZeroR{p}, nil
}

// Classify returns the frequencies, whatever the row is.
func (z *ZeroR) Classify([]float64) []float64 { return slices.Clone(z.Probabilities) }
