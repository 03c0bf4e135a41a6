// Package report draws what a tuning run found as a page that needs nothing
// beside itself: no network, no other file.
package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/tune/importance"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Story is what a tuning run did, as far as a reader of the report wants it.
// All times are in seconds, of one step of the program or of one launch of a
// kernel; speeds are in GStencil/s, billions of updated points a second.
type Story struct {
	Program  string
	Headline string
	Summary  string // how fast the best plan is, where
	Source   string
	// Facts are lines about the search: device, driver, sizes, seed.
	Facts    []Fact
	Started  time.Time
	Finished bool    // not interrupted
	Wall     float64 // how long it took
	Idle     float64 // the fraction of it in which the device did nothing
	Again    float64 // and in which it checked again what it knew, while nothing else was ready
	// Table and Bars are of whole programs that were timed against each other at
	// the end.
	Table   Table
	Bars    Bars
	Bound   string // what bounds the speed, or why nothing does
	Plans   []Fact
	Uses    []Use
	Kernels []Kernel
	Profile *profile.Profile // of the best plan; nil if there is none
	Advice  []tuner.Advice   // of profiles within the search
	Maker   string
}

// Fact is a name with what there is to say of it.
type Fact struct{ Name, Text string }

// Kernel is a kernel whose configurations were searched.
type Kernel struct {
	Name   string
	Points float64 // that a launch updates
	Bound  float64 // time of a launch at the copy bound, or 0
	// Space says how large the space is that was searched.
	Space      string
	Trials     []Trial // in the order in which they ended
	Importance []importance.Parameter
}

// Trial is a configuration and what became of it.
type Trial struct {
	At     float64 // seconds after the start at which it ended
	Config string
	// Settings are the configuration's parameters, in its order.
	Settings []tuner.Setting
	Refused  string // the class of the reason; empty if it ran right
	Reason   string
	Seconds  float64
	// Predicted is the part of the best speed that a model expects; nil if none was asked.
	Predicted *float64
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
	slices.SortStableFunc(list,
		func(a, b Count) int { return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Name, b.Name)) })
	return list
}
