package omnitune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// fourKernels are four kernels on four datasets, of which two are generated. All are the fastest at 32x4, half as fast
// at 64x4 and a quarter as fast at 4x4; but Life is the fastest at 64x4, and half as fast at 32x4.
func fourKernels() []map[string]any {
	var list []map[string]any
	for k, name := range []string{"[1_1_1_1]", "[5_5_5_5]c", "Blur", "Life"} {
		for n := range 4 {
			x := map[string]any{
				"Benchmark": name, "dev_name": "a device", "DataWidth": 512 * float64(n+1), "DataHeight": 512.0,
				"kernel_instructions": 100 * float64(k), "Runtime4x4": 4.0, "Runtime32x4": 1.0, "Runtime64x4": 2.0,
			}
			if name == "Life" {
				x["Runtime32x4"], x["Runtime64x4"] = 2.0, 1.0
			}
			list = append(list, x)
		}
	}
	return list
}

// A kernel is generated if its borders stand in place of a name.
func TestGeneratedNames(t *testing.T) {
	list := fourKernels()
	names := map[string]bool{
		"[1_1_1_1]": true, "[30_30_30_30]c": true, "[": true, "GaussianBlur": false, "Blur[3]": false, "1_1_1_1": false,
		"": false, " [1_1_1_1]": false, "(1_1_1_1)": false,
	}
	var want []bool
	for name, generated := range names {
		list[len(want)]["Benchmark"] = name
		want = append(want, generated)
	}
	s, err := suiteOf(list[:len(want)])
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range s.Scenarios {
		if x.Synthetic != want[i] {
			t.Errorf("%q is generated: %v", x.Name, x.Synthetic)
		}
	}
}

// Figures of tenths and of kernels that are not generated are what they are by hand. From generated kernels alone there
// is one fastest size to learn.
func TestRunTenthsAndGenerated(t *testing.T) {
	s, err := Read(write(t, map[string]any{"data": fourKernels()}, false))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	kept := 0
	rows, err := Run(t.Context(), s, Splits[:2], "", &log, nil, func(rows []Row) error {
		kept += len(rows)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept != len(rows) || strings.Count(log.String(), "\n") != 2*(len(Families)+len(Models())) {
		t.Errorf("%d rows of %d are kept: %s", kept, len(rows), log.String())
	}
	find := func(model, split, metric string) (Row, bool) {
		i := slices.IndexFunc(rows, func(r Row) bool {
			return r.Model == model && r.Split == split && r.Metric == metric
		})
		if i < 0 {
			return Row{}, false
		}
		return rows[i], true
	}
	for _, c := range []struct {
		model, split, metric string
		value                float64
		groups, count        int
	}{
		// Twelve scenarios have the usual size; the four others have half the speed there.
		{ZeroR, "10-fold", speedMetric, 14.0 / 16, 16, 160},
		{ZeroR, "10-fold", "accuracy", 12.0 / 16, 16, 160},
		{ZeroR, "10-fold", "speed, least", 0.5, 16, 160},
		{Table, "10-fold", speedMetric, 14.0 / 16, 16, 160},
		{Table, "10-fold", baselineMetric, math.Pow(4, 12.0/16) * math.Pow(2, 4.0/16), 16, 160},
		{"j48, random", "10-fold", speedMetric, 1, 16, 160},
		{"class forest, baseline", "10-fold", "accuracy", 1, 16, 160},
		{"zeror, nearest", "10-fold", validityMetric, 1, 16, 160},
		// Of two kernels one has the usual size.
		{ZeroR, "synthetic", speedMetric, 0.75, 2, 8},
		{Table, "synthetic", "speed, geometric mean", math.Sqrt(0.5), 2, 8},
		{"j48, nearest", "synthetic", speedMetric, 0.75, 2, 8},
		{"logistic, baseline", "synthetic", speedMetric, 0.75, 2, 8},
		{"smo, random", "synthetic", "accuracy", 0.5, 2, 8},
		{"class forest, baseline", "synthetic", baselineMetric, math.Sqrt(8), 2, 8},
		{"speed-up", "synthetic", humanMetric, 1, 2, 8},
	} {
		r, ok := find(c.model, c.split, c.metric)
		if !ok || !(math.Abs(r.Value-c.value) <= 1e-12) || r.Groups != c.groups || r.Count != c.count {
			t.Errorf("%s, %s, %s: %+v, not %v of %d and %d", c.model, c.split, c.metric, r, c.value, c.groups, c.count)
		}
	}
	for _, r := range rows {
		if !(r.Low <= r.Value+1e-12 && r.Value <= r.High+1e-12) || r.Split == "synthetic" && r.Metric == speedMetric &&
			r.Model == ZeroR && fmt.Sprint(r.Low, r.High) != "0.5 1" {
			t.Errorf("%+v", r)
		}
	}
	for _, family := range Families {
		for _, m := range family.Models {
			for _, split := range Splits[:2] {
				classifier := strings.Contains(m.Name, ", ") && !strings.HasPrefix(m.Name, "hybrid")
				if _, ok := find(m.Name, split.Name, speedMetric); !ok {
					t.Errorf("%s, %s has no speed", m.Name, split.Name)
				}
				r, ok := find(m.Name, split.Name, validityMetric)
				if ok != classifier || r.Table != 0 || r.Random != 0 {
					t.Errorf("%s, %s: validity %v, %+v", m.Name, split.Name, ok, r)
				}
			}
		}
	}
	var b strings.Builder
	Write(&b, s, rows)
	for _, want := range []string{"| 10-fold of 16 | zeror | 0.875 |", "| synthetic of 2 | table | 0.750 |",
		"Without a tenth of the scenarios", "Without all kernels but generated ones"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not written: %s", want, b.String())
		}
	}
}
