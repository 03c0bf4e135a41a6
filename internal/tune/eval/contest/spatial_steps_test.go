package contest

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// Each step of each case leaves a space that is not empty, and its configurations are built. So it is with the search
// spaces that come with gridloom.
func TestSpatialStepSpaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	count := map[string]int64{}
	for _, name := range SpatialCases {
		for step := range SpatialSteps {
			s := stepOf{name, types[step%2], step}
			b, _, err := s.program(40)
			if err != nil {
				t.Fatal(err)
			}
			o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Guard: true}
			choices, err := lower.Choices(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.restrictions()
			if err != nil {
				t.Fatal(err)
			}
			left, notes, err := list.Apply([]string{choices[0].ID()}, []schedule.Space{choices[0].Space})
			if err != nil || len(notes) > 0 {
				t.Errorf("%s: %v, %v", s.title(), notes, err)
				continue
			}
			count[name+" "+SpatialSteps[step].Name] = left[0].Count().Int64()
			if list == nil {
				continue // some configurations take more than a GPU has
			}
			for _, c := range left[0].Sample(rng, 3) {
				o.Plan = schedule.Plan{Every: c}
				if _, err := lower.Program(b.Program, o); err != nil {
					t.Errorf("%s, %v: %v", s.title(), c, err)
				}
			}
		}
	}
	for _, name := range SpatialCases { // what a step adds is there
		if count[name+" unrolled"] <= count[name+" prefetch"] || count[name+" texture"] < 2*count[name+" unrolled"] ||
			count[name+" tuned"] < 1000*count[name+" texture"] {
			t.Errorf("%s: %v", name, count)
		}
	}
	for _, name := range search.SpaceFiles() {
		file, ok := search.SpaceFile(name)
		if _, err := schedule.ParseRestrictions(name, file); err != nil || !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := search.SpaceFile("../spaces/zhang-mueller"); ok {
		t.Error("a path is taken for a name")
	}
}

// Steps are measured row by row, each with what its name says, and not measured twice.
func TestSpatialSteps(t *testing.T) {
	s := stepOf{"star7", "double", 0}
	b, _, err := s.program(12)
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "steps.json")
	opened := 0
	o := SpatialStepsOptions{
		Search: Search{
			Trials: 12, Commit: "abc", Log: io.Discard,
			Open: func(context.Context) (measure.Lab, error) {
				opened++
				return &scripted{program: b.Program, machine: gpu, name: "Pretended"}, nil
			},
		},
		Cases: []string{"star7"}, DTypes: []string{"double"}, Size: 12,
		Each: func(r SpatialStepRow) error { return MergeSpatialSteps(path, r) },
	}
	o.Steps = []string{"base", "shared", "texture"}
	if _, err := SpatialStepsOf(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if o.Have, err = ReadSpatialSteps(path); err != nil || len(o.Have) != 3 {
		t.Fatalf("%d rows: %v", len(o.Have), err)
	}
	o.Steps = nil
	rows, err := SpatialStepsOf(t.Context(), o)
	if err != nil || len(rows) != len(SpatialSteps)-3 {
		t.Fatalf("%d more rows: %v", len(rows), err)
	}
	all, err := ReadSpatialSteps(path)
	if err != nil || len(all) != len(SpatialSteps) {
		t.Fatalf("%d rows: %v", len(all), err)
	}
	wants := map[string]string{
		"base": "family=cells", "queue": "stages=0", "shared": "stages=1", "rows": "layout=shifted|layout=padded",
		"rimless": "rimless=own", "prefetch": "prefetch=1", "unrolled": "load=plain",
		"texture": "rimless=own", "tuned": "family=",
	}
	for i, r := range all {
		if r.Step != SpatialSteps[i].Name || r.GStencils != 1000/r.Seconds/1e9 || r.Commit != "abc" || r.Trials == 0 {
			t.Errorf("%+v", r)
		}
		found := false
		for want := range strings.SplitSeq(wants[r.Step], "|") {
			found = found || strings.Contains(r.Plan, want)
		}
		if !found {
			t.Errorf("%s: %s has no %s", r.Step, r.Plan, wants[r.Step])
		}
		words, streams := r.BlockSize != "" && r.BlockDim != "", strings.Contains(r.Plan, "stream=")
		if words != (r.Step != "base" && streams) {
			t.Errorf("%s: %q of %q threads", r.Plan, r.BlockSize, r.BlockDim)
		}
	}
	o.Cases = []string{"star9"}
	if _, err := SpatialStepsOf(t.Context(), o); err == nil {
		t.Error("there is a case star9")
	}
	var text bytes.Buffer
	all[0].GStencils, all[1].GStencils = 2, 3
	all[7].BlockSize, all[7].BlockDim, all[7].Texture, all[7].GStencils = "64x8", "32x4", true, 5
	WriteSpatialSteps(&text, all)
	for _, want := range []string{
		"| star7 | double | 12x12x12 | queue | 3 | 1.500 | 0.001 |",
		"| star7 | double | 12x12x12 | 64x8 | 32x4 | Y | 5 |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

// The words of the paper's table 2.
func TestSpatialStepWords(t *testing.T) {
	c, err := schedule.ParseConfig("family=planes,stream=k,block=4x32,vec=1,rows=2,load=readonly")
	if err != nil {
		t.Fatal(err)
	}
	var r SpatialStepRow
	if r.words(c); r.BlockSize != "32x8" || r.BlockDim != "32x4" || !r.Texture {
		t.Errorf("%+v", r)
	}
}
