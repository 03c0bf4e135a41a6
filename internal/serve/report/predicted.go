package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// predictedChart draws what was measured by what was predicted, both fractions of a best speed. Points that share a
// pixel are drawn once.
func predictedChart(points []Point, x, y string) template.HTML {
	c := newChart(scale{lo: 0, hi: 1}, scale{lo: 0, hi: 1.02}, "measured fractions by predicted ones")
	c.axes(x, y)
	drawn := map[[2]int]bool{}
	for _, p := range points {
		x, y := c.px(min(1, max(0, p.X))), c.py(p.Y)
		if at := [2]int{int(x), int(y)}; !drawn[at] {
			drawn[at] = true
			fmt.Fprintf(&c.b, `<circle class="trial" cx="%.0f" cy="%.0f" r="1.5"/>`, x, y)
		}
	}
	fmt.Fprintf(&c.b, `<line class="bound" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, c.px(0), c.px(1), c.py(0), c.py(1))
	return c.end()
}

// predicted are the trials that a model was asked about: the fraction that it expects, and that of the best trial's
// speed which was measured. What was refused has none.
func (k *Kernel) predicted() []Point {
	best, ok := k.Best()
	if !ok {
		return nil
	}
	var list []Point
	for _, t := range k.Trials {
		if t.Predicted == nil {
			continue
		}
		p := Point{X: *t.Predicted}
		if t.Refused == "" && t.Seconds > 0 {
			p.Y = best.Seconds / t.Seconds
		}
		list = append(list, p)
	}
	return list
}

// PredictedChart draws the trials by what a model expects of them; "" if none was asked about two of them.
func (k *Kernel) PredictedChart() template.HTML {
	list := k.predicted()
	if len(list) < 2 {
		return ""
	}
	return predictedChart(list, "predicted part of the best speed", "part of the best trial's speed")
}

// PredictedText says how well a model knew the trials.
func (k *Kernel) PredictedText() string {
	list := k.predicted()
	var x, y []float64
	best := slices.MaxFunc(list, func(a, b Point) int { return cmp.Compare(a.Y, b.Y) })
	before := 0
	for _, p := range list {
		x, y = append(x, p.X), append(y, p.Y)
		if p.X > best.X {
			before++
		}
	}
	text := fmt.Sprintf("What a model of the device expects of every trial, and what it came to. By prediction the "+
		"best is number %d of %d", before+1, len(list))
	if r := stat.Correlation(x, y, nil); !math.IsNaN(r) { // all may be alike
		text += fmt.Sprintf("; the correlation is %.2f", r)
	}
	return text + "."
}
