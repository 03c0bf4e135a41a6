package learn

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// wekaForests reads what 20 seeds of Weka's random forest were right about, and how sure they were.
func wekaForests(t *testing.T, table string) (right, sure []float64) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", table+"-RandomForest.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r, s float64
		if _, err := fmt.Sscan(lines.Text(), &r, &s); err != nil {
			t.Fatal(err)
		}
		right, sure = append(right, r), append(sure, s)
	}
	if len(right) != 20 {
		t.Fatalf("%s: %d seeds", table, len(right))
	}
	return right, sure
}

func extent(list []float64) (lo, mean, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range list {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, sum(list) / float64(len(list)), hi
}

// The mean of 20 forests lies within what 20 seeds of Weka's gave, and the mean of those within what ours give: in how
// many rows are right, and in the probability of a row's own class.
func TestWekaForests(t *testing.T) {
	for _, name := range []string{"numbers", "mixed", "words", "noise", "iris"} {
		learned, asked := readARFF(t, name+"-learned.arff"), readARFF(t, name+"-asked.arff")
		var right, sure []float64
		for seed := range uint64(20) {
			f, err := NewClassForest(learned, ForestOptions{Trees: 10, Leaf: 1, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			r, s := 0.0, 0.0
			for i, row := range asked.Rows {
				p := f.Classify(row)
				if Best(p) == asked.Labels[i] {
					r++
				}
				s += p[asked.Labels[i]] / float64(len(asked.Rows))
			}
			right, sure = append(right, r), append(sure, s)
		}
		theirRight, theirSure := wekaForests(t, name)
		for what, lists := range map[string][2][]float64{"right": {right, theirRight}, "sure": {sure, theirSure}} {
			lo, mean, hi := extent(lists[0])
			theirLo, theirMean, theirHi := extent(lists[1])
			t.Logf("%s, %s: %.4f to %.4f, mean %.4f; Weka's %.4f to %.4f, mean %.4f", name, what, lo, hi, mean, theirLo,
				theirHi, theirMean)
			if mean < theirLo || mean > theirHi || theirMean < lo || theirMean > hi {
				t.Errorf("%s, %s: unlike Weka's", name, what)
			}
		}
	}
}

// Equal options grow equal forests, and others other ones; what they say are probabilities.
func TestClassForests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := someTable(t)
		o := ForestOptions{Trees: 3, Leaf: rapid.IntRange(1, 4).Draw(t, "leaf"), Seed: 5}
		f, err := NewClassForest(table, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := NewClassForest(table, o)
		if err != nil || !reflect.DeepEqual(f, again) {
			t.Fatalf("another forest, %v", err)
		}
		for _, row := range table.Rows {
			p := f.Classify(row)
			for _, x := range p {
				if !(x >= 0 && x <= 1+1e-9) {
					t.Fatalf("%v", p)
				}
			}
			if math.Abs(sum(p)-1) > 1e-9 {
				t.Fatalf("%v", p)
			}
		}
	})
}

// A forest has learned what one question tells, looks for it beyond the features that it drew first, and says what it
// can of rows that do not answer.
func TestClassForestQuestions(t *testing.T) {
	table := &Table{
		Features: []Feature{{Name: "same"}, {Name: "never"}, {Name: "word", Values: []string{"a", "b", "c"}}},
		Classes:  []string{"no", "yes"},
	}
	for i := range 40 {
		word := i % 2
		table.Rows = append(table.Rows, []float64{1, math.NaN(), float64(word)})
		table.Labels = append(table.Labels, word)
	}
	f, err := NewClassForest(table, ForestOptions{Trees: 7, Features: 1, Leaf: 1, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[float64][]float64{0: {1, 0}, 1: {0, 1}} {
		if p := f.Classify([]float64{1, math.NaN(), word}); !reflect.DeepEqual(nineDigits(p), want) {
			t.Errorf("%v says %v", word, p)
		}
	}
	for _, word := range []float64{2, math.NaN()} { // no example had it; it is unknown
		if p := f.Classify([]float64{1, math.NaN(), word}); p[0] < 0.3 || p[0] > 0.7 {
			t.Errorf("%v says %v", word, p)
		}
	}
	for _, o := range []ForestOptions{{}, {Trees: 1}, {Trees: -1, Leaf: 1}, {Trees: 1, Leaf: 1, Features: -1}} {
		if _, err := NewClassForest(table, o); err == nil {
			t.Errorf("%+v", o)
		}
	}
	if _, err := NewClassForest(&Table{}, ForestOptions{Trees: 1, Leaf: 1}); err == nil {
		t.Error("a forest of nothing")
	}
}

func nineDigits(p []float64) []float64 {
	list := make([]float64, len(p))
	for i, x := range p {
		list[i] = math.Round(x*1e9) / 1e9
	}
	return list
}
