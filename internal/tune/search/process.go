package search

import "math"

// process is a Gaussian process over points: it predicts values with an uncertainty from those that were
// observed (Rasmussen and Williams 2006). It updates its predictions for a pool of candidates with each
// observation, in one pass over the pool.
//
// It predicts several targets for the same points. They share the covariances and differ in the observations.
type process struct {
	scale []float64 // by parameter: one over its length
	noise float64   // variance of observations over that of the function

	seen    []features
	factor  [][]float64 // Cholesky factor of the covariances of seen points: lower triangle, by rows
	targets int
	value   [][]float64 // by seen point and target
	known   [][]bool    // whether the value was learnt
	z       [][]float64 // the factor's inverse times the values; 0 where a value is not known

	pool     []features
	column   [][]float64 // by seen point: the factor's inverse times the covariances with the pool
	variance []float64   // of the pool
	mean     [][]float64 // by target: of the pool
}

// features are a point's coordinates as numbers between 0 and 1.
type features []float32

const (
	absentFeature = -1 // of a parameter that does not exist
	wordFeature   = 2  // and more: of a word; different words have the distance 1
)

// featuresOf returns the features of a point.
func featuresOf(params []Param, p Point) features {
	f := make(features, len(p))
	for i, v := range p {
		switch n := len(params[i].Values); {
		case v < 0:
			f[i] = absentFeature
		case !params[i].number():
			f[i] = wordFeature + float32(v)
		case n > 1:
			f[i] = float32(v) / float32(n-1)
		}
	}
	return f
}

// square returns the squared distance of two values of a parameter: at most 1, and 1 unless both are numbers.
func square(a, b float32) float64 {
	d := float64(a - b)
	return min(d*d, 1)
}

// covariance is the Matérn covariance with smoothness 5/2.
func (g *process) covariance(a, b features) float64 {
	sum := 0.0
	for i, s := range g.scale {
		if a[i] != b[i] {
			sum += square(a[i], b[i]) * s * s
		}
	}
	return matern(sum)
}

// matern returns the covariance at a squared distance.
func matern(square float64) float64 {
	if square == 0 {
		return 1
	}
	r := math.Sqrt(5 * square)
	if r > 40 {
		return 0
	}
	return (1 + r + r*r/3) * math.Exp(-r)
}

func newProcess(scale []float64, noise float64, targets int) *process {
	return &process{scale: scale, noise: noise, targets: targets, mean: make([][]float64, targets)}
}

// candidate adds a point to the pool.
func (g *process) candidate(f features) {
	j := len(g.pool)
	g.pool = append(g.pool, f)
	variance := 1.0
	mean := make([]float64, g.targets)
	for i, s := range g.seen {
		c := g.covariance(f, s)
		row := g.factor[i]
		for k := range i {
			c -= row[k] * g.column[k][j]
		}
		c /= row[i]
		g.column[i] = append(g.column[i], c)
		variance -= c * c
		for t := range mean {
			mean[t] += c * g.z[i][t]
		}
	}
	g.variance = append(g.variance, variance)
	for t := range mean {
		g.mean[t] = append(g.mean[t], mean[t])
	}
}

// see adds a point. Until its value is learnt, it counts as the expected value: its neighbourhood becomes
// certain, and no prediction changes.
func (g *process) see(f features) int {
	n := len(g.seen)
	row := make([]float64, n+1)
	rest := 1 + g.noise
	for i, s := range g.seen {
		c := g.covariance(f, s)
		for k := range i {
			c -= row[k] * g.factor[i][k]
		}
		row[i] = c / g.factor[i][i]
		rest -= row[i] * row[i]
	}
	row[n] = math.Sqrt(max(rest, g.noise/2))
	column := make([]float64, len(g.pool), len(g.pool)+len(g.pool)/4)
	for j, p := range g.pool {
		column[j] = g.covariance(f, p)
	}
	subtract(column, row[:n], g.column)
	for j := range column {
		column[j] /= row[n]
		g.variance[j] -= column[j] * column[j]
	}
	g.seen = append(g.seen, f)
	g.factor = append(g.factor, row)
	g.column = append(g.column, column)
	g.z = append(g.z, make([]float64, g.targets))
	g.value = append(g.value, make([]float64, g.targets))
	g.known = append(g.known, make([]bool, g.targets))
	return n
}

// subtract subtracts multiples of vectors from x, four at a time, so that x is read and written less often.
func subtract(x, factors []float64, vectors [][]float64) {
	i := 0
	for ; i+4 <= len(factors); i += 4 {
		a, b, c, d := factors[i], factors[i+1], factors[i+2], factors[i+3]
		p, q, r, s := vectors[i][:len(x)], vectors[i+1][:len(x)], vectors[i+2][:len(x)], vectors[i+3][:len(x)]
		for j := range x {
			x[j] -= a*p[j] + b*q[j] + (c*r[j] + d*s[j])
		}
	}
	for ; i < len(factors); i++ {
		for j, v := range vectors[i][:len(x)] {
			x[j] -= factors[i] * v
		}
	}
}

// expected returns the expected value of the i-th seen point, given those before it.
func (g *process) expected(i, target int) float64 {
	x := 0.0
	for k, c := range g.factor[i][:i] {
		x += c * g.z[k][target]
	}
	return x
}

// learn sets the value of the i-th seen point.
func (g *process) learn(i, target int, value float64) {
	g.value[i][target], g.known[i][target] = value, true
	for k := i; k < len(g.seen); k++ {
		z := 0.0
		if g.known[k][target] {
			z = (g.value[k][target] - g.expected(k, target)) / g.factor[k][k]
		}
		g.set(k, target, z)
	}
}

func (g *process) set(i, target int, z float64) {
	d := z - g.z[i][target]
	g.z[i][target] = z
	if d == 0 {
		return
	}
	mean := g.mean[target]
	for j, c := range g.column[i] {
		mean[j] += c * d
	}
}

// predictor returns a function that predicts a target at any point. Predictions for the pool are updated with
// each trial; this is for thousands of points that are looked at once.
func (g *process) predictor(target int) func(features) float64 {
	n := len(g.seen)
	weights := make([]float64, n)
	for i := n - 1; i >= 0; i-- { // the factor is triangular: from below
		x := g.z[i][target]
		for k := i + 1; k < n; k++ {
			x -= g.factor[k][i] * weights[k]
		}
		weights[i] = x / g.factor[i][i]
	}
	return func(f features) float64 {
		sum := 0.0
		for i, s := range g.seen {
			sum += weights[i] * g.covariance(f, s)
		}
		return sum
	}
}

// likelihood returns the logarithm of the likelihood of values, up to a constant, and the standard deviation of
// the process that maximises it. squares are the squared distances of pairs by parameter, in the order of the
// lower triangle.
func likelihood(values []float64, squares [][]float32, scale []float64, noise float64,
	work []float64) (log, deviation float64) {
	n := len(values)
	fit, determinant := 0.0, 0.0
	z := make([]float64, n)
	pair := 0
	for i := range n {
		row := work[i*n : i*n+i+1]
		rest := 1 + noise
		for j := range i {
			sum := 0.0
			for p, s := range scale {
				sum += s * s * float64(squares[p][pair])
			}
			pair++
			c := matern(sum)
			other := work[j*n : j*n+j+1]
			for k, x := range row[:j] {
				c -= x * other[k]
			}
			row[j] = c / other[j]
			rest -= row[j] * row[j]
		}
		row[i] = math.Sqrt(max(rest, noise/2))
		x := values[i]
		for k, c := range row[:i] {
			x -= c * z[k]
		}
		z[i] = x / row[i]
		fit += z[i] * z[i]
		determinant += math.Log(row[i])
	}
	variance := fit/float64(max(n, 1)) + 1e-12
	return -float64(n)/2*math.Log(variance) - determinant, math.Sqrt(variance)
}
