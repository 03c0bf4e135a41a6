package learn

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// PCA are the principal components of a table's features: the directions in which standardised rows differ most,
// none of which tells anything of another (I. T. Jolliffe, "Principal Component Analysis", 2nd ed., 2002).
type PCA struct {
	Encoding   encoding    `json:"encoding"`
	Scale      scale       `json:"scale"`
	Directions [][]float64 `json:"directions"` // each of length 1, that of the largest variance first
	Variances  []float64   `json:"variances"`  // of the examples along them
}

// NewPCA finds as many components as have at least a share of the variance together, from 0 to 1. Classes are no
// matter.
func NewPCA(t *Table, share float64) (*PCA, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	return principal(t, share)
}

// principal finds the components of a table's rows.
func principal(t *Table, share float64) (*PCA, error) {
	if !(share > 0 && share <= 1) {
		return nil, errors.New("the share of the variance that components have has to be above 0, and 1 at most")
	}
	c := &PCA{Encoding: newEncoding(t, true)}
	rows := c.Encoding.rows(t)
	c.Scale = standard(rows)
	n := len(c.Encoding.Columns)
	if n == 0 {
		return c, nil // rows that do not differ have no direction
	}
	flat := make([]float64, 0, n*len(rows))
	for _, x := range rows {
		flat = append(flat, c.Scale.apply(x)...)
	}
	var products mat.SymDense
	products.SymOuterK(1/float64(len(rows)-1), mat.NewDense(len(rows), n, flat).T())
	var found mat.EigenSym
	if !found.Factorize(&products, true) {
		return nil, errors.New("the features have no principal components: the eigenvalues do not converge")
	}
	values := found.Values(nil) // from the least on
	var vectors mat.Dense
	found.VectorsTo(&vectors)
	total := sum(values)
	kept := 0.0
	for k := n - 1; k >= 0 && (k == n-1 || kept < share*total*(1-1e-12)); k-- {
		kept += values[k]
		direction := mat.Col(nil, k, &vectors)
		if largest(direction) < 0 { // either sign will do: one is chosen
			for j := range direction {
				direction[j] = -direction[j]
			}
		}
		c.Directions, c.Variances = append(c.Directions, direction), append(c.Variances, max(0, values[k]))
	}
	return c, nil
}

// largest returns the number that is farthest from 0.
func largest(list []float64) float64 {
	return slices.MaxFunc(list, func(a, b float64) int {
		switch d := math.Abs(a) - math.Abs(b); {
		case math.Abs(d) < 1e-12: // else rounding would choose between numbers that are equal
			return 0
		case d < 0:
			return -1
		}
		return 1
	})
}

// Project returns where a row is along each component.
func (c *PCA) Project(row []float64) []float64 {
	x := c.Scale.apply(c.Encoding.row(row))
	at := make([]float64, len(c.Directions))
	for k, d := range c.Directions {
		at[k] = dot(d, x)
	}
	return at
}
