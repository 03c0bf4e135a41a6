package bench

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRivals(t *testing.T) {
	list, err := ParseRivals(
		[]byte(
			`{"rival": "R", "case": "star7", "dtype": "float", "grid": "8x8x8", "samples": [1, 2, 3, 4, 5], "gstencils": 9}

{"rival": "S", "case": "star7", "failed": "no"}
`))
	if err != nil || len(list) != 2 || list[0].GStencils != 3 || list[0].Interval[0] >= 3 || list[1].Failed != "no" {
		t.Errorf("%+v %v", list, err)
	}
	for text, want := range map[string]string{
		"{}\nx": "line 1 is no result of a rival: it needs rival, case, dtype, grid and at least 5 samples",
		"x":     "line 1 is no result of a rival: invalid character",
	} {
		if _, err := ParseRivals([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKnownPlans(t *testing.T) {
	f, err := knownPlans()
	if err != nil {
		t.Fatal(err)
	}
	for name, types := range f {
		for dtype, plans := range types {
			c := findSpatial(name, dtype)
			if len(c) != 1 {
				t.Fatalf("there is no case %s in %s", name, dtype)
			}
			bound, err := (&SpatialOptions{}).bind(c[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				if _, err := source(bound, p, 0); err != nil {
					t.Errorf("%s %s: %s: %v", name, dtype, p, err)
				}
			}
		}
	}
	if _, err := ParsePlans([]byte("[]")); err == nil || !strings.HasPrefix(err.Error(), "a file of plans is JSON") {
		t.Error(err)
	}
}

// Plans at random are legal, and the same each time.
func TestSampledPlans(t *testing.T) {
	o := SpatialOptions{Sampled: 20}
	for _, c := range []spatialCase{spatialCases[0], findSpatial("star5", "float")[0]} {
		list, err := o.plans(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := o.plans(c)
		if err != nil || !slices.Equal(list, again) || len(list) < 20 || list[0] != "family=cells,block=8x32" {
			t.Errorf("%q\n%q", list, again)
		}
	}
}
