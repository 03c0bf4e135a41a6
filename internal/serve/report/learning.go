package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

//go:embed learning.html
var learningText string

var learningPage = template.Must(template.New("learning").Parse(styleText + learningText))

// Learning is how well models predict for stencils that they have not learned from, as pictures. Fractions are of the
// best speed that was recorded of a kernel.
type Learning struct {
	Device   string
	Kernels  int
	Stencils int
	// Predicted has a point for each candidate: the fraction that was predicted, and that was measured.
	Predicted []Point
	// Runs are the parts of all kernels of which a model has a candidate near the best, by the number of runs.
	Runs []Line
	// Importance is by how much the squared error rises without a feature, as a part of the variance: the largest
	// first.
	Importance []Named
	// Forms are named; Chosen counts kernels by their best form and the one that was chosen.
	Forms  []string
	Chosen [][]int
	// Curve are the fractions of first picks, by the number of kernels that were learned from.
	Curve []Line
	Maker string
}

// Point is a point of a drawing. Low and High are the ends of an interval of Y; there is none if they are equal.
type Point struct{ X, Y, Low, High float64 }

// Line is a line of a drawing.
type Line struct {
	Name   string
	Points []Point
}

// Named is a number with a name; Low and High are as those of a point.
type Named struct {
	Name             string
	Value, Low, High float64
}

// WriteLearning writes the page. It needs nothing beside itself.
func WriteLearning(w io.Writer, l *Learning) error {
	screen := diag.NewScreen(w)
	if err := learningPage.Execute(screen, l); err != nil {
		return err
	}
	return screen.Close()
}

// PredictedChart draws each candidate.
func (l *Learning) PredictedChart() template.HTML {
	return predictedChart(l.Predicted, "predicted fraction of the best speed", "measured fraction")
}

// mostRunsDrawn is where the drawing of runs ends: what comes later is in the data.
const mostRunsDrawn = 20

// RunsChart draws the part of kernels that are near the best after so many runs.
func (l *Learning) RunsChart() template.HTML {
	c := newChart(scale{lo: 0, hi: mostRunsDrawn, whole: true}, scale{lo: 0, hi: 1.02},
		"part of kernels with a candidate near the best, by runs")
	c.axes("candidates run", "part of the kernels")
	for i, line := range l.Runs {
		points := line.Points
		for k := range points {
			if points[k].X > mostRunsDrawn {
				points = points[:k]
				break
			}
		}
		c.line(i, points)
	}
	c.legend(l.Runs)
	return c.end()
}

// CurveChart draws the first picks by the number of kernels.
func (l *Learning) CurveChart() template.HTML {
	most := 1.0
	for _, line := range l.Curve {
		for _, p := range line.Points {
			most = max(most, p.X)
		}
	}
	c := newChart(scale{lo: 0, hi: most * 1.05, whole: true}, scale{lo: 0, hi: 1.02},
		"fraction of first picks by kernels that were learned from")
	c.axes("kernels learned from", "first pick's fraction")
	for i, line := range l.Curve {
		c.line(i, line.Points)
		for _, p := range line.Points {
			if p.Low < p.High {
				c.whisker(i, c.px(p.X), c.py(p.Low), c.px(p.X), c.py(p.High))
			}
		}
	}
	c.legend(l.Curve)
	return c.end()
}

// mostImportant is how many features are drawn.
const mostImportant = 15

// ImportanceChart draws the most important features.
func (l *Learning) ImportanceChart() template.HTML {
	list := l.Importance[:min(mostImportant, len(l.Importance))]
	most := 1e-3
	for _, f := range list {
		most = max(most, f.Value, f.High)
	}
	c := newChart(scale{lo: 0, hi: most * 1.02}, scale{lo: float64(max(1, len(list))), hi: 0}, "importance of features")
	c.left = 168
	c.xAxis("rise of the squared error, of the variance")
	for i, f := range list {
		top, bottom, x := c.py(float64(i)), c.py(float64(i+1)), c.px(max(0, f.Value))
		fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, c.left-6, (top+bottom)/2+4,
			template.HTMLEscapeString(f.Name))
		fmt.Fprintf(&c.b,
			`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`,
			c.left, top+2, x-c.left, bottom-top-4, short(round(f.Value, 3)))
		if f.Low < f.High {
			c.whisker(1, c.px(max(0, f.Low)), (top+bottom)/2, c.px(max(0, f.High)), (top+bottom)/2)
		}
	}
	return c.end()
}

// FormsChart draws how often each form was chosen where a form was the best; "" if none was.
func (l *Learning) FormsChart() template.HTML {
	n := len(l.Forms)
	if n == 0 {
		return ""
	}
	c := newChart(scale{lo: 0, hi: float64(n)}, scale{lo: float64(n), hi: 0}, "chosen forms, by the best form")
	c.left, c.bottom = 208, 40
	for i, row := range l.Chosen {
		all := 0
		for _, k := range row {
			all += k
		}
		top, bottom := c.py(float64(i)), c.py(float64(i+1))
		fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f" text-anchor="end">%s %d</text>`, c.left-6, (top+bottom)/2+4,
			template.HTMLEscapeString(l.Forms[i]), i+1)
		for k, times := range row {
			x, right := c.px(float64(k)), c.px(float64(k+1))
			fmt.Fprintf(&c.b, `<rect class="cell" x="%.1f" y="%.1f" width="%.1f" height="%.1f" opacity="%.2f"/>`, x+1,
				top+1, right-x-2, bottom-top-2, 0.06+0.6*float64(times)/float64(max(1, all)))
			if times > 0 {
				fmt.Fprintf(&c.b, `<text class="name" x="%.1f" y="%.1f" text-anchor="middle">%d</text>`, (x+right)/2,
					(top+bottom)/2+4, times)
			}
		}
		fmt.Fprintf(&c.b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%d</text>`, c.px(float64(i)+0.5),
			c.height-c.bottom+15, i+1)
	}
	fmt.Fprintf(&c.b, `<text class="name" x="%.1f" y="%.1f" text-anchor="middle">chosen form</text>`,
		(c.left+c.width-c.right)/2, c.height-8)
	return c.end()
}

// colours is how many lines look different.
const colours = 4

// line draws a line through points.
func (c *chart) line(colour int, points []Point) {
	var path strings.Builder
	for i, p := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], c.px(p.X), c.py(p.Y))
	}
	fmt.Fprintf(&c.b, `<path class="line line%d" d="%s"/>`, colour%colours, path.String())
}

// whisker draws an interval.
func (c *chart) whisker(colour int, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.b, `<line class="line%d" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, colour%colours, x1, y1, x2, y2)
}

// legend names the lines, at the lower right, where lines that rise leave room.
func (c *chart) legend(lines []Line) {
	for i, line := range lines {
		y := c.height - c.bottom - 12 - 16*float64(len(lines)-1-i)
		x := c.width - c.right - 90
		c.whisker(i, x, y-4, x+18, y-4)
		fmt.Fprintf(&c.b, `<text x="%.1f" y="%.1f">%s</text>`, x+24, y, template.HTMLEscapeString(line.Name))
	}
}

// first is what a line begins with; NaN of an empty one.
func (l Line) first() float64 {
	if len(l.Points) == 0 {
		return math.NaN()
	}
	return l.Points[0].Y
}

// last is what a line ends with; NaN of an empty one.
func (l Line) last() float64 {
	if len(l.Points) == 0 {
		return math.NaN()
	}
	return l.Points[len(l.Points)-1].Y
}

// sentence says something of each line.
func sentence(lines []Line, of func(Line) string) string {
	var parts []string
	for _, line := range lines {
		parts = append(parts, line.Name+" "+of(line))
	}
	return strings.Join(parts, ", ")
}

// RunsSays sums up the drawing of runs.
func (l *Learning) RunsSays() string {
	return "The first run is enough for these parts of the kernels: " + sentence(l.Runs, func(line Line) string {
		return fmt.Sprintf("%.2f", line.first())
	}) + "."
}

// CurveSays sums up the learning curve.
func (l *Learning) CurveSays() string {
	return "From the fewest kernels to all: " + sentence(l.Curve, func(line Line) string {
		return fmt.Sprintf("from %.2f to %.2f", line.first(), line.last())
	}) + "."
}

// FormsSays sums up the confusion of forms.
func (l *Learning) FormsSays() string {
	right, all := 0, 0
	for i, row := range l.Chosen {
		for k, times := range row {
			all += times
			if i == k {
				right += times
			}
		}
	}
	return fmt.Sprintf("The best form is chosen for %d of %d kernels.", right, all)
}

// PredictedSays sums up the candidates.
func (l *Learning) PredictedSays() string {
	miss := 0.0
	for _, p := range l.Predicted {
		miss += math.Abs(p.X-p.Y) / float64(len(l.Predicted))
	}
	return fmt.Sprintf("Predictions of %d candidates are off by %.3f in the mean.", len(l.Predicted), miss)
}

// ImportanceSays names the most important feature.
func (l *Learning) ImportanceSays() string {
	if len(l.Importance) == 0 {
		return ""
	}
	return fmt.Sprintf("Predictions need %s most.", l.Importance[0].Name)
}
