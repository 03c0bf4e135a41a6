package learn

import (
	"math"
	"slices"
)

// encoding makes numbers of rows, for learners that know nothing else: a feature of two words is 0 or 1, one of more
// has a number for each word, 1 where it is that word. What is unknown is the mean of the examples, or their most
// frequent word.
type encoding struct {
	Columns []column `json:"columns"`
}

// column is a number of an encoded row.
type column struct {
	Feature int     `json:"feature"`
	Word    int     `json:"word"`  // 1 where it is this one; anyValue for the feature's own value
	Usual   float64 `json:"usual"` // of the feature, where it is unknown
}

const anyValue = -1

// newEncoding makes columns of all features, or of those alone that examples differ in.
func newEncoding(t *Table, differing bool) encoding {
	var e encoding
	for j, f := range t.Features {
		usual, same := t.usual(j)
		switch {
		case differing && same:
		case len(f.Values) <= 2: // numbers, too
			e.Columns = append(e.Columns, column{j, anyValue, usual})
		default:
			for w := range f.Values {
				e.Columns = append(e.Columns, column{j, w, usual})
			}
		}
	}
	return e
}

// usual returns the mean of a feature's numbers or its first most frequent word, and whether all rows have the same.
func (t *Table) usual(j int) (usual float64, same bool) {
	counts := make([]int, len(t.Features[j].Values))
	total, known := 0.0, 0
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range t.Rows {
		v := row[j]
		if math.IsNaN(v) {
			continue
		}
		lo, hi = min(lo, v), max(hi, v)
		total += v
		known++
		if len(counts) > 0 {
			counts[int(v)]++
		}
	}
	switch {
	case known == 0:
		return 0, true
	case len(counts) > 0:
		usual = float64(slices.Index(counts, slices.Max(counts)))
	default:
		usual = total / float64(known)
	}
	return usual, lo == hi && (known == len(t.Rows) || usual == lo)
}

// row encodes a row.
func (e *encoding) row(row []float64) []float64 {
	x := make([]float64, len(e.Columns))
	for i, c := range e.Columns {
		v := row[c.Feature]
		if math.IsNaN(v) {
			v = c.Usual
		}
		if c.Word != anyValue {
			if v == float64(c.Word) {
				v = 1
			} else {
				v = 0
			}
		}
		x[i] = v
	}
	return x
}

// rows encodes the rows of a table.
func (e *encoding) rows(t *Table) [][]float64 {
	list := make([][]float64, len(t.Rows))
	for i, row := range t.Rows {
		list[i] = e.row(row)
	}
	return list
}

// scale moves and stretches the numbers of encoded rows: (x - Shift)*Factor.
type scale struct {
	Shift  []float64 `json:"shift"`
	Factor []float64 `json:"factor"`
}

// standard makes the mean of each column 0, and its deviation 1 if it has any.
func standard(rows [][]float64) scale {
	n := float64(len(rows))
	s := scale{make([]float64, len(rows[0])), make([]float64, len(rows[0]))}
	for j := range s.Shift {
		for _, x := range rows {
			s.Shift[j] += x[j] / n
		}
		v := 0.0
		for _, x := range rows {
			d := x[j] - s.Shift[j]
			v += d * d
		}
		if s.Factor[j] = 1; v > 0 && n > 1 {
			s.Factor[j] = 1 / math.Sqrt(v/(n-1))
		}
	}
	return s
}

// unit makes the least number of each column 0 and the largest 1; a column of equal numbers is 0.
func unit(rows [][]float64) scale {
	s := scale{slices.Clone(rows[0]), make([]float64, len(rows[0]))}
	for j := range s.Shift {
		hi := rows[0][j]
		for _, x := range rows {
			s.Shift[j], hi = min(s.Shift[j], x[j]), max(hi, x[j])
		}
		if hi > s.Shift[j] {
			s.Factor[j] = 1 / (hi - s.Shift[j])
		}
	}
	return s
}

// apply scales a row where it is.
func (s *scale) apply(x []float64) []float64 {
	for j := range x {
		x[j] = (x[j] - s.Shift[j]) * s.Factor[j]
	}
	return x
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
