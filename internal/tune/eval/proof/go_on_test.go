package proof

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/versions"
)

// A proof in two parts is the proof in one.
func TestGoOn(t *testing.T) {
	t.Parallel()
	part := func(seed uint64, pairs int) *GPUResult {
		r, err := GPU(context.Background(), GPUOptions{Pairs: pairs, Seed: seed, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		r.Commit = Names{"abc"}
		return r
	}
	whole, first, second := part(70000, 5), part(70000, 2), part(70002, 3)
	if err := first.After(second); err == nil ||
		!strings.Contains(err.Error(), "ended before seed 70005, and this one began with 70000") {
		t.Errorf("%v", err)
	}
	if err := second.After(first); err != nil {
		t.Fatal(err)
	}
	whole.Seconds, second.Seconds = 0, 0
	if len(whole.Failures) == 0 && len(second.Failures) == 0 {
		whole.Failures, second.Failures = nil, nil
	}
	whole.Missing, second.Missing = union(nil, whole.Missing), union(nil, second.Missing)
	if !reflect.DeepEqual(whole, second) {
		t.Errorf("in one:\n%+v\nin two:\n%+v", whole, second)
	}
}

func TestGoOnDevice(t *testing.T) {
	earlier := &DeviceResult{
		Set:       versions.Current(),
		Device:    "cuda:0",
		Name:      "a",
		Programs:  2,
		Plans:     6,
		FirstSeed: 1,
		NextSeed:  4,
		Runs:      9,
		Cells:     100,
		Commit:    Names{"x"},
		Failures:  []Failure{{Seed: 2}},
	}
	earlier.count("vec", "2")
	later := &DeviceResult{
		Set:       versions.Current(),
		Device:    "cuda:0",
		Name:      "a",
		Programs:  2,
		Plans:     4,
		FirstSeed: 4,
		NextSeed:  6,
		Runs:      5,
		Cells:     11,
		Commit:    Names{"y"},
		Failures:  []Failure{{Seed: 5}},
	}
	later.count("vec", "1")
	later.count("vec", "2")
	if err := later.After(earlier); err != nil {
		t.Fatal(err)
	}
	want := &DeviceResult{
		Set:       versions.Current(),
		Device:    "cuda:0",
		Name:      "a",
		Programs:  2,
		Plans:     10,
		FirstSeed: 1,
		NextSeed:  6,
		Runs:      14,
		Cells:     111,
		Commit:    Names{"x", "y"},
		Failures:  []Failure{{Seed: 2}, {Seed: 5}},
	}
	want.Coverage = Coverage{Families: Counts{Name: "family"}, Values: []Counts{{"vec", []Count{{"1", 1}, {"2", 2}}}}}
	later.Missing = nil
	if !reflect.DeepEqual(later, want) {
		t.Errorf("%+v", later)
	}
	for _, e := range []DeviceResult{{Device: "cuda:0", Name: "b", Programs: 2, NextSeed: 1},
		{Device: "cuda:0", Name: "a", Programs: 3, NextSeed: 1}, {NextSeed: 9}} {
		if err := later.After(&e); err == nil {
			t.Errorf("%+v was added", e)
		}
	}
}

// What was proven under another version of the arithmetic is not gone on with; what names no version is of the first.
func TestGoOnOfOtherVersions(t *testing.T) {
	const want = "the earlier proof was made under arithmetic 1 and program IR 1, and this one under "
	r := &Result{Set: versions.Current(), FirstSeed: 7}
	if err := r.After(&Result{NextSeed: 7}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	if err := r.After(&Result{Set: versions.Current(), NextSeed: 7}); err != nil {
		t.Error(err)
	}
}

// A proof on the processor in two parts is the proof in one.
func TestGoOnCPU(t *testing.T) {
	part := func(seed uint64, programs int) *Result {
		r, err := CPU(context.Background(), Options{Programs: programs, Seed: seed, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds = 0
		return r
	}
	whole, first, second := part(50100, 5), part(50100, 2), part(50102, 3)
	if err := first.After(second); err == nil ||
		!strings.Contains(err.Error(), "ended before seed 50105, and this one began with 50100") {
		t.Errorf("%v", err)
	}
	if err := second.After(first); err != nil {
		t.Fatal(err)
	}
	if whole.Programs != 5 || whole.Cells == 0 || !reflect.DeepEqual(whole, second) {
		t.Errorf("in one:\n%+v\nin two:\n%+v", whole, second)
	}
}

// Names of former versions, which joined several with commas, are read as those names; they are written as a list.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		text, written string
		want          Names
	}{
		{`""`, `""`, nil},
		{`"AMD EPYC"`, `"AMD EPYC"`, Names{"AMD EPYC"}},
		{`"AMD EPYC, Intel(R) Xeon(R) Processor"`, `["AMD EPYC","Intel(R) Xeon(R) Processor"]`,
			Names{"AMD EPYC", "Intel(R) Xeon(R) Processor"}},
		{`["a, b","c"]`, `["a, b","c"]`, Names{"a, b", "c"}},
	} {
		var n Names
		if err := json.Unmarshal([]byte(c.text), &n); err != nil || !slices.Equal(n, c.want) {
			t.Errorf("%s is %q, %v", c.text, n, err)
		}
		if text, err := json.Marshal(n); err != nil || string(text) != c.written {
			t.Errorf("%s is written %s, %v", c.text, text, err)
		}
	}
	if got := (Names{"", "a", "b"}).with(Names{"b", "", "c"}); got.String() != "a, b, c" {
		t.Errorf("%v", got)
	}
	if err := new(Names).UnmarshalJSON([]byte("7")); err == nil {
		t.Error("a number is a name")
	}
}
