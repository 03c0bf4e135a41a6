package engine

import (
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Operations a second, as callCost counts them, in orders of magnitude: for each
// processor of the reference executor and of compiled code, and of a GPU.
const (
	referenceRate = 1e8
	processorRate = 1e9
	gpuRate       = 1e11
)

// Forecast is what a run will take, by orders of magnitude.
type Forecast struct {
	Bytes       int64         // of grids
	Initial     time.Duration // of the initial block, which runs on the reference executor
	Body        time.Duration
	Conditional bool // some loop's end depends on results: Body is for one iteration of it
}

// Forecast estimates the job without running anything.
func (j *Job) Forecast() Forecast {
	processors := float64(runtime.GOMAXPROCS(0))
	switch {
	case j.Device.Reference():
		return forecastOf(j.Bound, referenceRate*processors, processors)
	case j.Device.Kind() == lower.CPU:
		return forecastOf(j.Bound, processorRate*processors, processors)
	}
	return forecastOf(j.Bound, gpuRate, processors)
}

// forecastOf estimates a program on a device of so many operations a second.
func forecastOf(b *ir.Binding, rate, processors float64) Forecast {
	f := Forecast{Bytes: b.Bytes()}
	if b.Program.Initial != nil {
		f.Initial = seconds(callCost(b, b.Program.Initial) / (referenceRate * processors))
	}
	w := workOf(b, b.Program.Body)
	f.Body, f.Conditional = seconds(w.cost/rate), w.conditional
	return f
}

func seconds(s float64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(s*float64(time.Second), float64(most)))
}
