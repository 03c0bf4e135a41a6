package learn

import (
	"errors"
	"math"
)

// SVM are linear support vector machines, one for each two classes: the plane between them with the widest margin.
// A class is as likely as the share of planes on whose side of it a row is (J. Platt, "Fast training of support vector
// machines using sequential minimal optimization", 1998; the pair of examples to be changed is that which violates the
// conditions most, S. S. Keerthi et al., Neural Computation 13(3), 2001).
type SVM struct {
	Encoding encoding `json:"encoding"`
	Scale    scale    `json:"scale"`
	Classes  int      `json:"classes"`
	Planes   []plane  `json:"planes"`
	Only     int      `json:"only,omitempty"` // the class of all examples, if there are no planes
}

// plane is between two classes: rows for which Normal*x > Offset are of the second.
type plane struct {
	First  int       `json:"first"`
	Second int       `json:"second"`
	Normal []float64 `json:"normal"`
	Offset float64   `json:"offset"`
}

// NewSVM finds the planes. A row on the wrong side of its margin costs c times how far it is. Examples of one class
// have no plane between them: then every row is of that class.
func NewSVM(t *Table, c float64) (*SVM, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if !(c > 0) || math.IsInf(c, 0) {
		return nil, errors.New("the cost of rows on the wrong side has to be above 0")
	}
	m := &SVM{Encoding: newEncoding(t, false), Classes: len(t.Classes)}
	rows := m.Encoding.rows(t)
	m.Scale = unit(rows)
	members := make([][][]float64, len(t.Classes))
	for i, x := range rows {
		members[t.Labels[i]] = append(members[t.Labels[i]], m.Scale.apply(x))
	}
	for second := range t.Classes {
		for first := range second {
			if len(members[first]) > 0 && len(members[second]) > 0 {
				normal, offset := widest(members[first], members[second], c)
				m.Planes = append(m.Planes, plane{first, second, normal, offset})
			}
		}
	}
	if len(m.Planes) == 0 {
		m.Only = t.Labels[0]
	}
	return m, nil
}

// Classify returns the share of planes that each class won.
func (m *SVM) Classify(row []float64) []float64 {
	x := m.Scale.apply(m.Encoding.row(row))
	won := make([]float64, m.Classes)
	if len(m.Planes) == 0 {
		won[m.Only] = 1
	}
	for _, p := range m.Planes {
		if dot(p.Normal, x) > p.Offset {
			won[p.Second]++
		} else {
			won[p.First]++
		}
	}
	normalize(won)
	return won
}

const (
	mostMarginSteps = 1_000_000
	marginTolerance = 1e-6 // by how much conditions may be violated
)

// widest finds the plane with the widest margin between two sets of rows.
func widest(first, second [][]float64, c float64) (normal []float64, offset float64) {
	rows := append(append([][]float64{}, first...), second...)
	side := make([]float64, len(rows)) // -1 and 1
	for i := range rows {
		side[i] = -1
		if i >= len(first) {
			side[i] = 1
		}
	}
	normal = make([]float64, len(rows[0]))
	multiplier := make([]float64, len(rows))
	room := func(i int, toward float64) float64 { // of a multiplier, to the limit on that side
		if toward > 0 {
			return c - multiplier[i]
		}
		return multiplier[i]
	}
	for range mostMarginSteps {
		// Each row says where the plane would have to be for it to be on its margin: no more than the least of those
		// that can move one way, no less than the largest of those that can move the other.
		up, low := -1, -1
		var most, least float64
		for i, x := range rows {
			at := dot(normal, x) - side[i]
			if multiplier[i] < c && side[i] > 0 || multiplier[i] > 0 && side[i] < 0 {
				if up < 0 || at < least {
					up, least = i, at
				}
			}
			if multiplier[i] < c && side[i] < 0 || multiplier[i] > 0 && side[i] > 0 {
				if low < 0 || at > most {
					low, most = i, at
				}
			}
		}
		offset = (least + most) / 2
		if !(most-least >= marginTolerance) { // or numbers that are none
			break
		}
		curve := 0.0
		for j := range normal {
			d := rows[up][j] - rows[low][j]
			curve += d * d
		}
		step := min((most-least)/max(curve, 1e-12), room(up, side[up]), room(low, -side[low]))
		multiplier[up] = within(multiplier[up]+side[up]*step, c)
		multiplier[low] = within(multiplier[low]-side[low]*step, c)
		for j := range normal {
			normal[j] += step * (rows[up][j] - rows[low][j])
		}
	}
	return normal, offset
}

// within is a number from 0 to a limit, without what rounding leaves beyond it or just before.
func within(x, limit float64) float64 {
	const rounding = 1e-12
	switch {
	case x < rounding*limit:
		return 0
	case x > (1-rounding)*limit:
		return limit
	}
	return x
}
