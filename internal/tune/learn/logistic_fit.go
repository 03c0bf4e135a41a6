package learn

// logisticFit is what coefficients are sought for.
type logisticFit struct {
	rows             [][]float64 // with a 1 before the others
	labels           []int
	classes, columns int
	ridge            float64
}

// byClass cuts coefficients into those of each class but the last.
func (f *logisticFit) byClass(weights []float64) [][]float64 {
	var list [][]float64
	for k := range f.classes - 1 {
		list = append(list, weights[k*f.columns:(k+1)*f.columns])
	}
	return list
}

// mostForNewton is the number of coefficients up to which Newton's method is taken: its matrix has the square of it.
const mostForNewton = 400

// minimum returns the coefficients with the least loss, class by class. The loss is convex.
func (f *logisticFit) minimum() []float64 {
	if (f.classes-1)*f.columns <= mostForNewton {
		return f.newton()
	}
	return f.lbfgs()
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

// gradient writes the loss's first derivatives.
func (f *logisticFit) gradient(into, at []float64) {
	clear(into)
	for i, x := range f.rows {
		p, _ := f.odds(at, x)
		for k := range f.classes - 1 {
			off := p[k]
			if f.labels[i] == k {
				off--
			}
			for a, v := range x {
				into[k*f.columns+a] += off * v
			}
		}
	}
	for i, w := range at {
		if i%f.columns > 0 {
			into[i] += 2 * f.ridge * w
		}
	}
}
