package engine

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
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

// predicted returns what a model says of the trials of a search; nothing of kernels that it has learned from nothing
// like, or of trials that it cannot describe: a search does not fail for that.
func predicted(m *predict.Model, b *ir.Binding, t *target.Target, result *tuner.Result) []PredictedTrials {
	kernels, err := predict.KernelsOf(b, t, schedule.Plan{})
	if err != nil {
		return nil
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
	return list
}
