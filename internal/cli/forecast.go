package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// What takes less than this is not talked about before it begins.
const (
	longRun   = 30 * time.Second
	largeRun  = 4 << 30 // bytes of grids
	longStart = 5 * time.Second
)

// forecastText says what the user should know before waiting, or nothing.
func forecastText(f engine.Forecast, device string) string {
	if f.Bytes < largeRun && f.Initial+f.Body < longRun {
		return ""
	}
	parts := []string{"the grids take " + memory.Size(f.Bytes)}
	if f.Initial >= longStart {
		parts = append(parts, "their initial values about "+roughly(f.Initial))
	}
	if f.Initial+f.Body >= longRun {
		what := "the run"
		if f.Conditional {
			what = "an iteration of its loops"
		}
		parts = append(parts, fmt.Sprintf("%s about %s on %s", what, roughly(f.Body), device))
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
	if text := forecastText(j.Forecast(), j.Device.ID); text != "" {
		j.note(text)
	}
}
