package proof

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Spans leave the bits that single iterations leave, on a device; two results of such proofs add up.
func TestSpansOnDevices(t *testing.T) {
	o := DeviceSpanOptions{Device: "opencl:0", Pairs: 3, Seed: 5, Cells: 3000, Workers: 2}
	r, err := DeviceSpans(t.Context(), o)
	if err != nil {
		t.Skip(err)
	}
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	if r.Pairs != 3 || r.NextSeed != 8 || r.Refused > 1 || r.Cells < 3000 || r.Largest < 1500 ||
		r.Spans.Carried < r.Spans.Runs || r.Spans.Runs+r.Refused != 3 {
		t.Errorf("%+v, %+v", r, r.Spans)
	}
	later := &DeviceSpanResult{Set: r.Set, Device: r.Device, Name: r.Name, FirstSeed: 8, NextSeed: 9, Pairs: 1,
		Cells: 10, Spans: &SpanResult{Runs: 1}}
	if err := later.After(r); err != nil || later.Pairs != 4 || later.FirstSeed != 5 || later.Cells != r.Cells+10 ||
		later.Spans.Runs != r.Spans.Runs+1 {
		t.Errorf("%v: %+v", err, later)
	}
	if later.FirstSeed = 9; later.After(&DeviceSpanResult{Set: r.Set, NextSeed: 9, Device: "cuda:0"}) == nil {
		t.Error("a proof goes on from one on another device")
	}
}

// A device on which spans compute something else is found.
func TestWrongSpansOnADeviceAreFound(t *testing.T) {
	p := &deviceSpanProver{DeviceSpanOptions: DeviceSpanOptions{Device: "opencl:0", Pairs: 2, Seed: 11, Cells: 3000,
		Workers: 2}}
	p.spoil = func(source string) string { // stages of a span read the cell beside the one that they should
		return strings.ReplaceAll(source, "_place + 1", "_place + 0")
	}
	r, err := p.run(t.Context())
	if err != nil {
		t.Skip(err)
	}
	if len(r.Failures) == 0 {
		t.Fatal("the proof holds although the compiler is wrong")
	}
	for _, f := range r.Failures {
		if _, err := schedule.ParsePlan(f.Plan); err != nil || len(f.Set) == 0 || f.Source == "" {
			t.Error(f.String())
		}
	}
}
