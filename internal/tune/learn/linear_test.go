package learn

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var linear = []struct {
	name string
	make func(*Table) (Classifier, error)
}{
	{"Logistic", func(t *Table) (Classifier, error) { return NewLogistic(t, 1e-8) }},
	{"SMO", func(t *Table) (Classifier, error) { return NewSVM(t, 1) }},
}

// Weka's optimisers stop at some tolerance, and so do these: they agree on the class of 99 rows in 100.
func TestWekaLinear(t *testing.T) {
	for _, l := range linear {
		rows, differ, far := 0, 0, 0.0
		for _, name := range []string{"numbers", "mixed", "words", "noise", "iris"} {
			learned, asked := readARFF(t, name+"-learned.arff"), readARFF(t, name+"-asked.arff")
			c, err := l.make(learned)
			if err != nil {
				t.Fatal(err)
			}
			want := answers(t, name+"-"+l.name+".txt")
			if len(want) != len(asked.Rows) {
				t.Fatalf("%s: %d answers to %d rows", name, len(want), len(asked.Rows))
			}
			for i, row := range asked.Rows {
				got := c.Classify(row)
				rows++
				if Best(got) != Best(want[i]) {
					differ++
					t.Logf("%s, %s, row %d: %.4f, not %.3f", l.name, name, i, got, want[i])
				}
				for k := range got {
					far = max(far, math.Abs(got[k]-want[i][k]))
				}
			}
		}
		t.Logf("%s: %d of %d rows differ; probabilities by %.4f at most", l.name, differ, rows, far)
		if 100*differ > rows {
			t.Errorf("%s: %d of %d rows are of another class", l.name, differ, rows)
		}
	}
}

// someTable draws a table of numbers, words and unknown values.
func someTable(t *rapid.T) *Table {
	seed := rapid.Uint64().Draw(t, "seed")
	return drawn(seed, rapid.IntRange(6, 60).Draw(t, "rows"), rapid.IntRange(0, 3).Draw(t, "numbers"),
		rapid.IntRange(0, 3).Draw(t, "words"), rapid.IntRange(2, 4).Draw(t, "classes"),
		rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "unknown"), rapid.SampledFrom([]float64{0.1, 1}).Draw(t, "noise"))
}

// No coefficients near those that are found have less loss.
func TestLogisticIsLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := someTable(t)
		const ridge = 0.01
		l, err := NewLogistic(table, ridge)
		if err != nil {
			t.Fatal(err)
		}
		loss := func(move []float64) float64 {
			total := 0.0
			for i, row := range table.Rows {
				x := append([]float64{1}, l.Scale.apply(l.Encoding.row(row))...)
				p := make([]float64, len(l.Weights)+1)
				for k, w := range l.Weights {
					for j := range w {
						p[k] += (w[j] + move[k*len(w)+j]) * x[j]
					}
				}
				own := p[table.Labels[i]]
				total += softmax(p) - own
			}
			for k, w := range l.Weights {
				for j := 1; j < len(w); j++ {
					v := w[j] + move[k*len(w)+j]
					total += ridge * v * v
				}
			}
			return total
		}
		n := len(l.Weights) * len(l.Weights[0])
		least := loss(make([]float64, n))
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			move := make([]float64, n)
			for i := range move {
				move[i] = 0.01 * rng.NormFloat64()
			}
			if other := loss(move); other < least-1e-9 {
				t.Fatalf("loss %.12g, and %.12g near it", least, other)
			}
		}
		for _, row := range table.Rows {
			if p := l.Classify(row); math.Abs(sum(p)-1) > 1e-9 {
				t.Fatalf("probabilities %v", p)
			}
		}
	})
}

// No plane near one that is found costs less.
func TestSVMIsWidest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := someTable(t)
		c := rapid.SampledFrom([]float64{0.1, 1, 10}).Draw(t, "c")
		m, err := NewSVM(table, c)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		for _, p := range m.Planes {
			cost := func(spread float64) float64 {
				normal, offset := make([]float64, len(p.Normal)), p.Offset+spread*rng.NormFloat64()
				for j := range normal {
					normal[j] = p.Normal[j] + spread*rng.NormFloat64()
				}
				total := dot(normal, normal) / 2
				for i, row := range table.Rows {
					side := map[int]float64{p.First: -1, p.Second: 1}[table.Labels[i]]
					if side != 0 {
						x := m.Scale.apply(m.Encoding.row(row))
						total += c * max(0, 1-side*(dot(normal, x)-offset))
					}
				}
				return total
			}
			least := cost(0)
			for _, spread := range []float64{0.001, 0.01, 0.1} {
				for range 10 {
					if other := cost(spread); other < least-1e-3*(1+least) {
						t.Fatalf("classes %d and %d cost %.6g, and %.6g near it", p.First, p.Second, least, other)
					}
				}
			}
		}
	})
}

// Words that the examples do not have, features that tell nothing and classes that have no example change no answer to
// a number that is none.
func TestLinearOddities(t *testing.T) {
	table := &Table{
		Features: []Feature{
			{Name: "x"}, {Name: "same"}, {Name: "never"}, {Name: "word", Values: []string{"a", "b", "c"}},
		},
		Classes: []string{"low", "high", "none"},
	}
	for i := range 12 {
		table.Rows = append(table.Rows, []float64{float64(i), 7, math.NaN(), float64(i % 2)})
		table.Labels = append(table.Labels, i/6)
	}
	for _, l := range linear {
		c, err := l.make(table)
		if err != nil {
			t.Fatal(err)
		}
		for x, want := range map[float64]int{0: 0, 4.9: 0, 6.1: 1, 100: 1} {
			p := c.Classify([]float64{x, 7, math.NaN(), 2})
			if Best(p) != want || math.Abs(sum(p)-1) > 1e-9 {
				t.Errorf("%s: %v at %v", l.name, p, x)
			}
		}
		if p := c.Classify([]float64{math.NaN(), math.NaN(), 3, math.NaN()}); math.IsNaN(sum(p)) {
			t.Errorf("%s: %v of nothing", l.name, p)
		}
		if _, err := l.make(&Table{}); err == nil {
			t.Errorf("%s learns from nothing", l.name)
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewLogistic(table, bad); err == nil {
			t.Errorf("a ridge of %v", bad)
		}
		if _, err := NewSVM(table, bad); err == nil {
			t.Errorf("a cost of %v", bad)
		}
	}
}

// Newton's method and L-BFGS find the same coefficients.
func TestOptimisersAgree(t *testing.T) {
	for seed := range uint64(5) {
		table := drawn(seed, 120, 4, 2, 5, 0.05, 0.3)
		for _, ridge := range []float64{1, 0.01} {
			l, f, err := newLogisticFit(table, ridge)
			if err != nil {
				t.Fatal(err)
			}
			newton, quasi := f.newton(), f.lbfgs()
			if a, b := f.loss(newton), f.loss(quasi); math.Abs(a-b) > 1e-8*(1+a) {
				t.Errorf("seed %d, ridge %v: Newton's loss is %.12g, that of L-BFGS %.12g", seed, ridge, a, b)
			}
			for i := range newton {
				if math.Abs(newton[i]-quasi[i]) > 1e-3 {
					t.Errorf("seed %d, ridge %v: coefficient %d is %.6f and %.6f", seed, ridge, i, newton[i], quasi[i])
				}
			}
			for _, row := range table.Rows {
				l.Weights = f.byClass(newton)
				first := l.Classify(row)
				l.Weights = f.byClass(quasi)
				for k, p := range l.Classify(row) {
					if math.Abs(p-first[k]) > 1e-4 {
						t.Errorf("seed %d, ridge %v: probabilities %.6f and %.6f", seed, ridge, first[k], p)
					}
				}
			}
		}
	}
}

// Forty classes of sixty features are learned in seconds.
func TestManyClasses(t *testing.T) {
	table := drawn(11, 200, 30, 10, 40, 0, 0.2)
	l, err := NewLogistic(table, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, row := range table.Rows {
		if Best(l.Classify(row)) == table.Labels[i] {
			right++
		}
	}
	if right < 198 {
		t.Errorf("%d of 200 rows that were learned have their class", right)
	}
}
