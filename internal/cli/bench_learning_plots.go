package cli

import (
	"io"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
)

type benchLearningPlots struct {
	record       `embed:""`
	Out          string `required:"" help:"The page to write." placeholder:"FILE"`
	Device       string `help:"Only what was measured on this device: a part of its name." placeholder:"NAME"`
	heldOutFlags `embed:""`
}

func (c *benchLearningPlots) Help() string {
	return `Draws how well models predict for stencils that they have not learned from, as a page that needs nothing beside itself: predicted against measured fractions, runs to 90 % of the best, the importance of features, the forms that are taken for each other, and what more kernels to learn from bring. The figures are rows of the file of --json.

Examples:

	gridloom bench learning-plots --recordings bench/recordings --out learning.html --json learning.json`
}

func (c *benchLearningPlots) Run(a *app) error {
	collectLess()
	if err := c.check(); err != nil {
		return err
	}
	if err := gridio.CheckFile(c.Out); err != nil {
		return err
	}
	models, err := c.heldOut(a.ctx, c.Device)
	if err != nil {
		return err
	}
	var p *learning.Plots
	err = c.keeping(a, func() (err error) {
		p, err = learning.NewPlots(a.ctx, models, a.commit(), a.stderr)
		return err
	})
	if err != nil {
		return err
	}
	page := learningPage(p)
	page.Maker = report.Maker(Version, a.commit())
	if err := gridio.WriteFile(c.Out, func(w io.Writer) error { return report.WriteLearning(w, page) }); err != nil {
		return err
	}
	a.row("wrote %s", c.Out)
	return c.keep(p.Rows())
}

// learningPage is what the page shows of the plots.
func learningPage(p *learning.Plots) *report.Learning {
	l := &report.Learning{Device: p.Device, Kernels: p.Kernels, Stencils: p.Stencils, Forms: p.Confusion.Forms,
		Chosen: p.Confusion.Kernels}
	for _, x := range p.Candidates {
		l.Predicted = append(l.Predicted, report.Point{X: x.Predicted, Y: x.Measured})
	}
	for _, c := range p.Runs {
		line := report.Line{Name: c.Model}
		for i, part := range c.Parts {
			line.Points = append(line.Points, report.Point{X: float64(i + 1), Y: part.Value})
		}
		l.Runs = append(l.Runs, line)
	}
	for _, r := range p.Importance {
		l.Importance = append(l.Importance, report.Named{Name: r.Metric, Value: r.Value, Low: r.Low, High: r.High})
	}
	of := map[string]int{} // lines of the curve
	for _, r := range p.Curve {
		if r.Metric != "first pick" {
			continue
		}
		i, ok := of[r.Model]
		if !ok {
			i, of[r.Model] = len(l.Curve), len(l.Curve)
			l.Curve = append(l.Curve, report.Line{Name: r.Model})
		}
		l.Curve[i].Points = append(l.Curve[i].Points, report.Point{X: r.Learned, Y: r.Value, Low: r.Low, High: r.High})
	}
	return l
}
