package schedule

import (
	"math/rand/v2"
	"testing"
)

// A configuration that is made parameter by parameter has those that exist, in their order; whether it is legal is for
// Has to say. In a small space all configurations come up, and none but those.
func TestChoose(t *testing.T) {
	s := loops()
	all := map[string]bool{}
	for c := range s.All() {
		all[c.String()] = true
	}
	r := rand.New(rand.NewPCG(1, 1))
	made := map[string]bool{}
	for range 20000 {
		f := &s.Families[r.IntN(len(s.Families))]
		c := f.Choose(func(p *Param) Value { return p.Values[r.IntN(len(p.Values))] })
		if text := c.String(); s.Has(c) {
			made[text] = true
		} else if all[text] {
			t.Errorf("%s is in the space, and Has denies it", text)
		}
	}
	if len(made) != len(all) {
		t.Errorf("%d of %d configurations were made", len(made), len(all))
	}
}

// A kernel of a plan is replaced by its ID, and the plan that it was in stays.
func TestPlanWith(t *testing.T) {
	p, err := ParsePlan("a[0:1]@1{family=tile};b[0:1]@1{family=cells};b[0:2]@4{family=pipe}")
	if err != nil {
		t.Fatal(err)
	}
	k := p.Kernels[1].In(Config{Family: "planes"})
	q := p.With(k)
	if got := q.String(); got != "a[0:1]@1{family=tile};b[0:1]@1{family=planes};b[0:2]@4{family=pipe}" {
		t.Error(got)
	}
	if p.Kernels[1].Config.Family != "cells" || len(p.Kernels) != len(q.Kernels) {
		t.Errorf("the plan itself became %s", p)
	}
}
