package engine

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// PredictRequest asks what a model expects of a program's kernels on a target, which need not be there.
type PredictRequest struct {
	Bound  *ir.Binding
	Target *target.Target
	Plan   schedule.Plan // settings that stay as they are
	Model  string        // a file; "" is the model of the target's device that comes with Gridloom
	Top    int           // configurations of each kernel
	Why    int           // reasons of each
	// Lower is how many candidates of each kernel are lowered and ranked again. A model without a second level lowers
	// none.
	Lower int
}

// Predicted is what a model expects of a kernel.
type Predicted struct {
	Device     string              `json:"device"`
	Model      predict.About       `json:"model"`
	Kernel     string              `json:"kernel"`
	Candidates int                 `json:"candidates"`
	Top        []PredictedConfig   `json:"top"`
	Forms      []PredictedForm     `json:"forms"`
	Nearest    []predict.Neighbour `json:"nearest"`
	Far        bool                `json:"far"` // it is unlike all that the model has learned from
	// LearnedOn are the processors that a model has learned on which has not seen this machine.
	LearnedOn []string            `json:"learned_on,omitempty"`
	Expected  predict.Expectation `json:"first_pick"`
	Seconds   float64             `json:"seconds"` // that ranking took
	// Locals is what the cost model predicts for the program's local grids, where the plan leaves that open. The kernel
	// is one of the way that is chosen.
	Locals *tuner.PredictedLocals `json:"local_grids,omitempty"`
	// Lowered are the candidates that were ranked again, and what that took.
	Lowered        int     `json:"lowered,omitempty"`
	LoweredSeconds float64 `json:"lowered_seconds,omitempty"`
}

// PredictedConfig is a configuration with its prediction.
type PredictedConfig struct {
	Config   string         `json:"config"`
	Fraction float64        `json:"predicted"` // of the fastest speed
	Needs    *predict.Needs `json:"needs,omitempty"`
	// FastestOf is the program whose fastest configuration it is, where it stands at its place for that.
	FastestOf string `json:"fastest_of,omitempty"`
	// Usual says that it is the kernel's usual configuration, where it stands at its place for that.
	Usual   bool             `json:"usual,omitempty"`
	Reasons []predict.Reason `json:"reasons,omitempty"`
}

// PredictedForm is the best that is predicted for a form of a kernel.
type PredictedForm struct {
	Form     string  `json:"form"`
	Fraction float64 `json:"predicted"`
	Config   string  `json:"config"`
}

// deviceOf is what sessions call a target, also one on paper.
func deviceOf(t *target.Target) session.Device {
	d := measure.DeviceOf(t)
	if d.Name == "" && t.Machine != nil {
		d.Name, d.API = t.Machine.Name, t.Dialect.Name
		if t.Kind() == lower.CPU {
			d.API = session.CPU
		}
	}
	return d
}

// modelFor returns a model from a file, or the one of a device that comes with Gridloom; nil if there is none.
func modelFor(t *target.Target, path string) (*predict.Model, error) {
	if path == "" {
		d := deviceOf(t)
		return predict.Builtin(&d)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Fault{Cause: Environment, Option: "model " + path, Err: err}
	}
	defer f.Close()
	m, err := predict.ReadModel(f)
	if err != nil {
		return nil, &Fault{Cause: Environment, Option: "model " + path, Err: err}
	}
	return m, nil
}

// modelOn returns a model as modelFor does, and refuses one that is not of the target: what it has learned there says
// little of kernels here.
func modelOn(t *target.Target, path string) (*predict.Model, error) {
	m, err := modelFor(t, path)
	if m == nil || err != nil || path == "" {
		return m, err
	}
	if d := deviceOf(t); !m.For(&d) {
		return nil, requestf("model "+path, "it is of %s (%s), and this is %s", m.Device, m.API, nameOf(t)).
			hintf("gridloom learn --device makes one of what was measured here")
	}
	return m, nil
}

// ModelOf returns a model as modelOn does. That there is none is an error, too, a *Fault.
func ModelOf(t *target.Target, path string) (*predict.Model, error) {
	m, err := modelOn(t, path)
	if m == nil && err == nil {
		err = noModel(named(t), t)
	}
	return m, err
}

// mostTried is how many predicted configurations of a kernel are looked at for those that fit. The first is taken, and
// others stand by.
const mostTried = 10

// Model gives a job without a plan that of a model, from a file or, if path is empty, of its device that comes with
// Gridloom: of each kernel the configuration that is expected to be the fastest among those that fit. Kernels of
// processors that are unlike all that the model has learned from keep their usual ones. Job.Next has what is expected
// to be fastest after that. The prediction is nil if there is no model.
func (j *Job) Model(ctx context.Context, path string) (*Prediction, error) {
	if j.Origin != Usual || j.Device.Reference() {
		return nil, nil
	}
	m, err := modelOn(j.Device.Target, path)
	if m == nil || err != nil {
		return nil, err
	}
	fits := func(plan schedule.Plan) bool {
		one := *j
		one.Plan = plan
		return one.Fits() == nil
	}
	stays := j.Plan
	locals := settleLocals(j.Bound, j.Device.Target, &stays)
	if locals.Fuse() && !fits(stays) {
		stays, locals = j.Plan, nil
	}
	one := *j
	one.Plan = stays
	usual, err := lower.Plan(j.Bound.Program, one.Lowering())
	if err != nil {
		return nil, err
	}
	plans, p, err := byModel(ctx, m, j.Bound, j.Device.Target, stays, usual, 1+predict.StandBy, fits)
	if p == nil || err != nil {
		return nil, err
	}
	if p.Locals = locals; p.Kernels > 0 || locals.Fuse() {
		j.Plan, j.Next, j.Origin = plans[0], plans[1:], Modelled
	}
	return p, nil
}

// settleLocals adds to a plan what becomes of local grids by the cost model's prediction, which it returns; nil if
// there is nothing to choose.
func settleLocals(b *ir.Binding, t *target.Target, plan *schedule.Plan) *tuner.PredictedLocals {
	p := tuner.PredictLocals(b, t, *plan)
	if p.Fuse() {
		*plan = lower.WithLocalGrids(*plan, lower.FusedGrids)
	}
	return p
}

// byModel puts into a plan, of each kernel that the model knows the like of, the configuration that is expected to be
// the fastest among those with which the plan fits. What stays is part of all of them. It returns up to most plans:
// after the best that of the second configurations of all kernels, and so on; a kernel that has no more keeps its last.
// The prediction is nil if no kernel has a choice.
func byModel(ctx context.Context, m *predict.Model, b *ir.Binding, t *target.Target, stays, plan schedule.Plan,
	most int, fits func(schedule.Plan) bool) ([]schedule.Plan, *Prediction, error) {
	kernels, err := predict.KernelsOf(b, t, stays)
	if err != nil || len(kernels) == 0 {
		return nil, nil, err
	}
	out := &Prediction{Model: m.About(), LearnedOn: elsewhere(m, t)}
	plans := []schedule.Plan{plan}
	for _, k := range kernels {
		if _, far := m.Nearest(k, 1); far {
			out.Far++
			// First picks of GPUs are faster than usual configurations even there (docs/performance-log.md, "The usual
			// configuration is the second of all rankings"). Of processors that is not known.
			if k.Target.Kind() != lower.GPU {
				out.Kept++
				continue
			}
		}
		list, err := m.Chosen(ctx, k)
		if err != nil {
			return nil, nil, err
		}
		var own []schedule.Kernel
		for _, x := range list[:min(mostTried, len(list))] { // or it has the usual one
			if one := k.Own.In(x.Config); len(own) < most && fits(plans[0].With(one)) {
				own = append(own, one)
			}
		}
		if len(own) == 0 {
			continue
		}
		if e := m.ExpectedOf(k); out.Kernels == 0 || e.Low < out.Expected.Low {
			out.Expected = e
		}
		out.Kernels++
		for len(plans) < len(own) {
			plans = append(plans, plans[len(plans)-1])
		}
		for i := range plans {
			plans[i] = plans[i].With(own[min(i, len(own)-1)])
		}
	}
	return plans, out, nil
}

// Prediction is what is expected of a plan that a model has chosen.
type Prediction struct {
	Model   predict.About          `json:"model"`
	Kernels int                    `json:"kernels"`               // whose configurations it has chosen
	Locals  *tuner.PredictedLocals `json:"local_grids,omitempty"` // by the cost model; nil if there was no choice
	Far     int                    `json:"far"`                   // that are unlike all that it has learned from
	Kept    int                    `json:"kept"`                  // of these, that have their usual configurations
	// Expected is of the kernel that may lose most, where Kernels is not 0.
	Expected predict.Expectation `json:"first_pick"`
	// LearnedOn are the processors that the model has learned on, if it has not seen this machine.
	LearnedOn []string `json:"learned_on,omitempty"`
	// Measured is how many predictions were measured before one was taken.
	Measured int `json:"measured"`
}

// IsUnsure reports whether what is predicted should be measured before it is trusted.
func (p *Prediction) IsUnsure() bool { return p.Expected.IsWide() || len(p.LearnedOn) > 0 || p.Far > 0 }

// elsewhere returns the processors that a model has learned on, if the target is none of them.
func elsewhere(m *predict.Model, t *target.Target) []string {
	if d := deviceOf(t); !m.Knows(&d) {
		return m.Processors
	}
	return nil
}

// noModel says that no model is of a target that an option names, or has something done with.
func noModel(option string, t *target.Target) error {
	return requestf(option, "no model that comes with Gridloom is of %s", nameOf(t)).
		hintf("gridloom learn makes one of what tune and record have measured")
}

// named is the option that names a target: one that need not be here is a machine.
func named(t *target.Target) string {
	if measure.DeviceOf(t).Name == "" {
		return "machine " + t.Machine.Name
	}
	return "device"
}

// nameOf is a target's name in messages: of its device, and of what programs it.
func nameOf(t *target.Target) string {
	d := deviceOf(t)
	return fmt.Sprintf("%s (%s)", d.Name, d.API)
}

// Predict ranks the configurations of a program's kernels.
func Predict(ctx context.Context, r PredictRequest) ([]Predicted, error) {
	m, err := ModelOf(r.Target, r.Model)
	if err != nil {
		return nil, err
	}
	locals := settleLocals(r.Bound, r.Target, &r.Plan)
	kernels, err := predict.KernelsOf(r.Bound, r.Target, r.Plan)
	if err != nil {
		return nil, BadPlan(r.Plan, err)
	}
	list := []Predicted{}
	for _, k := range kernels {
		began := time.Now()
		ranked := m.Rank(k)
		p := Predicted{
			Device: deviceOf(r.Target).Name, Model: m.About(),
			Kernel: k.ID, Candidates: len(ranked), Expected: m.ExpectedOf(k), Seconds: time.Since(began).Seconds(),
			LearnedOn: elsewhere(m, r.Target), Locals: locals,
		}
		if r.Lower > 0 && m.Second != nil {
			began, p.Lowered = time.Now(), min(r.Lower, len(ranked))
			if ranked, err = m.RankLowered(ctx, k, ranked, r.Lower); err != nil {
				return nil, err
			}
			p.LoweredSeconds = time.Since(began).Seconds()
		}
		formOf := k.FormOf()
		for _, x := range ranked {
			form := formOf(x.Config)
			if !slices.ContainsFunc(p.Forms, func(f PredictedForm) bool { return f.Form == form }) {
				p.Forms = append(p.Forms, PredictedForm{form, x.Fraction, x.Config.String()})
			}
		}
		if ranked, err = m.AtPlaces(ctx, k, ranked); err != nil {
			return nil, err
		}
		top := ranked[:min(r.Top, len(ranked))]
		why, err := m.Reasons(ctx, k, top, r.Why)
		if err != nil {
			return nil, err
		}
		for i, x := range top {
			p.Top = append(p.Top, PredictedConfig{x.Config.String(), x.Fraction, x.Needs, x.FastestOf, x.Usual, why[i]})
		}
		p.Nearest, p.Far = m.Nearest(k, 3)
		list = append(list, p)
	}
	return list, nil
}
