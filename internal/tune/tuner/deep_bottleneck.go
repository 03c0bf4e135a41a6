package tuner

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// modelOf returns the cost model of the kernels of some iterations. The error says what is not known.
func (call *tunedCall) modelOf() (*costmodel.Model, error) {
	if call.about.Shared { // a processor, whatever it is shown as
		return nil, errNoModel
	}
	return costmodel.New(call.bound, call.options, machine.Described(call.about.Target.Machine))
}

var errNoModel = fmt.Errorf("the cost model is of GPUs, and this device is a processor")

// explained is the configuration that a depth's bottleneck was told of.
type explained struct {
	config string
	result DepthResult
}

// explain sets what binds the best configuration of a depth.
func (l *loopSearch) explain(k *kernelSearch, d *DepthResult) {
	if k.explained.config != k.best.Config {
		k.explained = explained{config: k.best.Config}
		if !l.predicted(k, &k.explained.result) {
			l.byTraffic(k, &k.explained.result)
		}
	}
	x := &k.explained.result
	d.Bottleneck, d.Evidence, d.Predicted = x.Bottleneck, x.Evidence, x.Predicted
}

// predicted has the cost model tell.
func (l *loopSearch) predicted(k *kernelSearch, d *DepthResult) bool {
	model, err := k.call.modelOf()
	if err != nil {
		return false
	}
	c, err := schedule.ParseConfig(k.best.Config)
	if err != nil {
		return false
	}
	known := costmodel.Known{Registers: k.best.Registers, Spills: k.best.Spills}
	class, e, err := model.With(k.call.part(k.with(c)), known)
	if err != nil {
		return false
	}
	d.Bottleneck, d.Predicted = class, e.Predicted
	d.Evidence = fmt.Sprintf("predicted %s; useful %.2f", e.Terms, e.Useful)
	if known.Spills > 0 {
		d.Evidence += fmt.Sprintf("; %d bytes spilled", known.Spills)
	}
	return true
}

// byTraffic tells by the measured time.
func (l *loopSearch) byTraffic(k *kernelSearch, d *DepthResult) {
	b := &l.result.Bound
	if b.CopyGBs == 0 {
		if b.None != "" {
			d.Bottleneck, d.Evidence = costmodel.Execution, b.None
		}
		return
	}
	bytes := 0.0 // that the iterations together cannot do without: those of one
	for _, call := range l.loop.calls {
		bytes += float64(call.points) * call.bytes
	}
	class, share := costmodel.ByTraffic(bytes, k.best.Seconds, b.CopyGBs)
	d.Bottleneck, d.Evidence = class, fmt.Sprintf("compulsory bytes move at %.2f of a copy", share)
}
