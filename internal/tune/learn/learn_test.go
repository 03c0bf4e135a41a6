package learn

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// readARFF reads a table as Weka writes it; the last attribute is the class.
func readARFF(t *testing.T, name string) *Table {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := &Table{}
	var all []Feature
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "%") || strings.HasPrefix(line, "@relation") || line == "@data":
		case strings.HasPrefix(line, "@attribute "):
			name, kind, _ := strings.Cut(strings.TrimPrefix(line, "@attribute "), " ")
			x := Feature{Name: name}
			if kind != "numeric" {
				x.Values = strings.Split(strings.Trim(kind, "{}"), ",")
			}
			all = append(all, x)
			table.Features, table.Classes = all[:len(all)-1], x.Values
		default:
			words := strings.Split(line, ",")
			if len(words) != len(all) {
				t.Fatalf("%s: %s", name, line)
			}
			row := make([]float64, len(words))
			for j, w := range words {
				row[j] = valueOf(t, &all[j], w)
			}
			last := len(row) - 1
			table.Rows, table.Labels = append(table.Rows, row[:last]), append(table.Labels, int(row[last]))
		}
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
	return table
}

func valueOf(t *testing.T, f *Feature, word string) float64 {
	t.Helper()
	if word == "?" {
		return math.NaN()
	}
	if f.Values == nil {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for i, v := range f.Values {
		if v == word {
			return float64(i)
		}
	}
	t.Fatalf("%s has no value %s", f.Name, word)
	return 0
}

// writeARFF writes rows of a table for Weka.
func (t *Table) writeARFF(path string, rows []int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "@relation %s\n", strings.TrimSuffix(filepath.Base(path), ".arff"))
	for _, f := range append(t.Features[:len(t.Features):len(t.Features)], Feature{"class", t.Classes}) {
		kind := "numeric"
		if f.Values != nil {
			kind = "{" + strings.Join(f.Values, ",") + "}"
		}
		fmt.Fprintf(&b, "@attribute %s %s\n", f.Name, kind)
	}
	b.WriteString("@data\n")
	for _, i := range rows {
		for j, x := range t.Rows[i] {
			switch {
			case math.IsNaN(x):
				b.WriteString("?,")
			case t.Features[j].Values != nil:
				b.WriteString(t.Features[j].Values[int(x)] + ",")
			default:
				b.WriteString(strconv.FormatFloat(x, 'g', -1, 64) + ",")
			}
		}
		b.WriteString(t.Classes[t.Labels[i]] + "\n")
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// drawn is a table of a kind: classes are where numbers and words lead, with noise.
func drawn(seed uint64, rows, numbers, words, classes int, unknown, noise float64) *Table {
	r := rand.New(rand.NewPCG(seed, 7))
	t := &Table{}
	for j := range numbers {
		t.Features = append(t.Features, Feature{Name: fmt.Sprintf("x%d", j)})
	}
	for j := range words {
		f := Feature{Name: fmt.Sprintf("w%d", j)}
		for v := range 2 + j%4 {
			f.Values = append(f.Values, fmt.Sprintf("v%d", v))
		}
		t.Features = append(t.Features, f)
	}
	for c := range classes {
		t.Classes = append(t.Classes, fmt.Sprintf("c%d", c))
	}
	for range rows {
		row := make([]float64, numbers+words)
		score := 0.0
		for j := range row {
			if v := t.Features[j].Values; v != nil {
				row[j] = float64(r.IntN(len(v)))
				score += row[j] * float64(1+j%3)
			} else {
				// There are ties, and ends that are learned: Weka widens ranges by the rows that it is asked about.
				row[j] = math.Round(min(max(r.NormFloat64(), -1.5), 1.5)*100*float64(j+1)) / 100
				if row[j] > 0.3*float64(j) {
					score += float64(1 + j%2)
				}
			}
			if r.Float64() < unknown {
				row[j] = math.NaN()
			}
		}
		label := int(score) % classes
		if r.Float64() < noise {
			label = r.IntN(classes)
		}
		t.Rows, t.Labels = append(t.Rows, row), append(t.Labels, label)
	}
	return t
}
