package session

import (
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// seconds draws times from nanoseconds to hours.
func seconds(t *rapid.T, name string) float64 {
	return math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, name), rapid.IntRange(-30, 12).Draw(t, name+" exponent"))
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// trial1 is a trial with everything filled in.
func trial1() Trial {
	return Trial{
		Config: "heat[0:1]@1{family=planes,stream=k,block=4x64};norm[0:1]@1{family=tile}", Verdict: verdict.OK,
		Median: 0.00123456789, Low: 0.0012, High: 0.0013, Samples: []float64{0.00124, 0.00122, 0.0013},
		Resources: Resources{64, 8, 4096, 2, 0.75}, Condition: Condition{1980, 3201, 41, 320, 700}, Error: 1e-12,
		Compile: 1500 * time.Millisecond, Measure: 40 * time.Millisecond, Validate: 3 * time.Millisecond,
		Search: 17 * time.Microsecond, Other: 2 * time.Millisecond,
		At: noon.Add(1234 * time.Millisecond),
	}
}

func drawTrial(t *rapid.T) Trial {
	trial := Trial{
		Verdict: verdict.Verdict(rapid.IntRange(0, int(verdict.Wrong)).Draw(t, "verdict")),
		Median:  seconds(t, "median"),
		Reused:  rapid.Bool().Draw(t, "reused"),
		Code:    Code(rapid.Uint64().Draw(t, "code")),
		At:      noon.Add(time.Duration(rapid.Int64Range(-1e9, 1e15).Draw(t, "at"))),
		Resources: Resources{rapid.IntRange(0, 255).Draw(t, "registers"), rapid.IntRange(0, 1<<20).Draw(t, "spills"),
			rapid.IntRange(0, 1<<18).Draw(t, "shared"), rapid.IntRange(0, 64).Draw(t, "blocks"),
			rapid.Float32Range(0, 1).Draw(t, "occupancy")},
		Error: rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN()})).Draw(t, "error"),
	}
	if rapid.Bool().Draw(t, "condition") {
		for _, n := range trial.Condition.parts() {
			*n = rapid.IntRange(0, 4000).Draw(t, "condition")
		}
	}
	near := rapid.Float64Range(0.5, 2)
	if rapid.Bool().Draw(t, "near") {
		trial.Samples = rapid.SliceOf(rapid.Map(near, func(f float64) float64 { return f * trial.Median })).Draw(t,
			"samples")
	} else {
		trial.Samples = rapid.SliceOf(rapid.Custom(func(t *rapid.T) float64 { return seconds(t, "sample") })).Draw(t,
			"samples")
	}
	if rapid.Bool().Draw(t, "interval") {
		trial.Low, trial.High = trial.Median*rapid.Float64Range(0, 1).Draw(t, "low"),
			trial.Median*rapid.Float64Range(1, 2).Draw(t, "high")
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
		trial.Round(noon)
		again := trial
		again.Round(noon)
		if !reflect.DeepEqual(trial, again) {
			t.Fatalf("rounded %+v\nand again %+v", trial, again)
		}
		read := Trial{Verdict: trial.Verdict, Median: trial.Median}
		if err := read.Unpack(trial.Pack(noon), noon); err != nil || !reflect.DeepEqual(read, trial) {
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
		if given.High != 0 && (trial.Low > given.Low || trial.High < given.High || given.Low-trial.Low > 4e-6*largest ||
			trial.High-given.High > 4e-6*largest) {
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
	trial.Round(noon)
	whole := trial.Pack(noon)
	for n := range whole {
		if err := (&Trial{Median: trial.Median}).Unpack(whole[:n], noon); err != errPacked {
			t.Errorf("the first %d of %d bytes were read: %v", n, len(whole), err)
		}
	}
	if err := (&Trial{Median: trial.Median}).Unpack(append(whole, 0), noon); err != errPacked {
		t.Error("a byte too many was passed over")
	}
}
