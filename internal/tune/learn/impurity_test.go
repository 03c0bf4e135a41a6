package learn

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// defined are the impurities of shares of classes, by their definitions.
var defined = map[Impurity]func(shares []float64) float64{
	Entropy: func(shares []float64) float64 {
		s := 0.0
		for _, p := range shares {
			if p > 0 {
				s -= p * math.Log2(p)
			}
		}
		return s
	},
	Gini: func(shares []float64) float64 {
		s := 0.0
		for i, p := range shares { // two that differ
			for k, q := range shares {
				if i != k {
					s += p * q
				}
			}
		}
		return s
	},
}

// drop is how much of an impurity a question takes away from weighted rows of a table, whose values are all known.
func drop(t *Table, weights []float64, by Impurity, answer func(row []float64) int) float64 {
	all, sons := make([]float64, len(t.Classes)), map[int][]float64{}
	for i, row := range t.Rows {
		k := answer(row)
		if sons[k] == nil {
			sons[k] = make([]float64, len(t.Classes))
		}
		sons[k][t.Labels[i]] += weights[i]
		all[t.Labels[i]] += weights[i]
	}
	total := sum(all)
	impurity := func(classes []float64) float64 {
		weight, shares := sum(classes), make([]float64, len(classes))
		if weight == 0 {
			return 0
		}
		for c, w := range classes {
			shares[c] = w / weight
		}
		return weight / total * defined[by](shares)
	}
	d := impurity(all)
	for _, classes := range sons {
		d -= impurity(classes)
	}
	return d
}

// mostDropped is the most that any question takes away: which word it is, or whether a number is up to one of a row.
func mostDropped(t *Table, weights []float64, by Impurity) float64 {
	best := 0.0
	for j, f := range t.Features {
		if f.Values != nil {
			best = max(best, drop(t, weights, by, func(row []float64) int { return int(row[j]) }))
			continue
		}
		for _, point := range t.Rows {
			best = max(best, drop(t, weights, by, func(row []float64) int {
				if row[j] <= point[j] {
					return 0
				}
				return 1
			}))
		}
	}
	return best
}

// The first question of a tree takes away most of the impurity that was named, and the two impurities do not always
// have the same. Of 30 rows and 3 classes, C4.5 lets a number split off a single one.
func TestImpurityOfRoots(t *testing.T) {
	const cases = 200
	others := map[string]int{}
	for seed := range uint64(cases) {
		table := drawn(seed, 30, 2, 3, 3, 0, 0.5)
		ones := make([]float64, len(table.Rows))
		for i := range ones {
			ones[i] = 1
		}
		asked := map[string][]any{}
		for _, by := range []Impurity{Entropy, Gini} {
			c, err := NewC45(table, C45Options{Leaf: 1, Impurity: by})
			if err != nil {
				t.Fatal(err)
			}
			got := drop(table, ones, by, func(row []float64) int { return c.branch(c.Root, row[c.Root.Feature]) })
			if want := mostDropped(table, ones, by); c.Root.Sons == nil || math.Abs(got-want) > 2*near {
				t.Errorf("seed %d: a tree's first question takes %v of %s away, and another %v", seed, got, by, want)
			}
			asked["trees"] = append(asked["trees"], [2]float64{float64(c.Root.Feature), c.Root.Split})

			f, err := NewClassForest(table, ForestOptions{
				Trees: 1, Features: len(table.Features), Leaf: 1, Seed: seed, Impurity: by,
			})
			if err != nil {
				t.Fatal(err)
			}
			root, times := f.Trees[0], bootstrap(rand.New(rand.NewPCG(seed, 0)), len(table.Rows))
			got = drop(table, times, by, root.son)
			if want := mostDropped(table, times, by); root.Sons == nil || math.Abs(got-want) > 1e-9 {
				t.Errorf("seed %d: a forest's first question takes %v of %s away, and another %v", seed, got, by, want)
			}
			asked["forests"] = append(asked["forests"], [2]float64{float64(root.Feature), root.Split})
		}
		for what, list := range asked {
			if list[0] != list[1] {
				others[what]++
			}
		}
	}
	t.Logf("of %d, other questions: %v", cases, others)
	for _, what := range []string{"trees", "forests"} {
		if others[what] == 0 {
			t.Errorf("both impurities ask the same in all %s: the tables tell nothing", what)
		}
	}
}

// Of ten rows, two are yes. The first feature splits off four, half of which are yes: that leaves 4/10 of an entropy of
// 1, which is 0.4, and 4/10 of a Gini impurity of 1/2, which is 0.2. The second splits off one that is yes: that leaves
// 9/10 of the entropy of 1/9, 0.503, which is 0.453, and 9/10 of 1-(1+64)/81, which is 0.178. So entropy asks the
// first, and Gini the second.
func TestImpuritiesDiffer(t *testing.T) {
	words := []string{"a", "b"}
	table := &Table{
		Features: []Feature{{Name: "four", Values: words}, {Name: "one", Values: words}},
		Classes:  []string{"no", "yes"},
		Rows:     [][]float64{{1, 1}, {1, 0}, {1, 0}, {1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
		Labels:   []int{1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
	}
	var all []weighed
	for i := range table.Rows {
		all = append(all, weighed{i, 1})
	}
	for by, want := range map[Impurity]int{Entropy: 0, Gini: 1} {
		c, err := NewC45(table, C45Options{Leaf: 1, Impurity: by})
		if err != nil {
			t.Fatal(err)
		}
		if c.Root.Sons == nil || c.Root.Feature != want {
			t.Errorf("a tree by %s asks %d first", by, c.Root.Feature)
		}
		g := &classGrower{
			Table:         table,
			ForestOptions: ForestOptions{Features: 2, Leaf: 1, Impurity: by},
			random:        rand.New(rand.NewPCG(1, 1)),
		}
		if n := g.grow(all); n.Sons == nil || n.Feature != want {
			t.Errorf("a forest by %s asks %d first", by, n.Feature)
		}
	}
}

// A forest without an impurity is one of entropy, tree by tree; a tree without one asks by gain ratio, so that it may
// be another than that of entropy. Equal options grow the same again.
func TestNoImpurity(t *testing.T) {
	others := 0
	for seed := range uint64(50) {
		table := drawn(seed, 60, 2, 3, 3, 0.1, 0.3)
		forests, trees := map[Impurity]*ClassForest{}, map[Impurity]*C45{}
		for _, by := range []Impurity{"", Entropy, Gini} {
			for range 2 {
				f, err := NewClassForest(table, ForestOptions{Trees: 3, Leaf: 2, Seed: seed, Impurity: by})
				if err != nil {
					t.Fatal(err)
				}
				c, err := NewC45(table, C45Options{Leaf: 2, Confidence: 0.25, Impurity: by})
				if err != nil {
					t.Fatal(err)
				}
				if forests[by] != nil && !(reflect.DeepEqual(f, forests[by]) && reflect.DeepEqual(c, trees[by])) {
					t.Errorf("seed %d: by %q, something else is grown again", seed, by)
				}
				forests[by], trees[by] = f, c
			}
		}
		if !reflect.DeepEqual(forests[""], forests[Entropy]) {
			t.Errorf("seed %d: a forest by no impurity is not that by entropy", seed)
		}
		if !reflect.DeepEqual(trees[""].Root, trees[Entropy].Root) {
			others++
		}
	}
	if others == 0 {
		t.Error("gain ratio and entropy grow the same trees")
	}
}

// An impurity that there is not is refused, and so is one for numbers.
func TestUnknownImpurity(t *testing.T) {
	table, n := drawn(1, 20, 2, 0, 2, 0, 0), curve(1, 20, 0)
	_, tree := NewC45(table, C45Options{Leaf: 2, Confidence: 0.25, Impurity: "twoing"})
	_, classes := NewClassForest(table, ForestOptions{Trees: 1, Leaf: 1, Impurity: "twoing"})
	_, numbers := NewForest(n, ForestOptions{Trees: 1, Leaf: 1, Impurity: "twoing"})
	for _, err := range []error{tree, classes, numbers} {
		if err == nil || err.Error() != `there is no impurity "twoing": give "entropy" or "gini"` {
			t.Error(err)
		}
	}
	_, err := NewForest(n, ForestOptions{Trees: 1, Leaf: 1, Impurity: Gini})
	if err == nil || err.Error() != `a forest for numbers asks by squares of errors: give no impurity, not "gini"` {
		t.Error(err)
	}
}
