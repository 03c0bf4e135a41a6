package learn

import (
	"fmt"
	"slices"
)

// Nearest predicts the mean of the k nearest examples, by Euclidean distance along principal components. What examples
// hardly differ in is no distance then, and what several features say counts once (T. Remmelg et al., GPGPU 2020,
// sections 5.2 and 5.3: components with 95 % of the variance, five neighbours).
type Nearest struct {
	Components *PCA        `json:"components"`
	K          int         `json:"k"`
	Places     [][]float64 `json:"places"` // of the examples
	Targets    []float64   `json:"targets"`
}

// NewNearest keeps the examples where they are along components that have a share of the variance.
func NewNearest(n *Numbers, share float64, k int) (*Nearest, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("%d neighbours say nothing", k)
	}
	t := &Table{Rows: n.Rows}
	for _, name := range n.Features {
		t.Features = append(t.Features, Feature{Name: name})
	}
	c, err := principal(t, share)
	if err != nil {
		return nil, err
	}
	m := &Nearest{Components: c, K: k, Targets: slices.Clone(n.Targets)}
	for _, row := range n.Rows {
		m.Places = append(m.Places, c.Project(row))
	}
	return m, nil
}

// Predict returns the mean of the nearest examples. All at the distance of the last count.
func (m *Nearest) Predict(row []float64) float64 {
	at := m.Components.Project(row)
	distances := make([]float64, len(m.Places))
	for i, place := range m.Places {
		for j := range place {
			d := place[j] - at[j]
			distances[i] += d * d
		}
	}
	near := closest(distances, m.K)
	total := 0.0
	for _, i := range near {
		total += m.Targets[i]
	}
	return total / float64(len(near))
}
