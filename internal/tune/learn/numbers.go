package learn

import (
	"errors"
	"fmt"
	"math"
)

// Numbers are examples of what a number depends on.
type Numbers struct {
	Features []string
	Rows     [][]float64 // a finite value for each feature
	Targets  []float64   // the number of each row
	// Weights say how much the error of each row counts, by the others'. Trees follow them. nil is as much as any.
	Weights []float64
}

// Regressor predicts a number.
type Regressor interface {
	Predict(row []float64) float64
}

// Check returns an error if there is nothing to learn from, or a value is no number.
func (n *Numbers) Check() error {
	if len(n.Rows) == 0 || len(n.Features) == 0 {
		return errors.New("a table without rows, or without features, teaches nothing")
	}
	if len(n.Targets) != len(n.Rows) {
		return fmt.Errorf("%d rows have %d targets", len(n.Rows), len(n.Targets))
	}
	if n.Weights != nil && len(n.Weights) != len(n.Rows) {
		return fmt.Errorf("%d rows have %d weights", len(n.Rows), len(n.Weights))
	}
	for i, w := range n.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("row %d: its weight is %v, and must be more than 0", i, w)
		}
	}
	for i, row := range n.Rows {
		if len(row) != len(n.Features) {
			return fmt.Errorf("row %d has %d values for %d features", i, len(row), len(n.Features))
		}
		for j, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("row %d, %s: %v is no number", i, n.Features[j], x)
			}
		}
		if x := n.Targets[i]; math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("row %d: the target %v is no number", i, x)
		}
	}
	return nil
}

// scaled returns the weights with a mean of 1.
func (n *Numbers) scaled() []float64 {
	weights := make([]float64, len(n.Rows))
	sum := 0.0
	for _, w := range n.Weights {
		sum += w
	}
	for i := range weights {
		weights[i] = 1
		if n.Weights != nil {
			weights[i] = n.Weights[i] * float64(len(n.Rows)) / sum
		}
	}
	return weights
}
