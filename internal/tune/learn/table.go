package learn

import (
	"errors"
	"fmt"
	"math"
)

// Feature is a column of a table: of numbers, or of one of some words.
type Feature struct {
	Name   string
	Values []string // the words, of which a row has the index; nil for numbers
}

// Table has rows of features, and the class of each.
type Table struct {
	Features []Feature
	Classes  []string
	Rows     [][]float64 // a value for each feature; NaN is unknown
	Labels   []int       // the class of each row
}

// Classifier predicts.
type Classifier interface {
	// Classify returns the probability of each class for a row. They add up to 1.
	Classify(row []float64) []float64
}

// Check returns an error if the table is no table, or has no row.
func (t *Table) Check() error {
	switch {
	case len(t.Rows) == 0:
		return errors.New("a table without rows teaches nothing")
	case len(t.Classes) == 0:
		return errors.New("a table without classes has nothing to predict")
	case len(t.Labels) != len(t.Rows):
		return fmt.Errorf("%d rows have %d classes", len(t.Rows), len(t.Labels))
	}
	for i, row := range t.Rows {
		if len(row) != len(t.Features) {
			return fmt.Errorf("row %d has %d values for %d features", i, len(row), len(t.Features))
		}
		if c := t.Labels[i]; c < 0 || c >= len(t.Classes) {
			return fmt.Errorf("row %d has class %d of %d", i, c, len(t.Classes))
		}
		for j, v := range row {
			f := &t.Features[j]
			word := v >= 0 && v < float64(len(f.Values)) && v == math.Trunc(v)
			if math.IsInf(v, 0) || f.Values != nil && !word && !math.IsNaN(v) {
				return fmt.Errorf("row %d, %s: %v is no value of it", i, f.Name, v)
			}
		}
	}
	return nil
}

// Best returns the first class that no other has a higher probability than.
func Best(probabilities []float64) int {
	best := 0
	for i, p := range probabilities {
		if p > probabilities[best] {
			best = i
		}
	}
	return best
}

// normalize divides a list by its sum, if that is not 0.
func normalize(list []float64) {
	total := sum(list)
	if total == 0 {
		return
	}
	for i := range list {
		list[i] /= total
	}
}

func sum(list []float64) float64 {
	s := 0.0
	for _, x := range list {
		s += x
	}
	return s
}
