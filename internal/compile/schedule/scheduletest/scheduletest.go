// Package scheduletest gives tests the former spellings of parameters, so that no test
// has a list of its own: what reads texts is held to read every one of them.
package scheduletest

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Spelling is a setting in a former spelling and in that of today.
type Spelling struct {
	Former, Now           string // name=value
	Name, Parameter       string // as it was called, and as it is
	FormerValue, NowValue string
}

// values are values of the parameters of which only the name has changed.
var values = map[string][]string{
	"stages": {"1"}, "staging": {"halos", "all"}, "copy": {"async", "tensor"}, "prefetch": {"1"},
	"unroll": {"2"}, "cse": {"yes"},
}

// Spellings returns one or more settings for every entry of schedule.Formers, one for
// each value that was spelled otherwise. It panics if there is an entry that it has no
// value for.
func Spellings() []Spelling {
	var list []Spelling
	for _, f := range schedule.Formers() {
		before := len(list)
		add := func(former, now string) {
			list = append(list, Spelling{f.Name + "=" + former, f.Now + "=" + now, f.Name, f.Now, former, now})
		}
		for _, v := range f.Values {
			add(v.Value, v.Now)
		}
		if len(f.Values) == 0 {
			for _, v := range values[f.Now] {
				add(v, v)
			}
		}
		if len(list) == before {
			panic(fmt.Sprintf("scheduletest: give a value of %s, which was %s", f.Now, f.Name))
		}
	}
	return list
}

// Formerly returns the text of a configuration or a plan with all its settings in former
// spellings.
func Formerly(text string) string {
	for _, f := range schedule.Formers() {
		setting := regexp.MustCompile(`(^|[,{;] *)` + regexp.QuoteMeta(f.Now) + `=([^,;{}]*)`)
		text = setting.ReplaceAllStringFunc(text, func(found string) string {
			m := setting.FindStringSubmatch(found)
			value := m[2]
			if i := slices.IndexFunc(f.Values, func(v schedule.FormerValue) bool { return v.Now == value }); i >= 0 {
				value = f.Values[i].Value
			} else if f.Name == f.Now {
				return found
			}
			return m[1] + f.Name + "=" + value
		})
	}
	return text
}
