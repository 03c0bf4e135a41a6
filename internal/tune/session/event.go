package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Event is something that happened in a session besides its trials. Kind says which
// fields have a meaning. Text is for people: nothing is read out of it; what a search that goes on has to know is in
// Detail.
type Event struct {
	Index   int       `json:"index"` // in its session, from 0
	At      time.Time `json:"at"`    // kept to the millisecond
	Kind    string    `json:"event"`
	Kernel  string    `json:"kernel,omitempty"`
	Config  string    `json:"config,omitempty"`
	Space   string    `json:"configurations,omitempty"` // how many; there may be more than a number holds
	Share   float64   `json:"share,omitempty"`          // of the program's time
	Seconds float64   `json:"seconds,omitempty"`
	Text    string    `json:"text,omitempty"`
	// Detail is what the search keeps of it, in JSON; nothing if it would be longer than longestDetail.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// The kinds of events.
const (
	Start     = "start"     // Text: the device
	Compared  = "check"     // Text: what was compared with the reference
	Kernel    = "kernel"    // Kernel, Space, Share, Seconds of its default: its search begins
	Condemned = "condemned" // Kernel, Config: it was right, and has failed since; Text says how
	Profiled  = "profile"   // Kernel, Config, Seconds that it took, Detail; Text: its class
	Final     = "final"     // Text: what is measured side by side
	Note      = "note"      // Text: what the user should know
)

var kinds = []string{Start, Compared, Kernel, Condemned, Profiled, Final, Note}

// longestText is how much of an event's text is kept, and longestDetail the longest detail that is.
const (
	longestText   = longestNote
	longestDetail = 1 << 16
)

// Check refuses events that nobody reports.
func (e *Event) Check() error {
	switch {
	case e.Index < 0 || e.Index >= MostTrials:
		return fmt.Errorf("event %d: a session has at most %d events", e.Index, MostTrials)
	case !slices.Contains(kinds, e.Kind):
		return fmt.Errorf("event %d: there is no kind %q", e.Index, e.Kind)
	case !(e.Seconds >= 0 && e.Seconds < 1e18) || !(e.Share >= 0 && e.Share < 1e18):
		return fmt.Errorf("event %d: %v s, a share of %v", e.Index, e.Seconds, e.Share)
	}
	return nil
}

// Round makes an event what reading it again will give.
func (e *Event) Round() {
	e.At = e.At.Truncate(time.Millisecond).UTC()
	e.Config = schedule.RespellText(e.Config)
	e.Text = shortened(e.Text, longestText)
	if len(e.Detail) > longestDetail {
		e.Detail = nil
	}
}
