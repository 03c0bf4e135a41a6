package cli

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Operations a second, as stageCost counts them, in orders of magnitude: for each
// processor of the reference executor and of compiled code, and of a GPU.
const (
	referenceRate = 1e8
	processorRate = 1e9
	gpuRate       = 1e11
)

// What takes less than this is not talked about before it begins.
const (
	longRun   = 30 * time.Second
	largeRun  = 4 << 30 // bytes of grids
	longStart = 5 * time.Second
)

// forecast is what a run will take, roughly.
type forecast struct {
	bytes       int64
	initial     time.Duration // of the initial block, which runs on the reference executor
	body        time.Duration
	conditional bool // some loop's end depends on results: body is for one iteration of it
}

func forecastOf(b *ir.Binding, device string, processors int) forecast {
	f := forecast{bytes: b.Bytes()}
	if b.Program.Initial != nil {
		f.initial = seconds(stageCost(b, b.Program.Initial) / (referenceRate * float64(processors)))
	}
	rate := gpuRate
	switch kind, _, _ := strings.Cut(device, ":"); kind {
	case "ref":
		rate = referenceRate * float64(processors)
	case "cpu":
		rate = processorRate * float64(processors)
	}
	w := workOf(b, b.Program.Body)
	f.body, f.conditional = seconds(w.cost/rate), w.conditional
	return f
}

func seconds(s float64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	return time.Duration(min(s*float64(time.Second), float64(most)))
}

// text says what the user should know before waiting, or nothing.
func (f forecast) text(device string) string {
	if f.bytes < largeRun && f.initial+f.body < longRun {
		return ""
	}
	parts := []string{"the grids take " + memory.Size(f.bytes)}
	if f.initial >= longStart {
		parts = append(parts, "their initial values about "+roughly(f.initial))
	}
	if f.initial+f.body >= longRun {
		what := "the run"
		if f.conditional {
			what = "an iteration of its loops"
		}
		parts = append(parts, fmt.Sprintf("%s about %s on %s", what, roughly(f.body), device))
	}
	text := strings.Join(parts, ", ")
	if len(parts) > 1 {
		text += ", by a rough estimate"
	}
	return text
}

// roughly words a time that is known by its order of magnitude.
func roughly(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		word string
	}{{365 * 24 * time.Hour, "year"}, {24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= u.size {
			return count(int64(d/u.size), u.word)
		}
	}
	return count(max(1, int64(d/time.Second)), "second")
}

// foretell says what the run will take, if that is much, before it begins.
func (j *job) foretell() {
	device := j.target.device
	if text := forecastOf(j.bound, device, runtime.GOMAXPROCS(0)).text(device); text != "" {
		j.note(text)
	}
}
