// Package replay reads tuning spaces that were recorded exhaustively, lets search
// strategies work on them as if live, and scores what they found by the
// methodology of Willemsen et al. 2024 ("A methodology for comparing auto-tuning
// optimization algorithms").
//
// A recording is read from a cache of Kernel Tuner, from T4 results, or from a
// table in CSV; any of them may be compressed by gzip. What it knows of a
// configuration is its time, what measuring it cost, or why there is no time.
package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/session"
)

// Recording is a space of configurations and what became of each.
type Recording struct {
	Name   string // of the space, for tables
	Kernel string // empty if the file does not say
	Device string // likewise
	// Sizes are those of the problem that was measured; none if the file does not say.
	Sizes  session.Sizes
	Params []Param
	Trials []Trial
	// Notes says what was odd about the file and did not keep it from being read.
	Notes []string
}

// Param is one parameter of the recorded configurations.
type Param struct {
	Name   string
	Values []Value // numbers ascending, then words
	// Default is the number of the value that a user gets who chooses none; -1 if
	// the file does not say.
	Default int
}

// Trial is what became of a configuration. Times are in seconds.
type Trial struct {
	Config []uint16 // the number of each parameter's value, or Missing
	// Failure says why there is no time, in the words of the file: "compile",
	// "RuntimeFailedConfig"; empty if there is one.
	Failure string
	Seconds float64
	Runs    []float64 // single runs; left out of what is read, for want of use
	Cost    Cost
	// Resources are those of the compiled kernel, where the file tells them.
	Resources session.Resources
}

// Missing stands for the value of a parameter that a configuration does not
// have.
const Missing = 1<<16 - 1

// Cost is what a trial took, in seconds.
type Cost struct {
	Compile    float64
	Runs       float64
	Framework  float64
	Search     float64
	Validation float64
}

// Total returns the sum.
func (c Cost) Total() float64 { return c.Compile + c.Runs + c.Framework + c.Search + c.Validation }

// Valid returns the number of configurations that have a time.
func (r *Recording) Valid() int {
	n := 0
	for i := range r.Trials {
		if r.Trials[i].Failure == "" {
			n++
		}
	}
	return n
}

// value returns a parameter's value; the zero Value if it is missing.
func (r *Recording) value(param int, config []uint16) Value {
	if config[param] == Missing {
		return Value{}
	}
	return r.Params[param].Values[config[param]]
}

// Text returns a configuration as "block_size_x=16,tile=2".
func (r *Recording) Text(config []uint16) string {
	var parts []string
	for i, p := range r.Params {
		if config[i] != Missing {
			parts = append(parts, p.Name+"="+p.Values[config[i]].String())
		}
	}
	return strings.Join(parts, ",")
}

// Verify reports what makes a recording useless, or one that Write cannot take.
func (r *Recording) Verify() error {
	if len(r.Params) == 0 {
		return fmt.Errorf("no parameters")
	}
	for i, p := range r.Params {
		if len(p.Values) == 0 || len(p.Values) > maxValues {
			return fmt.Errorf("parameter %s has %d values; 1 to %d are possible", p.Name, len(p.Values), maxValues)
		}
		if slices.ContainsFunc(r.Params[:i], func(q Param) bool { return q.Name == p.Name }) {
			return fmt.Errorf("two parameters are called %s", p.Name)
		}
	}
	if len(r.Trials) == 0 {
		return fmt.Errorf("no configurations")
	}
	seen := make(map[string]struct{}, len(r.Trials))
	for i := range r.Trials {
		t := &r.Trials[i]
		if len(t.Config) != len(r.Params) {
			return fmt.Errorf("configuration %d has %d values, there are %d parameters", i+1, len(t.Config),
				len(r.Params))
		}
		for j, v := range t.Config {
			if v != Missing && int(v) >= len(r.Params[j].Values) {
				return fmt.Errorf("configuration %d: %s has no value number %d", i+1, r.Params[j].Name, v)
			}
		}
		k := key(t.Config)
		if _, again := seen[k]; again {
			return fmt.Errorf("%s is recorded twice", r.Text(t.Config))
		}
		seen[k] = struct{}{}
		if t.Failure == "" && !(t.Seconds > 0 && t.Seconds < math.MaxFloat64) {
			return fmt.Errorf("%s has the time %v; a time is positive", r.Text(t.Config), t.Seconds)
		}
		if c := t.Cost.Total(); !(c >= 0 && c < math.MaxFloat64) {
			return fmt.Errorf("%s cost %v seconds", r.Text(t.Config), c)
		}
	}
	return nil
}

// key returns a configuration as a string to index maps by.
func key(config []uint16) string {
	b := make([]byte, 0, 2*len(config))
	for _, v := range config {
		b = append(b, byte(v), byte(v>>8))
	}
	return string(b)
}
