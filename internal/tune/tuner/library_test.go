package tuner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A library takes sizes as arguments: plans that do so come first, and of
// others there is a version that does.
func TestLibraryPlans(t *testing.T) {
	list := []Contender{
		{Name: "expert", Plan: "s[0:1]@1{family=cells}", Seconds: 0.5},
		{Name: "found 1", Plan: "family=tile,sizes=literals;s[0:1]@1{family=tile,vec=2,sizes=literals}", Seconds: 1},
		{Name: "plain", Plan: "s[0:1]@1{family=loops}", Seconds: 2},
		{Name: "all sizes", Plan: "s[0:1]@1{family=tile,vec=2,sizes=arguments}", Seconds: 3},
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
			if strings.Contains(x.Plan, "literals") {
				t.Errorf("%s has sizes: %s", x.Name, x.Plan)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}

// If the best plan holds sizes, what it becomes without is timed beside it, and
// its times are as if it had been in the same rounds.
func TestForAllSizes(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, func(plan string) (float64, error) {
		v := 4e-4
		if strings.Contains(plan, "family=planes") {
			v = 2e-4
		}
		if strings.Contains(plan, "sizes=literals") {
			v /= 2
		}
		return v, nil
	})
	o := options(s, b, 12)
	o.Lab = gpu(t, s)
	r := tune(t, o)
	if !strings.Contains(r.Best, "sizes=literals") {
		t.Fatalf("the best is %s", r.Best)
	}
	c := r.Contender("all sizes")
	if c == nil || c.Plan != strings.ReplaceAll(r.Best, "sizes=literals", "sizes=arguments") {
		t.Fatalf("%+v", c)
	}
	if ratio := c.Seconds / r.Contenders[0].Seconds; ratio < 1.999 || ratio > 2.001 {
		t.Errorf("it takes %g times as long", ratio)
	}
	if list := r.LibraryPlans(); list[0].Name != "all sizes" {
		t.Errorf("%+v", list[0])
	}
	o.Others = []schedule.Plan{{Kernels: []schedule.Kernel{}, Every: schedule.Config{Family: "cells"}}}
	if c := tune(t, o).Contender("other 1"); c == nil || c.Plan != "family=cells" {
		t.Errorf("the plan of other sizes was not timed: %+v", c)
	}
}
