package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/gridloom/gridloom/internal/run/quantity"
)

// Convergence draws every trial at the time at which it ended and the best
// until then; "" if nothing ran.
func (k *Kernel) Convergence() template.HTML {
	good := k.good()
	if len(good) == 0 {
		return ""
	}
	best := Speed(k.Points, good[0].Seconds)
	worst := best
	for _, t := range good {
		v := Speed(k.Points, t.Seconds)
		best, worst = max(best, v), min(worst, v)
	}
	top := best
	if k.Bound > 0 {
		top = max(top, Speed(k.Points, k.Bound))
	}
	end := max(good[len(good)-1].At, k.Trials[len(k.Trials)-1].At, 1e-3)
	c := newChart(scale{lo: 0, hi: end}, scale{lo: min(0, worst), hi: top * 1.05},
		"speed of every trial over time, and the best so far")
	c.axes("seconds since the start", "GStencil/s")
	if k.Bound > 0 {
		at := c.py(Speed(k.Points, k.Bound))
		fmt.Fprintf(&c.b,
			`<line class="bound" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">copy bound</text>`,
			c.left, c.width-c.right, at, at, c.width-c.right, at-4)
	}
	// A long search has more trials than a page has room for: those that share
	// a pixel are drawn once.
	type pixel struct{ x, y int }
	drawn := map[pixel]bool{}
	for i := range good {
		x, y := c.px(good[i].At), c.py(Speed(k.Points, good[i].Seconds))
		if p := (pixel{int(x), int(y)}); !drawn[p] {
			drawn[p] = true
			fmt.Fprintf(&c.b,
				`<circle class="trial" cx="%.1f" cy="%.1f" r="2"><title>%s: %s GStencil/s</title></circle>`,
				x, y, template.HTMLEscapeString(good[i].Config), short(round(Speed(k.Points, good[i].Seconds), 4)))
		}
	}
	path, so := "", math.Inf(1)
	for _, t := range good {
		if t.Seconds >= so {
			continue
		}
		x, y := c.px(t.At), c.py(Speed(k.Points, t.Seconds))
		if path == "" {
			path = fmt.Sprintf("M%.1f %.1f", x, y)
		} else {
			path += fmt.Sprintf("H%.1fV%.1f", x, y)
		}
		so = t.Seconds
	}
	fmt.Fprintf(&c.b, `<path class="best" d="%sH%.1f"/>`, path, c.px(end))
	return c.end()
}

// Distribution draws how many trials had which speed, relative to the best;
// "" if fewer than two ran.
func (k *Kernel) Distribution() template.HTML {
	good := k.good()
	if len(good) < 2 {
		return ""
	}
	const bins = 25
	best, _ := k.Best()
	var counts [bins]int
	most := 0
	for _, t := range good {
		at := min(int(best.Seconds/t.Seconds*bins), bins-1)
		counts[at]++
		most = max(most, counts[at])
	}
	c := newChart(scale{lo: 0, hi: 1}, scale{lo: 0, hi: float64(most) * 1.05, whole: true},
		"how many trials reached which part of the best speed")
	c.axes("part of the best speed", "trials")
	for i, n := range counts {
		if n == 0 {
			continue
		}
		x0, x1, y := c.px(float64(i)/bins), c.px(float64(i+1)/bins), c.py(float64(n))
		fmt.Fprintf(&c.b,
			`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s between %s and %s</title></rect>`,
			x0+1, y, x1-x0-2, c.py(0)-y, quantity.Count(n, "trial"), short(float64(i)/bins), short(float64(i+1)/bins))
	}
	return c.end()
}
