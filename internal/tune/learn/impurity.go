package learn

import (
	"fmt"
	"math"
)

// Impurity is a measure of how mixed the classes of examples are. A tree for classes asks the question that takes most
// of it away: the impurity of all examples, less the mean of those of the sons, each by its share of the examples. With
// none, "", a learner asks by its own measure.
type Impurity string

// The impurities, for shares p of the classes. Other than in CART, whose questions have two answers, one of words has
// an answer for each.
const (
	// Entropy is -sum(p*log2(p)); what a question takes away is its information gain (Quinlan, Machine Learning 1,
	// 1986).
	Entropy Impurity = "entropy"
	// Gini is 1-sum(p*p), how often two examples that are drawn with replacement have different classes (Breiman,
	// Friedman, Olshen and Stone, Classification and Regression Trees, 1984).
	Gini Impurity = "gini"
)

func (i Impurity) check() error {
	switch i {
	case "", Entropy, Gini:
		return nil
	}
	return fmt.Errorf("there is no impurity %q: give %q or %q", string(i), Entropy, Gini)
}

// part is what a class of weight x adds to how pure a whole is. The impurity of the whole, times its weight, is its
// part of itself less those of its classes. So both measures share all that follows. A little is nothing.
func (i Impurity) part(x, whole float64) float64 {
	switch {
	case i != Gini:
		return entropy(x)
	case x < near:
		return 0
	}
	return x * x / whole
}

// before is the impurity of the classes, times the weight of the examples.
func (i Impurity) before(n counts) float64 {
	s, total := 0.0, n.total()
	for _, w := range n.classes() {
		s += i.part(w, total)
	}
	return i.part(total, total) - s
}

// gain is the impurity that a question takes away for each example of known value, less what is unknown.
func (i Impurity) gain(n counts, total, before float64) float64 {
	after := 0.0
	for _, branch := range n {
		whole := sum(branch)
		for _, w := range branch {
			after += i.part(w, whole)
		}
		after -= i.part(whole, whole)
	}
	known := n.total()
	gained := (1 - (total-known)/total) * (before + after)
	if math.Abs(gained) < near {
		return 0
	}
	return gained / known
}

// entropy is x log2(x), where a little is nothing.
func entropy(x float64) float64 {
	if x < near {
		return 0
	}
	return x * math.Log(x) / math.Ln2
}
