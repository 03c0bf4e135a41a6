package learn

import (
	"errors"

	"gonum.org/v1/gonum/mat"
)

const mostNewtonSteps = 200

// newton finds the minimum by Newton's method, with steps that are halved until the loss falls.
func (f *logisticFit) newton() []float64 {
	n := (f.classes - 1) * f.columns
	at, gradient := make([]float64, n), make([]float64, n)
	if n == 0 {
		return at
	}
	loss := f.loss(at)
	for range mostNewtonSteps {
		f.gradient(gradient, at)
		step := newtonStep(gradient, f.hessian(at))
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

// hessian returns the loss's second derivatives.
func (f *logisticFit) hessian(at []float64) *mat.SymDense {
	n, m := len(at), f.columns
	second := make([]float64, n*n)
	for _, x := range f.rows {
		p, _ := f.odds(at, x)
		for k := range f.classes - 1 {
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
	for i := range at {
		if i%m > 0 {
			second[i*n+i] += 2 * f.ridge
		}
	}
	return mat.NewSymDense(n, second)
}
