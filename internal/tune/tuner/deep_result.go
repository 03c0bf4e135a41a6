package tuner

import (
	"errors"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/deep"
)

// LoopResult is the search for how many iterations of a loop share a kernel.
type LoopResult struct {
	Loop       string        `json:"loop"`             // as plans name it: body[0:2]
	Iterations int64         `json:"iterations"`       // of one execution of the loop
	Points     int64         `json:"points"`           // that an iteration updates
	Depths     []DepthResult `json:"depths,omitempty"` // in the order of the search, depth 1 first
	Stopped    string        `json:"stopped"`          // why no other depth was tried
	At         diag.Range    `json:"-"`                // the place in the source that it names; empty if none
	Notes      []diag.Note   `json:"-"`                // other places
	Hint       string        `json:"-"`                // what to do about it, or ""
	// Schedule is the fastest way to carry out Iterations by the depths that were measured, and Seconds is its
	// time; Carried and CarriedSeconds are what the best plan makes of them.
	Schedule       []deep.Part `json:"schedule,omitempty"`
	Seconds        float64     `json:"seconds,omitempty"`
	Carried        []deep.Part `json:"carried_out,omitempty"`
	CarriedSeconds float64     `json:"carried_out_seconds,omitempty"`
}

// DepthResult is what came of a number of iterations in a kernel.
type DepthResult struct {
	Kernel    string  `json:"kernel,omitempty"` // body[0:2]@4; none if it has kernels of its own
	Depth     int64   `json:"depth"`
	After     int64   `json:"after,omitempty"` // iterations that have to follow
	Trials    int     `json:"trials,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`   // of the iterations together; 0 if nothing ran
	GStencils float64 `json:"gstencils,omitempty"` // 1e9 updates of cells a second
	Gain      float64 `json:"gain,omitempty"`      // how many times as fast as depth 1
	Best      string  `json:"best,omitempty"`      // the configuration
	InPlan    bool    `json:"in_plan,omitempty"`   // the best plan has it
	// Bottleneck is what binds the best configuration (costmodel.Class), and Evidence is how that is known; Predicted
	// is the seconds that the cost model comes to. They are empty where nothing is known.
	Bottleneck costmodel.Class `json:"bottleneck,omitempty"`
	Evidence   string          `json:"evidence,omitempty"`
	Predicted  float64         `json:"predicted_seconds,omitempty"`
}

// Plain reports whether it is of an iteration by kernels of its own.
func (d DepthResult) Plain() bool { return d.Kernel == "" }

// stopped notes why no other depth is tried.
func (r *LoopResult) stopped(err error) {
	r.Stopped = err.Error()
	if refusal, ok := errors.AsType[*graph.Refusal](err); ok {
		r.Stopped, r.At, r.Notes, r.Hint = refusal.Reason, refusal.At, refusal.Notes, refusal.Hint
	}
}

// depthResult returns what came of a depth so far.
func (l *loopSearch) depthResult(k *kernelSearch) DepthResult {
	n := k.call.iterations
	d := DepthResult{Kernel: k.name, Depth: n.depth, After: n.after, Trials: len(k.list)}
	if k.best != nil {
		d.Seconds, d.Best = k.best.Seconds, k.best.Config
		l.explain(k, &d)
	}
	return d
}

// report sets the result of a depth, and tells it.
func (l *loopSearch) report(d DepthResult) {
	r := &l.result.Loops[l.at]
	if d.Seconds > 0 {
		d.Gain = l.single * float64(d.Depth) / d.Seconds
		d.GStencils = float64(r.Points*d.Depth) / d.Seconds / 1e9
	}
	i := slices.IndexFunc(r.Depths, func(x DepthResult) bool { return x.Depth == d.Depth && x.Plain() == d.Plain() })
	if i < 0 {
		i = len(r.Depths)
		r.Depths = append(r.Depths, d)
	}
	r.Depths[i] = d
	l.event(Event{Kind: EventDepth, Kernel: r.Loop, Depth: &d})
}

// finishLoops derives how the loops are carried out.
func (t *tuning) finishLoops() {
	best, err := schedule.ParsePlan(t.result.Best)
	if err != nil {
		return
	}
	for _, l := range t.loops {
		r := &t.result.Loops[l.at]
		for i := range r.Depths {
			r.Depths[i].InPlan = !r.Depths[i].Plain() && hasKernel(best, r.Depths[i].Kernel)
		}
		if l.single > 0 {
			r.Schedule, r.Seconds = deep.Optimal(l.loop.count, l.versions())
			r.Carried, r.CarriedSeconds = deep.Greedy(l.loop.count, l.in(best))
		}
	}
}
