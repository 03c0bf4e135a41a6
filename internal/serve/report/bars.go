package report

import (
	"html/template"

	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Bar is how many times as fast as the base a plan is, for a drawing: all
// lengths are percents of the widest.
type Bar struct {
	Name, Text       string
	Length, Low, Gap float64 // Gap is between the two ends of the interval
	Best, Base       bool
}

// Bars are those of all plans, with the place of the base's speed.
type Bars struct {
	List []Bar
	One  float64
}

// barsOf draws the contenders.
func barsOf(r *tuner.Result) Bars {
	base := r.Base()
	if base == nil {
		return Bars{}
	}
	widest := 0.0
	for i := range r.Contenders {
		g := &r.Contenders[i].Gain
		widest = max(widest, g.Ratio*1.02, min(g.Interval[1], 1.5*g.Ratio)) // an interval of few rounds may be wide
	}
	part := func(v float64) float64 { return round(100*min(v/widest, 1), 4) }
	b := Bars{One: part(1)}
	for i := range r.Contenders {
		c := &r.Contenders[i]
		x := Bar{Name: r.Label(c), Text: ratio(c.Gain.Ratio), Length: part(c.Gain.Ratio), Best: r.Label(c) != c.Name,
			Base: c.Name == base.Name}
		if !x.Base {
			x.Low = part(c.Gain.Interval[0])
			x.Gap = round(part(c.Gain.Interval[1])-x.Low, 4)
		}
		b.List = append(b.List, x)
	}
	return b
}

// Style places a bar.
func (b Bar) Style() template.CSS { return css("width", b.Length) }

// Whisker places the interval.
func (b Bar) Whisker() template.CSS { return css("left", b.Low) + css("width", b.Gap) }

// Style places the line at the base's speed.
func (b Bars) Style() template.CSS { return css("left", b.One) }

func css(property string, percent float64) template.CSS {
	return template.CSS(property + ":" + short(percent) + "%;")
}
