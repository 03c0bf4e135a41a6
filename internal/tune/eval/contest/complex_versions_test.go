package contest

import (
	"bytes"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Each version leaves of each kernel what its name says, and no version leaves nothing.
func TestComplexVersionSpaces(t *testing.T) {
	for _, at := range []int{2, 5, 6} { // helmholtz, miniflux, hypterm
		b, _, err := ComplexCases[at].Program(examples.FS, 20)
		if err != nil {
			t.Fatal(err)
		}
		o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, NoInitial: true}
		choices, err := lower.Choices(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var spaces []schedule.Space
		for _, c := range choices {
			names, spaces = append(names, c.ID()), append(spaces, c.Space)
		}
		counts := map[string]int64{}
		for _, v := range ComplexVersions {
			left, _, err := v.restrict(names, spaces)
			if err != nil {
				t.Errorf("%s of %s: %v", v.Name, b.Program.Name, err)
				continue
			}
			counts[v.Name] = left[0].Count().Int64()
			for _, s := range left {
				c := s.Default(s.Families[0].Name)
				set := s.ByRole(c)
				kind, _, _ := strings.Cut(v.Name, "-")
				wrong := kind == "global" && set.Int(schedule.Staging, 0) != 0 ||
					kind == "shared" && (set.Int(schedule.Staging, 0) == 0 || !set.Has(schedule.Stream)) ||
					strings.HasSuffix(v.Name, "stream") && !set.Has(schedule.Stream) ||
					v.plain && set.Int(schedule.Vector, 1) != 1 ||
					strings.HasSuffix(v.Name, "base") && set.Int(schedule.Threads, 1) != 256
				if wrong {
					t.Errorf("%s of %s has %v", v.Name, b.Program.Name, c)
				}
			}
		}
		for _, kind := range []string{"global", "shared"} {
			base := counts[kind+"-base"]
			if base < 2 || base > 16 || counts[kind+"-block"] < 8*base || counts[kind+"-unroll"] < 8*base ||
				counts[kind] < 100*counts[kind+"-block"] {
				t.Errorf("%s: %v", b.Program.Name, counts)
			}
		}
	}
}

// Versions are measured row by row with their intensities, and not measured twice.
func TestComplexVersions(t *testing.T) {
	c := ComplexCases[6] // hypterm
	b, _, err := c.Program(examples.FS, 20)
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "versions.json")
	o := ComplexVersionsOptions{
		ComplexOptions: ComplexOptions{
			Search: Search{
				Trials: 3, Commit: "abc", Log: io.Discard,
				Open: func(context.Context) (measure.Lab, error) {
					return &scripted{program: b.Program, machine: gpu, name: "Pretended"}, nil
				},
			},
			Sources: examples.FS, Cases: []ComplexCase{c}, Size: 20,
		},
		Versions: []string{"shared-base", "global-base"},
		Keep:     func(r ComplexVersionRow) error { return MergeComplexVersions(path, r) },
	}
	if _, err := Versions(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadComplexVersions(path)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if again, err := Versions(t.Context(), ComplexVersionsOptions{
		ComplexOptions: o.ComplexOptions, Versions: o.Versions, Rows: rows, Keep: o.Keep,
	}); err != nil || len(again) != 0 {
		t.Errorf("%d rows again: %v", len(again), err)
	}
	// Another commit measures both again, and, if only those are wanted that are missing, none, or those that had less
	// time.
	for _, c := range []struct {
		missing bool
		had     float64 // of the first row
		want    int
	}{{false, 9, 2}, {true, 9, 0}, {true, 8, 1}} {
		o := o
		o.Commit, o.Missing, o.Budget = "def", c.missing, 9*time.Second
		o.Rows = slices.Clone(rows)
		o.Rows[0].Budget, o.Rows[1].Budget = c.had, 9
		o.Keep = func(ComplexVersionRow) error { return nil }
		if again, err := Versions(t.Context(), o); err != nil || len(again) != c.want {
			t.Errorf("%+v: %d rows again: %v", c, len(again), err)
		}
	}
	base, shared := rows[0], rows[1]
	if base.Version != "global-base" || base.Families != "tile" || shared.Version != "shared-base" ||
		shared.Families != "planes" {
		t.Fatalf("%s by %s, %s by %s", base.Version, base.Families, shared.Version, shared.Families)
	}
	// The paper has 3.44 in theory. The kernels have 12 x 12 x 12 points, read eight arrays, and write five: the
	// first of them reads those, too.
	for i, r := range rows {
		x, arrays := r.Intensity[0], []float64{18, 13}[i]
		if len(r.Intensity) != 1 || math.Abs(r.Theoretical-3.44) > 0.05 || x.Flops != r.Flops*12*12*12 ||
			math.Abs(x.OfDRAM-x.Flops/(arrays*8*20*20*20)) > 1e-9 {
			t.Errorf("%+v", r)
		}
	}
	if base.Intensity[0].Shared != 0 || shared.Intensity[0].Shared == 0 ||
		shared.Intensity[0].OfCache <= base.Intensity[0].OfCache {
		t.Errorf("%+v, %+v", base.Intensity[0], shared.Intensity[0])
	}
	var text bytes.Buffer
	rows[1].Points, rows[1].Intensity[0].OfShared = 7e9, 0.25
	WriteComplexVersions(&text, slices.Clone(rows))
	for _, want := range []string{
		" | 7 | - | - | - | - | - | - |\n", "| hypterm | shared-base | hypterm | 3.44 |", " 0.25 |\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

// The version of the source with shared values is measured where there is one.
func TestComplexVersionOfSource(t *testing.T) {
	for name, shares := range map[string]bool{"addsgd6": true, "hypterm": false} {
		c := ComplexCases[slices.IndexFunc(ComplexCases, func(c ComplexCase) bool { return c.Name == name })]
		b, set, err := c.Program(examples.FS, 20)
		if err != nil {
			t.Fatal(err)
		}
		src, err := c.source(examples.FS)
		if err != nil {
			t.Fatal(err)
		}
		v, err := versionOf(src, "cire", b, set)
		if err != nil || (v != nil) != shares {
			t.Errorf("%s: %v, %v", name, v, err)
		}
		if shares && !slices.Equal(v.Params, b.Params) {
			t.Errorf("%s: %v, and not %v", name, v.Params, b.Params)
		}
	}
}
