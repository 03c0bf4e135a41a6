package learn

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// What is no table is refused by every learner, with the place of the fault.
func TestBadTables(t *testing.T) {
	good := func() *Table { return drawn(5, 12, 1, 1, 2, 0, 0) }
	for _, c := range []struct {
		name  string
		spoil func(*Table)
		want  string
	}{
		{"no rows", func(t *Table) { t.Rows, t.Labels = nil, nil }, "without rows"},
		{"no classes", func(t *Table) { t.Classes = nil }, "without classes"},
		{"a label too few", func(t *Table) { t.Labels = t.Labels[1:] }, "12 rows have 11 classes"},
		{"a short row", func(t *Table) { t.Rows[3] = t.Rows[3][:1] }, "row 3 has 1 values for 2 features"},
		{"a class too high", func(t *Table) { t.Labels[4] = 2 }, "row 4 has class 2 of 2"},
		{"a class below all", func(t *Table) { t.Labels[4] = -1 }, "row 4 has class -1 of 2"},
		{"infinite", func(t *Table) { t.Rows[5][0] = math.Inf(1) }, "row 5, x0: +Inf"},
		{"no such word", func(t *Table) { t.Rows[6][1] = 2 }, "row 6, w0: 2 "},
		{"between words", func(t *Table) { t.Rows[6][1] = 0.5 }, "row 6, w0: 0.5"},
	} {
		table := good()
		c.spoil(table)
		for _, learn := range []func(*Table) error{
			func(t *Table) error { _, err := NewZeroR(t); return err },
			func(t *Table) error { _, err := NewBayes(t); return err },
			func(t *Table) error { _, err := NewC45(t, C45Options{Leaf: 2, Confidence: 0.25}); return err },
			func(t *Table) error { _, err := NewNeighbours(t, 3); return err },
		} {
			if err := learn(table); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	if _, err := NewNeighbours(good(), 0); err == nil {
		t.Error("0 neighbours")
	}
	for _, o := range []C45Options{
		{Leaf: 0, Confidence: 0.25}, {Leaf: 2, Confidence: -0.1}, {Leaf: 2, Confidence: 0.6},
		{Leaf: 2, Confidence: math.NaN()},
	} {
		if _, err := NewC45(good(), o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

// everyKind are classifiers of each kind that have learned a table.
func everyKind(t *testing.T, table *Table) []Classifier {
	t.Helper()
	z, err1 := NewZeroR(table)
	b, err2 := NewBayes(table)
	c, err3 := NewC45(table, C45Options{Leaf: 2, Confidence: 0.25})
	n, err4 := NewNeighbours(table, 5)
	f, err5 := NewClassForest(table, ForestOptions{Trees: 5, Leaf: 1, Seed: 1})
	l, err6 := NewLogistic(table, 0.1)
	s, err7 := NewSVM(table, 1)
	g, err8 := NewC45(table, C45Options{Leaf: 2, Confidence: 0.25, Impurity: Gini})
	h, err9 := NewClassForest(table, ForestOptions{Trees: 3, Leaf: 1, Seed: 1, Impurity: Gini})
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9} {
		if err != nil {
			t.Fatalf("learner %d: %v", i, err)
		}
	}
	return []Classifier{z, b, c, n, f, l, s, g, h}
}

// Who has seen one class alone says it, with certainty if the table has no other or the learner counts none that it has
// not seen; so does who has seen one example.
func TestOneClass(t *testing.T) {
	for _, rows := range []int{1, 2, 30} {
		for _, unknown := range []float64{0, 0.3, 1} {
			for _, others := range []bool{false, true} {
				table := drawn(uint64(rows), rows, 2, 2, 1, unknown, 0.3)
				if others {
					table.Classes = []string{"unseen", "seen", "unseen too"}
					for i := range table.Labels {
						table.Labels[i] = 1
					}
				}
				own := table.Labels[0]
				asked := append(drawn(3, 20, 2, 2, 1, 0.3, 0).Rows, table.Rows...)
				for _, c := range everyKind(t, table) {
					least := 1 - 1e-9
					switch c.(type) {
					case *ZeroR, *Bayes, *Neighbours: // one more of each class of the table, as Weka counts
						least = 0
					case *Logistic: // its coefficients would have to be infinite
						least = 0.999
					}
					if !others {
						least = 1 - 1e-9
					}
					for i, row := range asked {
						// What naive Bayes says of a class that it never saw stands for nothing but its prior.
						if _, naive := c.(*Bayes); naive && others && i < 20 {
							continue
						}
						if p := c.Classify(row); Best(p) != own || p[own] < least {
							t.Fatalf("%T of %d rows, %v unknown, others %v: %v of %v", c, rows, unknown, others, p, row)
						}
					}
				}
			}
		}
	}
}

// Probabilities are at least 0 and add up to 1, also of rows of which nothing is known and of tables with one class,
// one row or values that are all unknown; and equal tables make equal classifiers.
func TestProbabilities(t *testing.T) {
	one := drawn(6, 30, 2, 1, 3, 0.1, 0.3)
	for i := range one.Labels {
		one.Labels[i] = 1
	}
	blank := drawn(7, 30, 2, 2, 3, 1, 0.3)
	for name, table := range map[string]*Table{
		"one class": one, "nothing known": blank, "one row": drawn(8, 1, 2, 2, 3, 0, 0),
		"many": drawn(9, 90, 2, 2, 3, 0.3, 0.3), "more neighbours than rows": drawn(10, 3, 2, 1, 3, 0.3, 0.3),
	} {
		first, second := everyKind(t, table), everyKind(t, table)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: the classifiers of a table differ", name)
		}
		for k, c := range first {
			for _, row := range append(drawn(11, 40, 2, len(table.Features)-2, 3, 0.3, 0).Rows, blank.Rows[0]) {
				p := c.Classify(row[:len(table.Features)])
				total := 0.0
				for _, x := range p {
					total += x
					if !(x >= 0) {
						t.Fatalf("%s, %T: %v", name, first[k], p)
					}
				}
				if math.Abs(total-1) > 1e-9 {
					t.Fatalf("%s, %T: %v add up to %v", name, first[k], p, total)
				}
			}
		}
	}
}
