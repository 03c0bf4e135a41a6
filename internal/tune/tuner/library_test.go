package tuner

import (
	"fmt"
	"strings"
	"testing"
)

// A library takes sizes as arguments: plans that do so come first, and of
// others there is a version that does.
func TestLibraryPlans(t *testing.T) {
	list := []Contender{
		{Name: "expert", Plan: "s[0:1]@1{family=cells}", Seconds: 0.5},
		{Name: "found 1", Plan: "family=tile,sizes=baked;s[0:1]@1{family=tile,vec=2,sizes=baked}", Seconds: 1},
		{Name: "plain", Plan: "s[0:1]@1{family=loops}", Seconds: 2},
		{Name: "all sizes", Plan: "s[0:1]@1{family=tile,vec=2,sizes=args}", Seconds: 3},
	}
	for _, c := range []struct{ best, want string }{
		// The best takes no sizes: what it becomes was timed, and is preferred to what was not asked for.
		{list[1].Plan, "all sizes 3, expert 0.5, found 1 0"},
		{list[0].Plan, "expert 0.5, all sizes 3, found 1 0"},
	} {
		r := &Result{Contenders: list, Best: c.best}
		var got []string
		for _, x := range r.LibraryPlans() {
			got = append(got, fmt.Sprintf("%s %g", x.Name, x.Seconds))
			if strings.Contains(x.Plan, "baked") {
				t.Errorf("%s has sizes: %s", x.Name, x.Plan)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}
