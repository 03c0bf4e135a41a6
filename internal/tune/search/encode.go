package search

import (
	"math"
	"slices"
)

// encoder turns points into rows of features for trees, which use only the order of a feature. A number is its
// rank, a word has one feature for each value, and what does not exist is 0. Resources follow products, so these
// are features, too: of the numbers of a parameter (the threads of a block), of those that act on an axis (the
// cells of a tile), and of all.
type encoder struct {
	params   []Param
	products [][]int // coordinates that are multiplied
	logs     [][]float64
	width    int // features of a row
	estimate func(Point) (float64, bool)
	middle   float64 // the first estimate; neighbouring bins differ by 10 %
}

// bins is the number of values of a feature.
const bins = 64

func newEncoder(p Problem) *encoder {
	e := &encoder{params: p.Space.Params(), estimate: p.Estimate}
	groups := map[string][]int{}
	var names []string
	group := func(name string, i int) {
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], i)
	}
	for i := range e.params {
		x := &e.params[i]
		var logs []float64
		if !x.number() {
			e.width += max(len(x.Values)-1, 1)
		} else {
			e.width++
			for _, v := range x.Values {
				logs = append(logs, math.Log2(float64(max(v.Ints()[0], 1))))
			}
			if x.Axis != "" {
				group("of "+x.Of, i)
				group("on "+x.Axis, i)
				group("all", i)
			}
		}
		e.logs = append(e.logs, logs)
	}
	for _, name := range names {
		g := groups[name]
		if len(g) > 1 && !slices.ContainsFunc(e.products, func(h []int) bool { return slices.Equal(g, h) }) {
			e.products = append(e.products, g)
		}
	}
	e.width += len(e.products)
	if e.estimate != nil {
		e.width++
	}
	return e
}

// row returns the features of a point; false if its estimate defers it.
func (e *encoder) row(p Point) ([]uint8, bool) {
	row := make([]uint8, 0, e.width)
	for i := range e.params {
		x := &e.params[i]
		switch {
		case x.number():
			row = append(row, bin(float64(p[i]+1)))
		case len(x.Values) == 1:
			row = append(row, bin(float64(p[i]+1)))
		default:
			// The last word needs no feature: it is where all others are 1.
			for v := range x.Values[:len(x.Values)-1] {
				switch p[i] {
				case v:
					row = append(row, 2)
				case Absent:
					row = append(row, 0)
				default:
					row = append(row, 1)
				}
			}
		}
	}
	for _, g := range e.products {
		sum := 0.0
		for _, i := range g {
			if p[i] >= 0 {
				sum += e.logs[i][p[i]]
			}
		}
		row = append(row, bin(1+2*sum))
	}
	if e.estimate == nil {
		return row, true
	}
	t, ok := e.estimate(p)
	if !ok || !(t > 0) {
		return append(row, bins-1), ok
	}
	if e.middle == 0 {
		e.middle = t
	}
	return append(row, bin(bins/2+math.Log(t/e.middle)/math.Log(1.1))), true
}

// bin rounds and clips a feature.
func bin(x float64) uint8 { return uint8(min(max(math.Round(x), 0), bins-1)) }
