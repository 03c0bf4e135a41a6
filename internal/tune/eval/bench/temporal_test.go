package bench

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// A row is right at every cell, the fastest plan that can run is measured, and rows of a file stay.
func TestTemporal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	var log strings.Builder
	for _, steps := range []string{"7", "9"} {
		o := TemporalOptions{
			Device: "opencl:0", Cases: []string{"star5"}, DTypes: []string{"float"},
			Set: map[string]string{"N": "21"}, Steps: int64(steps[0] - '0'), Log: &log,
			Plans: []string{
				"body[0:2]@2{family=overlap,block=32}", "body[0:2]@3{family=overlap,block=32}",
				"body[0:2]@2{family=none}",
			},
			Each: func(r TemporalRow) error { return MergeTemporal(path, r) }, Least: time.Millisecond,
		}
		rows, err := Temporal(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, r := range rows {
			if r.Differ != 0 || r.Cells != 2*21*21 || r.Depth < 2 || r.Rate <= 0 || r.Single <= 0 || r.Low > r.Rate ||
				r.High < r.Rate || r.Cool < r.Rate {
				t.Errorf("%+v", r)
			}
		}
	}
	if !strings.Contains(log.String(), "family=none}: ") {
		t.Errorf("nothing is said of the plan that cannot be run:\n%s", log.String())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []TemporalRow
	if err := json.Unmarshal(text, &kept); err != nil || len(kept) != 2 {
		t.Errorf("%d rows are kept, %v", len(kept), err)
	}
	if err := MergeTemporal(path, kept[0]); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil || string(again) != string(text) {
		t.Errorf("a row that is there is kept twice: %v", err)
	}
}

// Cells that differ are counted, and what stops a search of plans is an error.
func TestTemporalDiffers(t *testing.T) {
	a, b := randomCells(types.F32, 70_000, 1), randomCells(types.F32, 70_000, 1)
	if n := differing(a, b, 4); n != 0 {
		t.Errorf("%d of equal cells differ", n)
	}
	b[5]++
	b[4*69_999] ^= 1
	if n := differing(a, b, 4); n != 2 {
		t.Errorf("%d cells differ, not 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Temporal(ctx, TemporalOptions{
		Device: "opencl:0", Cases: []string{"star5"}, DTypes: []string{"float"}, Set: map[string]string{"N": "9"},
		Steps: 2, Plans: []string{"body[0:2]@2{family=overlap,block=32}"}, Log: os.Stderr,
		Each: func(TemporalRow) error { return nil },
	})
	if err == nil {
		t.Error("it went on after it was cancelled")
	}
}
