package learn

import (
	"errors"
	"math"
)

// Logistic is multinomial logistic regression: the logarithm of how much likelier a class is than the last one is
// linear in the features. Coefficients are kept small by a ridge, where examples alone would let them grow without end
// (S. le Cessie and J. C. van Houwelingen, "Ridge estimators in logistic regression", Applied Statistics 41(1), 1992).
type Logistic struct {
	Encoding encoding `json:"encoding"`
	Scale    scale    `json:"scale"`
	// Weights of each class but the last: of 1, then of the columns.
	Weights [][]float64 `json:"weights"`
}

// NewLogistic finds the coefficients: few by Newton's method, many by L-BFGS. The ridge is added for each squared
// coefficient of standardised columns to the negative logarithm of the examples' likelihood.
func NewLogistic(t *Table, ridge float64) (*Logistic, error) {
	l, f, err := newLogisticFit(t, ridge)
	if err != nil {
		return nil, err
	}
	l.Weights = f.byClass(f.minimum())
	return l, nil
}

// newLogisticFit returns a regression without coefficients, and what they are sought for.
func newLogisticFit(t *Table, ridge float64) (*Logistic, *logisticFit, error) {
	if err := t.Check(); err != nil {
		return nil, nil, err
	}
	if !(ridge > 0) || math.IsInf(ridge, 0) {
		return nil, nil, errors.New("the ridge of a logistic regression has to be above 0: without one, classes that " +
			"can be told apart have no best coefficients")
	}
	l := &Logistic{Encoding: newEncoding(t, true)}
	rows := l.Encoding.rows(t)
	l.Scale = standard(rows)
	f := &logisticFit{labels: t.Labels, classes: len(t.Classes), columns: len(l.Encoding.Columns) + 1, ridge: ridge}
	for _, x := range rows {
		f.rows = append(f.rows, append([]float64{1}, l.Scale.apply(x)...))
	}
	return l, f, nil
}

// Classify returns the probability of each class.
func (l *Logistic) Classify(row []float64) []float64 {
	x := append([]float64{1}, l.Scale.apply(l.Encoding.row(row))...)
	p := make([]float64, len(l.Weights)+1)
	for k, w := range l.Weights {
		p[k] = dot(w, x)
	}
	softmax(p)
	return p
}

// softmax makes probabilities of logarithms of them.
func softmax(list []float64) (logOfSum float64) {
	largest := list[Best(list)]
	total := 0.0
	for k, v := range list {
		list[k] = math.Exp(v - largest)
		total += list[k]
	}
	for k := range list {
		list[k] /= total
	}
	return largest + math.Log(total)
}
