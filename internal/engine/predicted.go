package engine

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// PredictedTrials are what a model of the device says of a kernel's trials: what was predicted stands beside what was
// measured.
type PredictedTrials struct {
	Kernel string `json:"kernel"`
	// Fractions are of the fastest speed, one for each trial of the kernel's result.
	Fractions []float64 `json:"predicted"`
}

// predicted returns what the model of the device says of the trials of a search; nothing if there is no model, or of
// kernels that it has learned from nothing like.
func (r *TuneRequest) predicted(result *tuner.Result) ([]PredictedTrials, error) {
	m, err := modelOn(r.Device.Target, r.Model)
	if m == nil || err != nil {
		return nil, err
	}
	kernels, err := predict.KernelsOf(r.Bound, r.Device.Target, schedule.Plan{})
	if err != nil {
		return nil, err
	}
	var list []PredictedTrials
	for _, k := range kernels {
		i := slices.IndexFunc(result.Kernels, func(x tuner.KernelResult) bool { return x.Kernel == k.ID })
		if i < 0 || len(result.Kernels[i].Trials) == 0 {
			continue
		}
		if _, far := m.Nearest(k, 1); far {
			continue
		}
		var configs []schedule.Config
		for _, t := range result.Kernels[i].Trials {
			c, err := schedule.ParseConfig(t.Config)
			if err != nil {
				break
			}
			configs = append(configs, c)
		}
		if len(configs) == len(result.Kernels[i].Trials) {
			list = append(list, PredictedTrials{k.ID, m.Predict(k, configs)})
		}
	}
	return list, nil
}
