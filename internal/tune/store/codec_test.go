package store

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// seconds draws times from nanoseconds to hours.
func seconds(t *rapid.T, name string) float64 {
	return math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, name), rapid.IntRange(-30, 12).Draw(t, name+" exponent"))
}

func drawTrial(t *rapid.T) Trial {
	trial := Trial{
		Verdict: Verdict(rapid.IntRange(0, int(Wrong)).Draw(t, "verdict")),
		Median:  seconds(t, "median"),
		Reused:  rapid.Bool().Draw(t, "reused"),
		At:      noon.Add(time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "at"))),
		Resources: Resources{rapid.IntRange(0, 255).Draw(t, "registers"), rapid.IntRange(0, 1<<20).Draw(t, "spills"),
			rapid.IntRange(0, 1<<18).Draw(t, "shared"), rapid.Float32Range(0, 1).Draw(t, "occupancy")},
		Error: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN()})).Draw(t, "error"),
	}
	near := rapid.Float64Range(0.5, 2)
	if rapid.Bool().Draw(t, "near") {
		trial.Samples = rapid.SliceOf(rapid.Map(near, func(f float64) float64 { return f * trial.Median })).Draw(t, "samples")
	} else {
		trial.Samples = rapid.SliceOf(rapid.Custom(func(t *rapid.T) float64 { return seconds(t, "sample") })).Draw(t, "samples")
	}
	if rapid.Bool().Draw(t, "interval") {
		trial.Low, trial.High = trial.Median*rapid.Float64Range(0, 1).Draw(t, "low"), trial.Median*rapid.Float64Range(1, 2).Draw(t, "high")
	}
	for _, d := range trial.times() {
		*d = time.Duration(rapid.Int64Range(0, 1e13).Draw(t, "time"))
	}
	return trial
}

// What a trial was rounded to is what is read, rounding it again changes
// nothing, and it is as near as promised.
func TestRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := drawTrial(t)
		trial := given
		trial.round(noon)
		again := trial
		again.round(noon)
		if !reflect.DeepEqual(trial, again) {
			t.Fatalf("rounded %+v\nand again %+v", trial, again)
		}
		read := Trial{Verdict: trial.Verdict, Median: trial.Median}
		if err := read.unpack(trial.pack(noon), noon); err != nil || !reflect.DeepEqual(read, trial) {
			t.Fatalf("read %+v\nwant %+v: %v", read, trial, err)
		}
		if trial.Median != given.Median || len(trial.Samples) != len(given.Samples) {
			t.Fatalf("%+v became %+v", given, trial)
		}
		largest := given.High
		for _, v := range given.Samples {
			largest = max(largest, v)
		}
		for i, v := range given.Samples {
			if d := math.Abs(v - trial.Samples[i]); d > largest*math.Ldexp(1, -timingBits) {
				t.Fatalf("sample %v became %v", v, trial.Samples[i])
			}
		}
		if given.High != 0 && (trial.Low > given.Low || trial.High < given.High || given.Low-trial.Low > 4e-6*largest || trial.High-given.High > 4e-6*largest) {
			t.Fatalf("the interval %v to %v became %v to %v", given.Low, given.High, trial.Low, trial.High)
		}
		if d := given.At.Sub(trial.At); given.At.After(noon) && (d < 0 || d >= time.Millisecond) {
			t.Fatalf("%v became %v", given.At, trial.At)
		}
	})
}

// Bytes that are cut off or go on are no trial.
func TestDamagedDetail(t *testing.T) {
	trial := trial1()
	trial.round(noon)
	whole := trial.pack(noon)
	for n := range whole {
		if err := (&Trial{Median: trial.Median}).unpack(whole[:n], noon); err != errPacked {
			t.Errorf("the first %d of %d bytes were read: %v", n, len(whole), err)
		}
	}
	if err := (&Trial{Median: trial.Median}).unpack(append(whole, 0), noon); err != errPacked {
		t.Error("a byte too many was passed over")
	}
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"threads=2", []string{"threads=2"}},
		{"heat[0:1]@1{family=loops,threads=2};norm[0:1]@1{x=1}", []string{"heat[0:1]@1{", "family=loops,", "threads=2};", "norm[0:1]@1{", "x=1}"}},
	} {
		if got := pieces(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q is cut into %q", c.text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z=,{};]*`).Draw(t, "text")
		if got := strings.Join(pieces(text), ""); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
