package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/profile"
)

// The drawing of a roofline: both axes are logarithmic.
const (
	roofWidth, roofHeight = 640, 420
	roofLeft, roofBottom  = 64, 48
	roofRight, roofTop    = 16, 28
	pointRadius           = 4
)

// levelColours are those of the levels of memory, the farthest from the arithmetic first.
var levelColours = map[string]string{"dram": "#b3402a", "l2": "#c98a1b", "l1": "#3b7d4f", "shared": "#3465a4"}

// Roofline draws the roofs of a device, one for each level of memory, and each kernel at the intensities that it has
// there (Williams et al. 2009, and Rawat et al. 2019, section IV, for all levels). The drawing needs nothing beside
// itself.
func Roofline(w io.Writer, p *profile.Profile) error {
	_, err := io.WriteString(w, string(RooflineHTML(p))+"\n")
	return err
}

// roofAxes maps intensities and speeds to the drawing.
type roofAxes struct{ x0, x1, y0, y1 float64 } // decades

func (a roofAxes) px(v float64) float64 {
	return roofLeft + (math.Log10(v)-a.x0)/(a.x1-a.x0)*(roofWidth-roofLeft-roofRight)
}

func (a roofAxes) py(v float64) float64 {
	return roofHeight - roofBottom - (math.Log10(v)-a.y0)/(a.y1-a.y0)*(roofHeight-roofBottom-roofTop)
}

// RooflineHTML is the drawing as a part of a page; "" if nothing of the device is known.
func RooflineHTML(p *profile.Profile) template.HTML {
	if len(p.Roof.Peaks) == 0 || len(p.Roof.Levels) == 0 {
		return `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="40"><text x="8" y="24">nothing was measured` +
			` of the device</text></svg>`
	}
	a := axesOf(p)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="roofline of %s" `+
		`font-family="sans-serif" font-size="11">`+"\n", roofWidth, roofHeight, template.HTMLEscapeString(p.Program))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", roofWidth, roofHeight)
	line := func(x1, y1, x2, y2 float64, style string) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x1, y1, x2, y2, style)
	}
	text := func(x, y float64, style, words string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, style, template.HTMLEscapeString(words))
	}
	const grid = `stroke="#dddddd"`
	for d := math.Ceil(a.x0); d <= a.x1; d++ {
		x := a.px(math.Pow(10, d))
		line(x, roofTop, x, roofHeight-roofBottom, grid)
		text(x, roofHeight-roofBottom+16, `text-anchor="middle"`, short(math.Pow(10, d)))
	}
	for d := math.Ceil(a.y0); d <= a.y1; d++ {
		y := a.py(math.Pow(10, d))
		line(roofLeft, y, roofWidth-roofRight, y, grid)
		text(roofLeft-6, y+4, `text-anchor="end"`, short(math.Pow(10, d)))
	}
	text((roofLeft+roofWidth)/2, roofHeight-8, `text-anchor="middle"`, "flops a byte")
	fmt.Fprintf(&b, `<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">Gflop/s</text>`+"\n", roofHeight/2)
	a.roofs(p, line, text)
	for i, k := range p.Kernels {
		for _, l := range k.Levels {
			colour := levelColours[l.Level]
			if l.Intensity <= 0 || k.Seconds <= 0 || colour == "" {
				continue
			}
			speed := k.Flops / k.Seconds / 1e9
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="%d" fill="%s"><title>%s</title></circle>`+"\n",
				a.px(l.Intensity), a.py(speed), pointRadius, colour,
				template.HTMLEscapeString(fmt.Sprintf("%s at %s: %s flops a byte, %s Gflop/s; %s", k.Name, l.Level,
					short(round(l.Intensity, 3)), short(round(speed, 3)), k.Class)))
			text(a.px(l.Intensity)+6, a.py(speed)-4, `fill="#444444"`, fmt.Sprint(i+1))
		}
	}
	for i, k := range p.Kernels {
		text(roofLeft+6, roofTop+14*float64(i+1), `fill="#444444"`, fmt.Sprintf("%d %s: %s", i+1, k.Name, k.Class))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text in it has been escaped
}

// roofs draws a line for each bandwidth up to its ridge, and one for each peak.
func (a roofAxes) roofs(p *profile.Profile, line func(x1, y1, x2, y2 float64, style string),
	text func(x, y float64, style, words string)) {
	most := 0.0
	for _, peak := range p.Roof.Peaks {
		most = max(most, peak.GFlops)
		right := math.Pow(10, a.x1)
		left := right
		for _, s := range p.Roof.Levels {
			left = min(left, peak.GFlops/s.GBs)
		}
		line(a.px(max(left, math.Pow(10, a.x0))), a.py(peak.GFlops), a.px(right), a.py(peak.GFlops),
			`stroke="#222222" stroke-width="1.5"`)
		text(roofWidth-roofRight, a.py(peak.GFlops)-5, `text-anchor="end"`, "arithmetic, "+peak.Type)
	}
	for _, s := range p.Roof.Levels {
		left := max(math.Pow(10, a.x0), math.Pow(10, a.y0)/s.GBs)
		ridge := most / s.GBs
		colour := levelColours[s.Level]
		line(a.px(left), a.py(left*s.GBs), a.px(ridge), a.py(most), fmt.Sprintf(`stroke="%s" stroke-width="1.5"`, colour))
		text(a.px(left)+4, a.py(left*s.GBs)-4, fmt.Sprintf(`fill="%s"`, colour), s.Level)
	}
}

// axesOf chooses decades that hold all ridges and all kernels.
func axesOf(p *profile.Profile) roofAxes {
	x0, x1, y0, y1 := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	see := func(x, y float64) {
		if x > 0 {
			x0, x1 = min(x0, math.Log10(x)), max(x1, math.Log10(x))
		}
		if y > 0 {
			y0, y1 = min(y0, math.Log10(y)), max(y1, math.Log10(y))
		}
	}
	for _, peak := range p.Roof.Peaks {
		for _, s := range p.Roof.Levels {
			see(peak.GFlops/s.GBs, peak.GFlops)
		}
	}
	for _, k := range p.Kernels {
		for _, l := range k.Levels {
			if k.Seconds > 0 {
				see(l.Intensity, k.Flops/k.Seconds/1e9)
			}
		}
	}
	return roofAxes{math.Floor(x0 - 0.5), math.Ceil(x1 + 0.3), math.Floor(y0 - 0.3), math.Ceil(y1 + 0.2)}
}
