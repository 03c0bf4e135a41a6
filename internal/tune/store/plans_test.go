package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Plans are those of the whole program, at any sizes, with any driver.
func TestPlans(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	sizes := func(text string, n int) func(*Search) {
		return func(x *Search) {
			later(n)(x)
			x.Sizes, x.Device.Driver = text, fmt.Sprint("driver ", n)
		}
	}
	kernel := tried("k", OK, 0.001, 3)
	kernel.Kernel = "heat[0:1]"
	with(t, s, sizes("N=8", 0), tried("slow", OK, 3, 3), tried("fast", OK, 1, 3), kernel, tried("bad", Wrong, 0, 0))
	with(t, s, sizes("N=64", 1), tried("wide", OK, 7, 3))
	with(t, s, sizes("N=8", 2), tried("fast", OK, 2, 9)) // measured better
	with(t, s, func(x *Search) { later(3)(x); x.Device.Name = "another" }, tried("elsewhere", OK, 0.1, 3))
	with(t, s, func(x *Search) { later(4)(x); x.FP = "strict" }, tried("strict", OK, 0.1, 3))
	list, err := s.Plans(ctx, search1().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprintf("%s %s %g", r.Session.Sizes, r.Config, r.Median))
	}
	if want := "N=64 wide 7; N=8 fast 2; N=8 slow 3"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}
