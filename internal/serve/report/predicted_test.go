package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// What a model expected of trials stands beside what they came to, in their order.
func TestPredicted(t *testing.T) {
	s := found()
	trials := s.Kernels[0].Trials
	trials[1].Verdict, trials[1].Seconds = verdict.OK, 6e-4
	page := func() string {
		var b bytes.Buffer
		if err := Write(&b, s.Story()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(page(), "What a model") {
		t.Error("nothing was predicted")
	}
	s.Predicted = []engine.PredictedTrials{
		{Kernel: "another", Fractions: []float64{1, 1, 1, 1}},
		{Kernel: "heat[0:1]", Fractions: []float64{0.6, 0.8, 0.1, 0.2}},
	}
	k := &s.Story().Kernels[0]
	want := []Point{{X: 0.8, Y: 0.5}, {X: 0.1}, {X: 0.6, Y: 1}, {X: 0.2}} // by when they ended
	got := k.predicted()
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("the %d. is %v, not %v", i+1, got[i], want[i])
		}
	}
	text := page()
	for _, want := range []string{"By prediction the best is number 2 of 4; the correlation is 0.7",
		"part of the best trial&#39;s speed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	s.Predicted[1].Fractions = []float64{0.5, 0.5, 0.5, 0.5}
	const alike = "By prediction the best is number 1 of 4."
	if text := s.Story().Kernels[0].PredictedText(); !strings.HasSuffix(text, alike) {
		t.Error(text)
	}
	s.Predicted[1].Fractions = []float64{0.5} // of another search
	if strings.Contains(page(), "What a model") {
		t.Error("predictions of other trials are shown")
	}
}
