package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/run/quantity"
)

// chart is a drawing area with axes. Colours are classes, which the page's
// style sheet gives for light and for dark.
type chart struct {
	b             strings.Builder
	width, height float64
	left, bottom  float64 // margins
	right, top    float64
	x, y          scale
}

// scale maps values to the unit interval.
type scale struct {
	lo, hi float64
	whole  bool // only whole numbers are values
}

func (s scale) at(v float64) float64 { return (v - s.lo) / (s.hi - s.lo) }

// ticks returns about so many round values within the scale.
func (s scale) ticks(about int) []float64 {
	list := quantity.Ticks(s.lo, s.hi, about+1)
	if s.whole {
		list = slices.DeleteFunc(list, func(v float64) bool { return v != math.Trunc(v) })
	}
	return list
}

func newChart(x, y scale, title string) *chart {
	c := &chart{width: 420, height: 260, left: 52, bottom: 42, right: 12, top: 12, x: x, y: y}
	fmt.Fprintf(&c.b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, c.width, c.height,
		template.HTMLEscapeString(title))
	return c
}

func (c *chart) px(v float64) float64 { return c.left + c.x.at(v)*(c.width-c.left-c.right) }

func (c *chart) py(v float64) float64 {
	return c.height - c.bottom - c.y.at(v)*(c.height-c.bottom-c.top)
}

// axes draws both axes with their ticks and names.
func (c *chart) axes(x, y string) {
	for _, v := range c.y.ticks(5) {
		at := c.py(v)
		fmt.Fprintf(&c.b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, c.left, c.width-c.right, at,
			at)
		fmt.Fprintf(&c.b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, c.left-6, at+4, short(v))
	}
	c.xAxis(x)
	fmt.Fprintf(&c.b, `<text class="name" transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">%s</text>`,
		(c.top+c.height-c.bottom)/2, template.HTMLEscapeString(y))
}

// xAxis draws the horizontal axis with its ticks and its name.
func (c *chart) xAxis(name string) {
	base := c.height - c.bottom
	for _, v := range c.x.ticks(6) {
		at := c.px(v)
		fmt.Fprintf(&c.b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, at, at, base, base+4)
		fmt.Fprintf(&c.b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, at, base+17, short(v))
	}
	fmt.Fprintf(&c.b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, c.left, c.width-c.right,
		base, base)
	fmt.Fprintf(&c.b, `<text class="name" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (c.left+c.width-c.right)/2,
		c.height-8, template.HTMLEscapeString(name))
}

func (c *chart) end() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String()) // every text in it has been escaped
}

// short writes a number with as many digits as a reader wants.
func short(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-3 || a >= 1e6) {
		return fmt.Sprintf("%.3g", v)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.4f", round(v, 4)), "0"), ".")
}

// round keeps so many significant digits.
func round(v float64, digits int) float64 {
	if v == 0 {
		return 0
	}
	f := math.Pow(10, float64(digits-1)-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*f) / f
}
