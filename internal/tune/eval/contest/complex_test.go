package contest

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Each case is the paper's stencil: its flops, arrays and order, at the paper's size.
func TestComplexCases(t *testing.T) {
	for _, c := range ComplexCases {
		b, set, err := c.Program(examples.FS, 0)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		row := &ComplexRow{Case: c.Name}
		points := row.describe(b)
		if err := c.agrees(row); err != nil {
			t.Error(err)
		}
		if most := c.Size * c.Size * c.Size; points > most || float64(points) < 0.9*float64(most) {
			t.Errorf("%s has %d points, and its grid %d cells", c.Name, points, most)
		}
		if bytes, err := bytesOf(b.Program); err != nil || bytes < 8*2 || bytes > 8*float64(2*c.Arrays) {
			t.Errorf("%s moves %g bytes a point: %v", c.Name, bytes, err)
		}
		if (c.Steps > 0) != (set["steps"] != "") {
			t.Errorf("%s: %v", c.Name, set)
		}
		for _, wrong := range []ComplexCase{
			{Name: c.Name, Flops: int(1.1*row.Flops) + 1, Arrays: c.Arrays, Order: c.Order},
			{Name: c.Name, Flops: c.Flops, Arrays: c.Arrays + 1, Order: c.Order},
			{Name: c.Name, Flops: c.Flops, Arrays: c.Arrays, Order: c.Order + 1},
		} {
			if wrong.agrees(row) == nil {
				t.Errorf("%s is taken for %+v", c.Name, wrong)
			}
		}
	}
	if _, _, err := (ComplexCase{Name: "none"}).Program(examples.FS, 0); err == nil {
		t.Error("there is a case without a program")
	}
}

// A row has what a search has found: the kernels that carry a step out, and what they take. A figure above its bound
// fails.
func TestComplexRows(t *testing.T) {
	c := ComplexCases[7] // diffterm
	b, _, err := c.Program(examples.FS, 40)
	if err != nil {
		t.Fatal(err)
	}
	const span = "sequence[0:3]@1{family=planes,block=8x32}"
	const plan = "along[0:3]@1{family=cells,block=8x32};across[0:6]@1{family=cells,block=8x32};" +
		"diffterm[0:34]@1{family=cells,block=4x32};" + span
	found := func(seconds float64) *tuner.Result {
		outcome := tuner.Outcome{Kernel: "sequence[0:3]", Config: "family=planes,block=8x32", Seconds: 0.1, Cells: 7,
			Resources: measure.Resources{Registers: 250, Spills: 8}, At: 9}
		slow, close, late := outcome, outcome, outcome
		slow.Config, slow.Seconds, slow.At = "a", 0.2, 1
		close.Config, close.Seconds, close.At = "b", 0.102, 3
		late.Config, late.Seconds, late.At = "c", 0.101, 5
		return &tuner.Result{
			Contenders: []tuner.Contender{{Plan: plan, Seconds: seconds}}, Best: plan,
			Bound: tuner.Bound{CopyGBs: 4000},
			Loops: []tuner.LoopResult{{Loop: "sequence[0:3]"}},
			Kernels: []tuner.KernelResult{{
				Kernel: "sequence[0:3]", Trials: []tuner.Outcome{slow, close, late, outcome},
			}},
		}
	}
	row := &ComplexRow{Case: c.Name, Steps: 1}
	points := row.describe(b)
	if err := row.read(b.Program, found(1e-3), points, 88); err != nil {
		t.Fatal(err)
	}
	if row.Kernels != 1 || row.Depth != 1 || row.Registers != 250 || row.Spills != 8 || row.Checked != 7 ||
		row.Version != "planes" || row.Points != float64(points)*1e3 || row.Bound != 4000e9/88 ||
		row.NearSeconds != 3 || row.NearTrials != 2 {
		t.Errorf("%+v", row)
	}
	if err := row.read(b.Program, found(1e-9), points, 88); err == nil || !strings.Contains(err.Error(), "above") {
		t.Errorf("a figure above its bound: %v", err)
	}
	path := filepath.Join(t.TempDir(), "rows.json")
	other := *row
	other.Case = "hypterm"
	for _, r := range []ComplexRow{*row, other, *row} {
		if err := MergeComplex(path, r); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := ReadComplex(path)
	if err != nil || len(rows) != 2 || rows[0].Case != "hypterm" { // in the paper's order
		t.Errorf("%v, %+v", err, rows)
	}
	var text bytes.Buffer
	rows[1].Grid, rows[1].Points = "320x320x320", 17e9
	WriteComplex(&text, rows)
	WriteShortComplex(&text, rows)
	for _, want := range []string{"| diffterm | 320x320x320 | 1 | 17 |", "short: diffterm: 17 G points/s, and not 18"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
