package learning

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// All kernels of a suite are ranked, and an end is heard.
func TestRankingTimes(t *testing.T) {
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	suite, err := synth.FindSuite("lift")
	if err != nil {
		t.Fatal(err)
	}
	m, err := predict.Builtin(&session.Device{API: "cuda", Name: "NVIDIA H200"})
	if err != nil {
		t.Fatal(err)
	}
	o := RankingOptions{
		Suite: suite, Target: target.OnPaper(emit.CUDA, h200, arith.Contract), Model: m, Rounds: 1, Log: io.Discard,
	}
	rows, err := RankingTimes(t.Context(), o)
	if err != nil || len(rows) != len(suite.Programs()) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r.Candidates < 10000 || !(r.Draw > 0 && r.Rank > 0) {
			t.Errorf("%+v", r)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := RankingTimes(ended, o); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	var b strings.Builder
	err = WriteRankingTimes(&b, []RankingTime{{Candidates: 10, Rank: 0.002}, {Candidates: 30, Draw: 0.5, Rank: 0.003}})
	const want = `2 kernels   least   median    most
candidates  10      20        30
drawn in    0.0 ms  250.0 ms  500.0 ms
ranked in   2.0 ms  2.5 ms    3.0 ms
`
	if err != nil || b.String() != want {
		t.Errorf("%v, and\n%s", err, b.String())
	}
}
