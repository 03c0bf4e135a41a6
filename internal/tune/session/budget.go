package session

import (
	"fmt"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/quantity"
)

// Budget says what ends a search; what is zero does not.
type Budget struct {
	Time   time.Duration `json:"time_ns,omitempty"`
	Trials int           `json:"trials,omitempty"`
	Target Target        `json:"target,omitzero"`
	Former string        `json:"former,omitempty"` // what an earlier version wrote, if it cannot be read
}

// Target is a speed that is good enough.
type Target struct {
	GStencils float64 `json:"gstencils,omitempty"`  // 1e9 updates of cells a second
	Fraction  float64 `json:"copy_bound,omitempty"` // of the copy bound
}

// String words a budget: 1m0s, 5 trials, until 95%.
func (b Budget) String() string {
	var parts []string
	if b.Time > 0 {
		parts = append(parts, b.Time.String())
	}
	if b.Trials > 0 {
		parts = append(parts, quantity.Count(b.Trials, "trial"))
	}
	if b.Target != (Target{}) {
		parts = append(parts, "until "+b.Target.String())
	}
	if b.Former != "" {
		parts = append(parts, b.Former)
	}
	return strings.Join(parts, ", ")
}

// String words a target, as tune reads it.
func (t Target) String() string {
	if t.Fraction > 0 {
		return fmt.Sprintf("%.12g%%", 100*t.Fraction)
	}
	return fmt.Sprintf("%g", t.GStencils)
}
