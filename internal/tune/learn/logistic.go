package learn

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
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

// NewLogistic finds the coefficients by Newton's method. The ridge is added for each squared coefficient of
// standardised columns to the negative logarithm of the examples' likelihood.
func NewLogistic(t *Table, ridge float64) (*Logistic, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if !(ridge > 0) || math.IsInf(ridge, 0) {
		return nil, errors.New("the ridge of a logistic regression has to be above 0: without one, classes that can " +
			"be told apart have no best coefficients")
	}
	l := &Logistic{Encoding: newEncoding(t, true)}
	rows := l.Encoding.rows(t)
	l.Scale = standard(rows)
	f := &logisticFit{labels: t.Labels, classes: len(t.Classes), columns: len(l.Encoding.Columns) + 1, ridge: ridge}
	for _, x := range rows {
		f.rows = append(f.rows, append([]float64{1}, l.Scale.apply(x)...))
	}
	weights := f.minimum()
	for k := range f.classes - 1 {
		l.Weights = append(l.Weights, weights[k*f.columns:(k+1)*f.columns])
	}
	return l, nil
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

// logisticFit is what coefficients are sought for.
type logisticFit struct {
	rows             [][]float64 // with a 1 before the others
	labels           []int
	classes, columns int
	ridge            float64
}

const mostNewtonSteps = 200

// minimum returns the coefficients with the least loss, class by class. The loss is convex.
func (f *logisticFit) minimum() []float64 {
	n := (f.classes - 1) * f.columns
	at := make([]float64, n)
	if n == 0 {
		return at
	}
	loss := f.loss(at)
	for range mostNewtonSteps {
		gradient, hessian := f.slopes(at)
		step := newtonStep(gradient, hessian)
		slope := dot(step, gradient)
		if slope < 1e-12*(1+loss) {
			return at
		}
		next, better := make([]float64, n), false
		for size := 1.0; size > 1e-10 && !better; size /= 2 {
			for i := range at {
				next[i] = at[i] - size*step[i]
			}
			if l := f.loss(next); l <= loss-1e-4*size*slope {
				loss, better = l, true
			}
		}
		if !better {
			return at // rounding is all that is left
		}
		at = next
	}
	return at
}

// newtonStep solves hessian*step = gradient, with the diagonal raised until that can be done. Where no raise will do,
// because there are numbers that are none, the step is the gradient.
func newtonStep(gradient []float64, hessian *mat.SymDense) []float64 {
	n := len(gradient)
	for more := 0.0; more < 1e100; more = max(2*more, 1e-10) {
		for i := range n {
			hessian.SetSym(i, i, hessian.At(i, i)+more)
		}
		var factors mat.Cholesky
		if !factors.Factorize(hessian) {
			continue
		}
		step := mat.NewVecDense(n, nil)
		err := factors.SolveVecTo(step, mat.NewVecDense(n, gradient))
		if _, rough := errors.AsType[mat.Condition](err); err == nil || rough {
			return step.RawVector().Data
		}
	}
	return gradient
}

// odds returns the probabilities of a row's classes, and the logarithm of the sum that they were divided by.
func (f *logisticFit) odds(at, x []float64) ([]float64, float64) {
	p := make([]float64, f.classes)
	for k := range f.classes - 1 {
		p[k] = dot(at[k*f.columns:(k+1)*f.columns], x)
	}
	logOfSum := softmax(p)
	return p, logOfSum
}

// loss is the negative logarithm of the likelihood and the ridge's share.
func (f *logisticFit) loss(at []float64) float64 {
	loss := 0.0
	for i, x := range f.rows {
		_, logOfSum := f.odds(at, x)
		loss += logOfSum
		if k := f.labels[i]; k < f.classes-1 {
			loss -= dot(at[k*f.columns:(k+1)*f.columns], x)
		}
	}
	for i, w := range at {
		if i%f.columns > 0 {
			loss += f.ridge * w * w
		}
	}
	return loss
}

// slopes returns the loss's first and second derivatives.
func (f *logisticFit) slopes(at []float64) ([]float64, *mat.SymDense) {
	n, m := len(at), f.columns
	gradient, second := make([]float64, n), make([]float64, n*n)
	for i, x := range f.rows {
		p, _ := f.odds(at, x)
		for k := range f.classes - 1 {
			off := p[k]
			if f.labels[i] == k {
				off--
			}
			for a := range m {
				gradient[k*m+a] += off * x[a]
			}
			for l := k; l < f.classes-1; l++ {
				weight := -p[k] * p[l]
				if l == k {
					weight += p[k]
				}
				for a := range m {
					row := second[(k*m+a)*n+l*m:]
					for b := range m {
						row[b] += weight * x[a] * x[b]
					}
				}
			}
		}
	}
	for i, w := range at {
		if i%m > 0 {
			gradient[i] += 2 * f.ridge * w
			second[i*n+i] += 2 * f.ridge
		}
	}
	return gradient, mat.NewSymDense(n, second)
}
