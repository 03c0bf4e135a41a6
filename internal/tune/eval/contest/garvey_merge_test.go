package contest

import (
	"encoding/json"
	"math"
	"testing"
)

// A result of one kernel leaves those of others, and their averages, as they were.
func TestMerge(t *testing.T) {
	replay := func(list ...*recordingFile) *GarveyResult {
		g, err := compare(t.Context(), list, GarveyOptions{Seeds: 2, Log: testWriter{t}})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	text := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var old GarveyResult // as a file has it
	if err := json.Unmarshal([]byte(text(replay(made("dense-zyx-r1", 2), made("star-zyx-r5", 2)))), &old); err != nil {
		t.Fatal(err)
	}
	other := made("dense-zyx-r1", 2)
	for i := range other.list {
		other.list[i].Seconds *= 3
	}
	g := replay(other)
	n, err := g.Merge(&old)
	if err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	if len(g.Kernels) != 2 || g.Kernels[0].Kernel != "dense-zyx-r1" || math.Abs(g.Kernels[0].Best-1.5) > 1e-9 ||
		g.Kernels[1] != old.Kernels[1] || len(g.Loading) != 8 || g.Summary.Pairs != 8 ||
		text(g.Loading[4:]) != text(old.Loading[4:]) || text(g.Loading[:4]) == text(old.Loading[:4]) {
		t.Errorf("%+v", g)
	}
	if text(g.Rows) != text(old.Rows) || text(g.Interest) != text(old.Interest) ||
		text(g.ByTechnique) != text(old.ByTechnique) || text(g.Values) != text(old.Values) {
		t.Error("averages are of one kernel")
	}
	g = replay(made("dense-zyx-r1", 2), made("star-zyx-r5", 2), made("star-zx-r3", 2))
	rows := text(g.Rows)
	if n, err := g.Merge(&old); n != 0 || err != nil || len(g.Kernels) != 3 || text(g.Rows) != rows {
		t.Errorf("all of the file were replayed: %d, %v", n, err)
	}
	g = replay(other)
	g.Grid = "64x64x64"
	if n, err := g.Merge(&old); err == nil {
		t.Errorf("%d kernels of another grid are kept beside", n)
	}
}
