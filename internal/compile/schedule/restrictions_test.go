package schedule

import (
	"errors"
	"slices"
	"testing"
)

// two are the spaces of a kernel with vectors and of one without.
func twoSpaces() ([]string, []Space) {
	vec := Param{Name: "vec", Values: Numbers(1, 2, 4), Default: Int(1)}
	block := Param{Name: "block", Values: Numbers(32, 64), Default: Int(32)}
	rows := Param{Name: "block", Values: []Value{Int(4, 32), Int(8, 32)}, Default: Int(4, 32)}
	return []string{"a[0:1]", "b[0:1]"}, []Space{
		{Families: []Family{{Name: "f", Params: []Param{block, vec}}}},
		{Families: []Family{{Name: "f", Params: []Param{rows}}}},
	}
}

func TestApplyRestrictions(t *testing.T) {
	fix := func(text string) Restriction {
		r, err := FixTo("--fix", text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		list  Restrictions
		count [2]int64
		notes []string
		err   string
		hint  string
	}{
		{list: nil, count: [2]int64{6, 2}},
		{list: Restrictions{LimitTo("--limit", "vec<=2")}, count: [2]int64{4, 2}},
		{
			list: Restrictions{fix("block=64")}, count: [2]int64{3, 2},
			notes: []string{"--fix block=64 does not hold for b[0:1]: block takes no value 64; it takes 4x32, 8x32"},
		},
		{
			list: Restrictions{fix("vec=2")}, count: [2]int64{2, 2},
			notes: []string{"--fix vec=2 does not hold for b[0:1]: no parameter is called vec; there is block"},
		},
		{list: Restrictions{fix("vec=8")}, err: "--fix vec=8: vec takes no value 8; it takes 1, 2, 4"},
		{list: Restrictions{LimitTo("--limit", "vec>=8")},
			err: "--limit vec>=8: vec takes no value >= 8; it takes 1, 2, 4"},
		{
			list: Restrictions{fix("vec=2"), fix("vec=4")},
			err:  "--fix vec=4: vec takes no value 4; it takes 2", hint: "--fix vec=2 leaves nothing of it",
		},
		{
			list: Restrictions{fix("block=32x8")},
			err:  "--fix block=32x8: block takes no value 32x8; it takes 32, 64",
			hint: "the inner axis comes last: block=8x32",
		},
	} {
		names, spaces := twoSpaces()
		left, notes, err := c.list.Apply(names, spaces)
		if c.err != "" {
			m, ok := errors.AsType[*Misfit](err)
			if !ok || m.Error() != c.err || m.Hint != c.hint {
				t.Errorf("%v, want %s (%s)", err, c.err, c.hint)
			}
			continue
		}
		if err != nil || left[0].Count().Int64() != c.count[0] || left[1].Count().Int64() != c.count[1] ||
			!slices.Equal(notes, c.notes) {
			t.Errorf("%v: %v, %v, %q", c.list, left[0].Count(), left[1].Count(), notes)
		}
	}
}

// The settings of a plan restrict all kernels, or the one that they are of.
func TestPlanRestrictions(t *testing.T) {
	p, err := ParsePlan("family=f;b[0:1]@1{block=8x32}")
	if err != nil {
		t.Fatal(err)
	}
	names, spaces := twoSpaces()
	left, notes, err := p.Restrictions("--plan").Apply(names, spaces)
	if err != nil || len(notes) > 0 || left[0].Count().Int64() != 6 || left[1].Count().Int64() != 1 {
		t.Errorf("%v %q %v", left, notes, err)
	}
	p, _ = ParsePlan("b[0:1]@1{block=64}")
	if _, _, err := p.Restrictions("--plan").Apply(names, spaces); err == nil ||
		err.Error() != "--plan block=64: block takes no value 64; it takes 4x32, 8x32" {
		t.Errorf("%v", err)
	}
}
