package learn

import (
	"bufio"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var wekaTables = flag.Bool("weka-tables", false, "write the tables for testdata/weka.sh anew")

// tables are what Weka was asked about: of numbers alone; of numbers and words, with unknown values; of words alone;
// and one without anything to learn.
func tables() map[string]*Table {
	return map[string]*Table{
		"numbers": drawn(1, 240, 5, 0, 3, 0, 0.1),
		"mixed":   drawn(2, 300, 3, 3, 4, 0.06, 0.15),
		"words":   drawn(3, 260, 0, 6, 3, 0.02, 0.1),
		"noise":   drawn(4, 150, 3, 2, 2, 0, 1),
	}
}

// TestWeka: every probability is what Weka 3.6.14 says, of the third of each table that was not learned from.
func TestWeka(t *testing.T) {
	if *wekaTables {
		for name, table := range tables() {
			var learned, asked []int
			for i := range table.Rows {
				if i%3 == 2 {
					asked = append(asked, i)
				} else {
					learned = append(learned, i)
				}
			}
			for part, rows := range map[string][]int{"learned": learned, "asked": asked} {
				if err := table.writeARFF(filepath.Join("testdata", name+"-"+part+".arff"), rows); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	learners := []struct {
		name string
		make func(*Table) (Classifier, error)
	}{
		{"ZeroR", func(t *Table) (Classifier, error) { return NewZeroR(t) }},
		{"NaiveBayes", func(t *Table) (Classifier, error) { return NewBayes(t) }},
		{"J48", func(t *Table) (Classifier, error) { return NewC45(t, C45Options{Leaf: 2, Confidence: 0.25}) }},
		{"J48-C0.1-M5", func(t *Table) (Classifier, error) { return NewC45(t, C45Options{Leaf: 5, Confidence: 0.1}) }},
		{"J48-U", func(t *Table) (Classifier, error) { return NewC45(t, C45Options{Leaf: 2, Confidence: 0}) }},
		{"IBk1", func(t *Table) (Classifier, error) { return NewNeighbours(t, 1) }},
		{"IBk5", func(t *Table) (Classifier, error) { return NewNeighbours(t, 5) }},
	}
	for _, name := range []string{"numbers", "mixed", "words", "noise", "iris"} {
		learned, asked := readARFF(t, name+"-learned.arff"), readARFF(t, name+"-asked.arff")
		for _, l := range learners {
			t.Run(name+" "+l.name, func(t *testing.T) {
				c, err := l.make(learned)
				if err != nil {
					t.Fatal(err)
				}
				want := answers(t, name+"-"+l.name+".txt")
				if len(want) != len(asked.Rows) {
					t.Fatalf("%d answers to %d rows", len(want), len(asked.Rows))
				}
				wrong := 0
				for i, row := range asked.Rows {
					got := c.Classify(row)
					for k, p := range got {
						if math.Abs(p-want[i][k]) > 0.0006 { // of three digits, cut or rounded
							t.Logf("row %d: %.4f, not %.3f", i, got, want[i])
							wrong++
							break
						}
					}
				}
				if wrong > 0 {
					t.Errorf("%d of %d rows differ", wrong, len(asked.Rows))
				}
			})
		}
	}
}

// answers reads the probabilities of rows.
func answers(t *testing.T, name string) [][]float64 {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list [][]float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p []float64
		for w := range strings.SplitSeq(lines.Text(), ",") {
			x, err := strconv.ParseFloat(w, 64)
			if err != nil {
				t.Fatal(err)
			}
			p = append(p, x)
		}
		list = append(list, p)
	}
	return list
}
