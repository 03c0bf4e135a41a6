// Package report draws what a tuning run found as a page that needs nothing
// beside itself: no network, no other file.
package report

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Story is what a tuning run did, as far as a reader of the report wants it.
// All times are in seconds, of one step of the program or of one launch of a
// kernel; speeds are in GStencil/s, billions of updated points a second.
type Story struct {
	Program string `json:"program"`
	Source  string `json:"source"`
	// Facts are lines for the head of the page: device, driver, sizes, seed.
	Facts    []Fact    `json:"facts"`
	Started  time.Time `json:"started"`
	Finished bool      `json:"finished"` // not interrupted
	Wall     float64   `json:"wall"`     // how long it took
	Idle     float64   `json:"idle"`     // the fraction of it in which the device did nothing
	Again    float64   `json:"again"`    // and in which it checked again what it knew, while nothing else was ready
	Points   float64   `json:"points"`   // that one step of the program updates
	// Bound is the time of a step at the roofline; 0 if it is not known.
	Bound float64 `json:"bound"`
	// Plans are whole programs that were timed against each other at the end,
	// the plan that was found among them.
	Plans   []Plan   `json:"plans"`
	Kernels []Kernel `json:"kernels"`
}

// Fact is a line for the head of the page.
type Fact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Plan is a way to run the whole program, with its time and the 95 % interval
// of that.
type Plan struct {
	Name    string  `json:"name"` // "default", "expert", "best"
	Text    string  `json:"text"`
	Seconds float64 `json:"seconds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	// Gain is how many times faster than the first plan it is, with its
	// interval, if the two were timed side by side.
	Gain     float64 `json:"gain,omitempty"`
	GainLow  float64 `json:"gain_low,omitempty"`
	GainHigh float64 `json:"gain_high,omitempty"`
}

// Kernel is a kernel whose configurations were searched.
type Kernel struct {
	Name   string  `json:"name"`
	Points float64 `json:"points"` // that a launch updates
	Bound  float64 `json:"bound"`  // time of a launch at the roofline, or 0
	// Space says how large the space is that was searched.
	Space  string  `json:"space"`
	Trials []Trial `json:"trials"` // in the order in which they ended
}

// Trial is a configuration and what became of it.
type Trial struct {
	At     float64 `json:"at"` // seconds after the start at which it ended
	Config string  `json:"config"`
	// Settings are the configuration's parameters, in its order.
	Settings  []Setting `json:"settings"`
	Refused   string    `json:"refused,omitempty"` // the class of the reason; empty if it ran right
	Reason    string    `json:"reason,omitempty"`
	Seconds   float64   `json:"seconds,omitempty"`
	Low       float64   `json:"low,omitempty"`
	High      float64   `json:"high,omitempty"`
	Registers int       `json:"registers,omitempty"`
	Spills    int       `json:"spills,omitempty"`
}

// Setting is a parameter's value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// value returns a trial's setting of a name; "" if it has none.
func (t *Trial) value(name string) string {
	for _, s := range t.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// good returns the trials that ran right.
func (k *Kernel) good() []Trial {
	var list []Trial
	for _, t := range k.Trials {
		if t.Refused == "" && t.Seconds > 0 && !math.IsInf(t.Seconds, 0) {
			list = append(list, t)
		}
	}
	return list
}

// Best returns the fastest trial; false if none ran.
func (k *Kernel) Best() (Trial, bool) {
	list := k.good()
	if len(list) == 0 {
		return Trial{}, false
	}
	return slices.MinFunc(list, func(a, b Trial) int { return cmp.Compare(a.Seconds, b.Seconds) }), true
}

// Names returns the parameters that occur, in the order in which they appear.
func (k *Kernel) Names() []string {
	var names []string
	for _, t := range k.Trials {
		for _, s := range t.Settings {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// Speed returns GStencil/s at a time.
func Speed(points, seconds float64) float64 { return points / seconds / 1e9 }

// Count is how often something happened.
type Count struct {
	Name  string
	Times int
	// Said is the first text that was given for it.
	Said string
}

// Refusals counts the trials that did not run right by the class of the reason,
// the most frequent first.
func (k *Kernel) Refusals() []Count {
	var list []Count
	for _, t := range k.Trials {
		if t.Refused == "" {
			continue
		}
		i := slices.IndexFunc(list, func(c Count) bool { return c.Name == t.Refused })
		if i < 0 {
			i = len(list)
			list = append(list, Count{Name: t.Refused, Said: t.Reason})
		}
		list[i].Times++
	}
	slices.SortStableFunc(list, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Name, b.Name)) })
	return list
}
