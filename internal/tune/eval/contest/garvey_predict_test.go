package contest

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// predicted returns the rows of predictions by search and what they have learned from.
func predicted(g *GarveyResult) map[string]GarveyRow {
	rows := map[string]GarveyRow{}
	for _, r := range g.Rows {
		if r.Kind == predictedRow {
			rows[r.Strategy+" from "+r.Learned] = r
		}
	}
	return rows
}

// bestBy makes a recording in which a technique is the best: it takes as long as part of what vectors do.
func bestBy(program, way string, part float64) *recordingFile {
	b := made(program, 2)
	for i := range b.list {
		if strings.Contains(b.list[i].Config, way) {
			b.list[i].Seconds *= part
		}
	}
	return b
}

// Where one technique is always the best, forests choose it and there was nothing to learn: the search has the oracle's
// best after a part of its configurations.
func TestPredictedRows(t *testing.T) {
	g, err := compare(t.Context(), []*recordingFile{made("star-zyx-r1", 2), made("dense-zyx-r1", 4)},
		GarveyOptions{Seeds: 2, Log: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	rows := predicted(g)
	if len(rows) != len(grouped) {
		t.Errorf("%d rows", len(rows))
	}
	for _, oracle := range g.Rows {
		if oracle.Kind != oracleRow {
			continue
		}
		r := rows[oracle.Strategy+" from "+fromWhole]
		if r.Prediction == nil || r.Accuracy != 1 || r.Weighted != 1 || r.Usual != 1 || r.Classes != 1 ||
			r.Prediction.Kernels != 2 || r.OverRandom != oracle.OverRandom || r.Best != oracle.Best ||
			r.Configurations >= oracle.Configurations/2 || r.Compile >= oracle.Compile {
			t.Errorf("%+v %+v, and the oracle %+v", r, r.Prediction, oracle)
		}
	}
	if len(g.ByTechnique) != 16 {
		t.Fatalf("%+v", g.ByTechnique)
	}
	for _, x := range g.ByTechnique {
		// The best takes 0.5 ms with vectors of 4 and 1 ms with all else.
		want, best := 0.5, 0
		if x.Technique == "global with vectors" {
			want, best = 1, 2
		}
		if x.Strategy == "Dimensions" && (math.Abs(x.OverRandom-want) > 1e-9 || x.Best != best ||
			x.OverAsMany < want || x.Configurations < 10) {
			t.Errorf("%+v", x)
		}
	}
	var out bytes.Buffer
	if err := WriteGarvey(&out, g); err != nil || !strings.Contains(out.String(), "Dimensions, oracle ") ||
		!strings.Contains(out.String(), "Dimensions, predicted from whole recordings ") ||
		!strings.Contains(out.String(), "0.88, 0.99") {
		t.Errorf("%s, %v", &out, err)
	}
}

// A forest that has learned the wrong technique costs what it costs, and none learns from the stencil that it chooses
// for.
func TestPredictedWrong(t *testing.T) {
	var labels []Label
	for _, name := range []string{"star-zyx-r1", "dense-zyx-r1", "diamond-zyx-r2"} {
		stencil, err := stencilOf(name)
		if err != nil {
			t.Fatal(err)
		}
		_, values, err := garveyFeatures(name, false)
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, Label{stencil, values, "image"})
	}
	labels[0].Technique = "global with vectors" // of the star itself: it must not help
	var log strings.Builder
	star := []*recordingFile{made("star-zyx-r1", 2)}
	g, err := compare(t.Context(), star, GarveyOptions{Seeds: 2, Labels: labels, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	rows := predicted(g)
	r := rows["Dimensions from "+fromLabels]
	if len(rows) != len(grouped) || r.Prediction == nil || r.Accuracy != 0 || math.Abs(r.Weighted-0.5) > 1e-9 ||
		math.Abs(r.OverRandom-0.5) > 1e-9 || r.Best != 0 || r.Classes != 2 || r.Prediction.Kernels != 3 {
		t.Errorf("%+v %+v", r, r.Prediction)
	}
	// There is one whole recording, and so none to learn from.
	if !strings.Contains(log.String(), "nothing is predicted from whole recordings") {
		t.Error(log.String())
	}
	labels[1].Technique = "magic"
	if _, err := compare(t.Context(), star, GarveyOptions{Seeds: 2, Labels: labels, Log: &log}); err == nil {
		t.Error("there is no such technique")
	}
}

// Forests find the technique where the size of a stencil decides on it.
func TestPredictedBySize(t *testing.T) {
	var list []*recordingFile
	for _, name := range []string{"star-zyx-r1", "diamond-zyx-r2", "star-zyx-r2", "no-corners-zyx-r1", "star-zyx-r3"} {
		list = append(list, bestBy(name, "load=image", 0.25))
	}
	for _, name := range []string{"dense-zyx-r2", "dense-zyx-r3", "dense-zyx-r4", "no-corners-zyx-r3",
		"no-corners-zyx-r4"} {
		list = append(list, made(name, 2))
	}
	g, err := compare(t.Context(), list, GarveyOptions{Seeds: 2, Log: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	r := predicted(g)["Dimensions from "+fromWhole]
	if r.Prediction == nil || r.Accuracy < 0.9 || r.Weighted < 0.94 || r.Usual > 0.6 || r.Classes != 2 {
		t.Errorf("%+v %+v", r, r.Prediction)
	}
}
