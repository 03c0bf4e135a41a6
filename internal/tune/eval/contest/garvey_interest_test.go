package contest

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// handmade is a space of blocks of two widths and two heights, with vectors or without, that has these milliseconds: 0
// where a configuration cannot run, and -1 where it is not in the space.
func handmade(t *testing.T, kernel string, ms [8]float64) *plainSpace {
	t.Helper()
	b := &recordingFile{name: kernel, index: map[string]int{}, about: about{Program: kernel}}
	i := 0
	for _, block := range []string{"1x1x32", "1x1x64", "1x2x32", "1x2x64"} {
		for _, vec := range []string{"1", "4"} {
			o := tuner.Outcome{
				Config:  "family=tile,block=" + block + ",repeat=1x1x1,vec=" + vec + ",load=plain,stages=0",
				Verdict: verdict.OK, Seconds: ms[i] * 1e-3, Compile: 0.5, Cost: 0.75,
			}
			if ms[i] == 0 {
				o.Verdict = verdict.Launch
			}
			if ms[i] >= 0 {
				b.add(o)
			}
			i++
		}
	}
	r, err := b.replayable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newPlainSpace(kernel, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of a space that can be counted by hand all figures are known.
func TestInterest(t *testing.T) {
	// Blocks 32 and 64 wide, then the same of two rows; each without vectors and with them.
	one := handmade(t, "one", [8]float64{8, 1.1, 40, 9.9, 0, 20, 11, 1})
	two := handmade(t, "two", [8]float64{2, 4, 1, 5, 3, 6, 7, -1})
	rows := interest([]*plainSpace{one, two}, 3, 100)
	if len(rows) != 3 || rows[0].Kernel != "one" || rows[1].Kernel != "two" || rows[2].Kernel != "" {
		t.Fatalf("%+v", rows)
	}
	// 1 and 1.1 are within 10 % by the speed (1/1.1 = 0.91); 11, 20 and 40 are 10 times slower, and what cannot run is
	// neither.
	if r := rows[0]; r.Near != 2.0/8 || r.Slow != 3.0/8 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Near != 1.0/7 || r.Slow != 0 {
		t.Errorf("%+v", r)
	}
	// A sample of all begins with the best, around which nothing is better.
	for _, r := range rows {
		if r.Alone != 1 || r.AloneOfBest != 1 || r.AloneFails != 0 {
			t.Errorf("%+v", r)
		}
	}
	// The best of one is none of two's, and the best of two takes 40 there, where 1 is the best.
	if r := rows[0]; *r.Others != 0 || *r.OthersLeast != 0 || r.OthersFail != 1 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; *r.Others != 1.0/40 || *r.OthersLeast != 1.0/40 || r.OthersFail != 0 {
		t.Errorf("%+v", r)
	}
	if m := rows[2]; math.Abs(*m.Others-1.0/80) > 1e-12 || *m.OthersLeast != 0 || m.OthersFail != 0.5 ||
		math.Abs(m.Near-(2.0/8+1.0/7)/2) > 1e-12 {
		t.Errorf("%+v", m)
	}
	if alone := interest([]*plainSpace{one}, 3, 100); alone[0].Others != nil || alone[1].Others != nil {
		t.Errorf("there is no other kernel: %+v", alone)
	}
	want := []ValueRow{
		{"block.z", "1", 2}, {"block.y", "1", 1}, {"block.y", "2", 1}, {"block.x", "64", 2},
		{"repeat.z", "1", 2}, {"repeat.y", "1", 2}, {"repeat.x", "1", 2},
		{loading, "global", 1}, {loading, "global with vectors of 4", 1},
	}
	values := bestValues([]*plainSpace{one, two})
	if !slices.Equal(values, want) {
		t.Errorf("%+v", values)
	}
	var out bytes.Buffer
	if err := writeInterest(&out, rows, values); err != nil || !strings.Contains(out.String(), "25.0 %") ||
		!strings.Contains(out.String(), "block.y: 1 (1), 2 (1)\n") || !strings.Contains(out.String(), "34.2 %") {
		t.Errorf("%s, %v", &out, err)
	}
}

// Parameters that are tuned one by one lose where they depend on each other, and may end where nothing runs.
func TestAlone(t *testing.T) {
	// From 32 wide, one row and no vectors (4 ms) each step alone gains: 64 wide 3, two rows 2, vectors 3. All together
	// take 16.
	s := handmade(t, "one", [8]float64{4, 3, 3, 9, 2, 9, 9, 16})
	start := s.configs[s.index["1 1 32 1 1 1 global"]]
	combined := s.alone(start)
	if got := key(combined); got != "1 2 64 1 1 1 global with vectors of 4" || s.time(combined) != 16e-3 {
		t.Errorf("%s takes %g s", got, s.time(combined))
	}
	if got := key(start); got != "1 1 32 1 1 1 global" {
		t.Errorf("it began with %s", got)
	}
	// Samples of one configuration begin anywhere.
	var r InterestRow
	s.interact(&r, 200, 1)
	if r.Alone <= 0.25 || r.Alone >= 4 || r.AloneOfBest >= 1 || r.AloneOfBest < 2.0/16 || r.AloneFails != 0 {
		t.Errorf("%+v", r)
	}
	for _, ms := range []float64{0, -1} { // it cannot run, or is none of the space's
		s := handmade(t, "one", [8]float64{4, 3, 3, 9, 2, 9, 9, ms})
		if c := s.alone(start); !math.IsInf(s.time(c), 1) {
			t.Errorf("%s takes %g s", key(c), s.time(c))
		}
		var r InterestRow
		s.interact(&r, 200, 1)
		if r.AloneFails <= 0 || r.AloneFails >= 1 || r.AloneOfBest >= 1-r.AloneFails+1e-9 {
			t.Errorf("%+v", r)
		}
	}
}
