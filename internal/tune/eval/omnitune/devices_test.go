package omnitune

import (
	"reflect"
	"strings"
	"testing"
)

// The usual size of a device is judged where it was run; devices of a kind are judged together, too.
func TestByDevices(t *testing.T) {
	s := &Suite{Features: []string{deviceType}}
	add := func(device string, kind float64, x *Scenario) {
		x.Device, x.Features = device, []float64{kind}
		s.Scenarios = append(s.Scenarios, *x)
	}
	add("tahiti", 1, timed(4, 1, 2))
	add("tahiti", 1, timed(4, 1, 2))
	add("tahiti", 1, timed(4, 2, 1))
	add("tahiti", 1, &Scenario{Sizes: made[2:3], Speeds: []float64{1}, Best: 1}) // two wins each; 32x4 has 2.5/3
	add("a processor", 0, timed(1, 4))
	want := []perDevice{
		{"a processor", baseline, 1, 1, 1}, {"tahiti", human, 0.75, 0.5, 2.5 / 3},
		{"GPUs", human, 0.75, 0.5, 2.5 / 3}, {"CPUs", baseline, 1, 1, 1},
	}
	if got := s.byDevices(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	add("tahiti", 1, timed(4, 1))
	if got := s.byDevices()[1]; got != (perDevice{"tahiti", human, 0.8, 0.5, 0.875}) {
		t.Errorf("%+v", got)
	}
	var b strings.Builder
	writeDevices(&b, s)
	for _, line := range []string{
		"| tahiti | 32x4 | 48x4 | 0.80 | 1.00 | 0.50 | 0.54 | 0.88 | 0.91 |",
		"| a processor | 4x4 | | 1.00 | | 1.00 | | 1.00 | |", " ran it | thesis |",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not written: %s", line, b.String())
		}
	}
}

// Where it is known what is refused, a size counts as legal or not, or as neither where nothing is known of it.
func TestByDevicesJudged(t *testing.T) {
	s := &Suite{}
	for _, x := range []*Scenario{
		judged(nil, 4, 1, 2), judged(nil, 4, 1, 2), judged(made[1:2], 4), judged(made[2:3], 4),
	} {
		s.Scenarios = append(s.Scenarios, *x)
	}
	// 4x4 and 32x4 have two wins each, and 32x4 is faster by mean.
	if got := s.byDevices(); len(got) != 1 || got[0] != (perDevice{"", human, 2.0 / 3, 1, 1}) {
		t.Errorf("%+v", got)
	}
	var b strings.Builder
	if writeDevices(&b, s); !strings.Contains(b.String(), "| legal |") {
		t.Error(b.String())
	}
}
