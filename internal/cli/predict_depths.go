package cli

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// predictedDepth is a kernel of several iterations as --depths prints it as JSON.
type predictedDepth struct {
	Kernel     string  `json:"kernel"` // with its configuration
	Depth      int     `json:"depth"`
	Seconds    float64 `json:"seconds_per_iteration"`
	Bottleneck string  `json:"bottleneck"`
	Rough      bool    `json:"rough,omitempty"` // the seconds may be far off
	// Taken says that run takes it without a search, for long loops.
	Taken bool `json:"taken"`
}

// predictedLoop is a loop, likewise.
type predictedLoop struct {
	Loop       string           `json:"loop"`
	Single     float64          `json:"single_seconds_at_least"` // of an iteration by kernels of its own
	Iterations float64          `json:"iterations"`
	Depths     []predictedDepth `json:"depths"`
	None       string           `json:"none,omitempty"`
}

// depths prints what the cost model predicts for kernels of several iterations.
func (c *predictCmd) depths(a *app, b *ir.Binding, t *target.Target, plan schedule.Plan) error {
	loops, err := engine.Depths(a.ctx, b, t, plan)
	if err != nil {
		return err
	}
	list := []predictedLoop{}
	for i := range loops {
		list = append(list, depthsOf(&loops[i]))
	}
	if c.JSON {
		return a.printJSON(list)
	}
	for _, l := range list {
		a.row("%s: an iteration by kernels of its own takes %s at least", l.Loop, quantity.Time(l.Single))
		for _, d := range l.Depths {
			taken := ""
			switch {
			case d.Taken:
				taken = "; run takes it for long loops"
			case d.Rough:
				taken = "; a rough prediction"
			}
			a.row("  %s an iteration, bound by %s%s: %s", quantity.Time(d.Seconds), d.Bottleneck, taken, d.Kernel)
		}
		if l.None != "" {
			a.row("  no other depth is predicted: %s", l.None)
		}
	}
	if len(list) == 0 {
		a.row("no depth is predicted: no loop runs, or nothing tells how fast the device is")
	}
	return nil
}

func depthsOf(p *tuner.PredictedLoop) predictedLoop {
	l := predictedLoop{
		Loop: p.Loop, Single: p.Single, Iterations: p.Iterations, Depths: []predictedDepth{}, None: p.None,
	}
	sure := p.Sure(0)
	for i := range p.Depths {
		d := &p.Depths[i]
		l.Depths = append(l.Depths, predictedDepth{d.Kernel.String(), d.Kernel.Depth, d.Seconds, string(d.Class),
			d.Rough, d == sure})
	}
	return l
}
