package tuner

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/importance"
)

// Setting is a parameter of a configuration, with its value.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Settings returns what a configuration's text sets, in its order; nothing if it
// is none.
func Settings(config string) []Setting {
	c, err := schedule.ParseConfig(config)
	if err != nil {
		return nil
	}
	var list []Setting
	if c.Family != "" {
		list = append(list, Setting{schedule.FamilyName, c.Family})
	}
	for _, v := range c.Values {
		list = append(list, Setting{v.Name, v.Value.String()})
	}
	return list
}

// computeImportance finds out which parameters matter.
func (k *KernelResult) computeImportance() {
	var names []string
	var runs []importance.Run
	for _, o := range k.Trials {
		if o.Verdict != verdict.OK || !(o.Seconds > 0) {
			continue
		}
		r := importance.Run{Values: map[string]string{}, Seconds: o.Seconds}
		for _, s := range Settings(o.Config) {
			r.Values[s.Name] = s.Value
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
		runs = append(runs, r)
	}
	k.Importance = importance.Of(names, runs)
}
