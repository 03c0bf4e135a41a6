package tuner

import (
	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/estimate"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// newModel returns what is known of the kernels of a call beforehand; nil where
// that is nothing, as on a processor that OpenCL shows as a device.
func newModel(call *tunedCall, space schedule.Space) *estimate.Model {
	if call.about.Shared || call.about.Target.Kind() != lower.GPU {
		return nil
	}
	b := call.subject.bound
	facts := analysis.Analyze(b.Program, b).Call(call.ir)
	return estimate.New(facts, b, call.ir, call.about.Target.Machine, space)
}

// needs returns the registers that the kernels of a call need by their text.
func (call *tunedCall) needs(plan schedule.Plan) (float64, bool) {
	v, err := call.lowered(call.bound, plan)
	if err != nil && verdict.Of(err) != verdict.Resources || v == nil {
		return 0, false
	}
	return v.registers, true
}

// leastPredicted bounds the times that follow from predictions of no speed at all.
const leastPredicted = 0.01

// estimates returns the function that strategies ask; nil if nothing is known. What a model has learned from
// measurements goes before what is derived from a configuration's resources.
func (k *kernelSearch) estimates() func(search.Point) (float64, bool) {
	if predict, space := k.prior.Predict, k.space; predict != nil {
		return func(p search.Point) (float64, bool) {
			c, err := space.Config(p)
			if err != nil {
				return 0, false
			}
			return 1 / max(predict(c), leastPredicted), true
		}
	}
	if k.model == nil {
		if k.model = newModel(k.call, k.space.Schedule()); k.model == nil {
			return nil
		}
		k.model.Fit(func(c schedule.Config) (float64, bool) { return k.call.needs(k.with(c)) })
	}
	model, space := k.model, k.space // the space of a later run may be another
	return func(p search.Point) (float64, bool) {
		c, err := space.Config(p)
		if err != nil {
			return 0, false
		}
		return model.Estimate(c)
	}
}
