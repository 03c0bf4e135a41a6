package learn

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// curve has rows of two features that say something and two that do not.
func curve(seed uint64, rows int, noise float64) *Numbers {
	r := rand.New(rand.NewPCG(seed, 1))
	n := &Numbers{Features: []string{"a", "b", "c", "d"}}
	for range rows {
		row := []float64{r.Float64(), float64(r.IntN(5)), r.NormFloat64(), 7}
		n.Rows = append(n.Rows, row)
		n.Targets = append(n.Targets, math.Sin(6*row[0])*(1+row[1])+noise*r.NormFloat64())
	}
	return n
}

// rest is the part of the targets' variance that a regressor leaves.
func rest(r Regressor, n *Numbers) float64 {
	mean, errors, all := 0.0, 0.0, 0.0
	for _, y := range n.Targets {
		mean += y / float64(len(n.Targets))
	}
	for i, row := range n.Rows {
		errors += math.Pow(r.Predict(row)-n.Targets[i], 2)
		all += math.Pow(n.Targets[i]-mean, 2)
	}
	return errors / all
}

var regressors = []struct {
	name string
	make func(*Numbers) (Regressor, error)
}{
	{"forest", func(n *Numbers) (Regressor, error) { return NewForest(n, ForestOptions{Trees: 40, Leaf: 2, Seed: 3}) }},
	{"boosted", func(n *Numbers) (Regressor, error) {
		return NewBoosted(n, BoostedOptions{Trees: 150, Depth: 4, Rate: 0.1, Part: 0.6, Leaf: 3, Seed: 3})
	}},
}

// Regressors learn a curve of which they see examples with noise, say the same again, and know other rows.
func TestRegressors(t *testing.T) {
	for _, r := range regressors {
		n := curve(1, 500, 0.2)
		first, err := r.make(n)
		if err != nil {
			t.Fatal(err)
		}
		if left := rest(first, curve(2, 300, 0)); left > 0.08 {
			t.Errorf("%s leaves %.3f of the variance", r.name, left)
		}
		second, err := r.make(n)
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("%s: equal examples make other trees: %v", r.name, err)
		}
		for i := range n.Targets { // nothing to learn
			n.Targets[i] = 4
		}
		same, err := r.make(n)
		if err != nil || math.Abs(same.Predict(n.Rows[0])-4) > 1e-9 {
			t.Errorf("%s: %v of equal targets: %v", r.name, same.Predict(n.Rows[0]), err)
		}
	}
}

// The first question of a tree is the one that leaves the least squares, by trying all; leaves have enough examples,
// and every node the mean of its own.
func TestQuestions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 24).Draw(t, "rows")
		leaf := rapid.IntRange(1, 5).Draw(t, "leaf")
		n := &Numbers{Features: []string{"a", "b"}}
		for range rows {
			n.Rows = append(n.Rows, []float64{
				float64(rapid.IntRange(0, 6).Draw(t, "a")), rapid.Float64Range(-1, 1).Draw(t, "b"),
			})
			n.Targets = append(n.Targets, float64(rapid.IntRange(-9, 9).Draw(t, "y")))
		}
		weights := make([]float64, rows)
		for i := range weights {
			weights[i] = 1
		}
		g := &grower{
			binned: n.binned(), targets: n.Targets, weights: weights, leaf: float64(leaf), features: 2,
			random: rand.New(rand.NewPCG(1, 1)),
		}
		tree := g.tree()
		best := squares(n, func(int) bool { return true })
		for j := range 2 {
			for _, row := range n.Rows {
				low := func(i int) bool { return n.Rows[i][j] <= row[j] }
				high := func(i int) bool { return !low(i) }
				if count(rows, low) >= leaf && count(rows, high) >= leaf {
					best = min(best, squares(n, low)+squares(n, high))
				}
			}
		}
		got := squares(n, func(int) bool { return true })
		if root := tree[0]; root.Low > 0 {
			low := func(i int) bool { return n.Rows[i][root.Feature] <= root.Split }
			got = squares(n, low) + squares(n, func(i int) bool { return !low(i) })
		}
		if got > best+1e-6 {
			t.Fatalf("the root leaves %v, and %v is possible: %v", got, best, tree)
		}
		checkNode(t, n, tree, 0, func(int) bool { return true }, leaf)
	})
}

// Rows of a greater weight are followed more: where nothing tells rows apart, all that is predicted is their weighted
// mean. Weights by the same factor, and rows that are all alike, change nothing.
func TestWeights(t *testing.T) {
	regressors := map[string]func(*Numbers) (Regressor, error){
		"forest": func(n *Numbers) (Regressor, error) {
			return NewForest(n, ForestOptions{Trees: 400, Leaf: 1, Seed: 1})
		},
		"boosted": func(n *Numbers) (Regressor, error) {
			return NewBoosted(n, BoostedOptions{Trees: 5, Depth: 3, Rate: 0.3, Part: 1, Leaf: 1, Seed: 1})
		},
	}
	for name, grow := range regressors {
		predict := func(n *Numbers, row []float64) float64 {
			r, err := grow(n)
			if err != nil {
				t.Fatal(err)
			}
			return r.Predict(row)
		}
		same := &Numbers{Features: []string{"x"}}
		for i := range 200 {
			same.Rows, same.Targets = append(same.Rows, []float64{1}), append(same.Targets, float64(i%2))
			same.Weights = append(same.Weights, []float64{1, 3}[i%2])
		}
		if got := predict(same, same.Rows[0]); math.Abs(got-0.75) > 0.01 {
			t.Errorf("%s: %v of 0 and of 1 with thrice the weight", name, got)
		}
		n := curve(3, 60, 0)
		plain := predict(n, n.Rows[7])
		for _, w := range []float64{1, 0.5} {
			n.Weights = slices.Repeat([]float64{w}, len(n.Rows))
			if got := predict(n, n.Rows[7]); math.Abs(got-plain) > 1e-12 {
				t.Errorf("%s: %v with all weights %v, and %v without", name, got, w, plain)
			}
		}
	}
	for _, bad := range [][]float64{{1}, {1, 0, 1}, {1, math.NaN(), 1}, {1, math.Inf(1), 1}, {1, -1, 1}, {}} {
		n := &Numbers{Features: []string{"x"}, Rows: [][]float64{{1}, {2}, {3}}, Targets: []float64{1, 2, 3}}
		n.Weights = bad
		if err := n.Check(); err == nil {
			t.Errorf("weights %v are no error", bad)
		}
	}
}

func count(n int, in func(int) bool) int {
	k := 0
	for i := range n {
		if in(i) {
			k++
		}
	}
	return k
}

// squares is the sum of the squares of what some targets are from their mean.
func squares(n *Numbers, in func(int) bool) float64 {
	sum, square, k := 0.0, 0.0, 0.0
	for i, y := range n.Targets {
		if in(i) {
			sum, square, k = sum+y, square+y*y, k+1
		}
	}
	if k == 0 {
		return 0
	}
	return square - sum*sum/k
}

func checkNode(t *rapid.T, n *Numbers, tree RegressionTree, at int, in func(int) bool, leaf int) {
	sum, k := 0.0, 0.0
	for i, y := range n.Targets {
		if in(i) {
			sum, k = sum+y, k+1
		}
	}
	node := tree[at]
	if math.Abs(node.Value-sum/k) > 1e-9 || at > 0 && k < float64(leaf) {
		t.Fatalf("node %d has %v of %v examples, mean %v", at, node.Value, k, sum/k)
	}
	if node.Low == 0 {
		return
	}
	low := func(i int) bool { return n.Rows[i][node.Feature] <= node.Split }
	checkNode(t, n, tree, node.Low, func(i int) bool { return in(i) && low(i) }, leaf)
	checkNode(t, n, tree, node.High, func(i int) bool { return in(i) && !low(i) }, leaf)
}

func TestBadNumbers(t *testing.T) {
	for want, spoil := range map[string]func(*Numbers){
		"teaches nothing":          func(n *Numbers) { n.Rows = nil },
		"without features":         func(n *Numbers) { n.Features = nil },
		"9 rows have 8 targets":    func(n *Numbers) { n.Targets = n.Targets[1:] },
		"row 2 has 1 values for 4": func(n *Numbers) { n.Rows[2] = n.Rows[2][:1] },
		"row 3, b: NaN":            func(n *Numbers) { n.Rows[3][1] = math.NaN() },
		"row 3, a: -Inf":           func(n *Numbers) { n.Rows[3][0] = math.Inf(-1) },
		"row 4: the target NaN":    func(n *Numbers) { n.Targets[4] = math.NaN() },
	} {
		for _, r := range regressors {
			n := curve(3, 9, 0)
			spoil(n)
			if _, err := r.make(n); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, not %s", r.name, err, want)
			}
		}
	}
	for _, o := range []ForestOptions{{}, {Trees: 1}, {Trees: 1, Leaf: 1, Features: -1}} {
		if _, err := NewForest(curve(3, 9, 0), o); err == nil {
			t.Errorf("%+v", o)
		}
	}
	good := BoostedOptions{Trees: 2, Depth: 2, Rate: 0.5, Part: 0.5, Leaf: 1}
	for _, spoil := range []func(*BoostedOptions){
		func(o *BoostedOptions) { o.Trees = 0 }, func(o *BoostedOptions) { o.Depth = 0 },
		func(o *BoostedOptions) { o.Rate = math.NaN() }, func(o *BoostedOptions) { o.Part = 0 },
		func(o *BoostedOptions) { o.Part = 1.1 }, func(o *BoostedOptions) { o.Leaf = 0 },
		func(o *BoostedOptions) { o.Features = -1 }, func(o *BoostedOptions) { o.Rate = 1.5 },
	} {
		o := good
		spoil(&o)
		if _, err := NewBoosted(curve(3, 9, 0), o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}
