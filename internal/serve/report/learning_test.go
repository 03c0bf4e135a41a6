package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func learned() *Learning {
	return &Learning{
		Device: "a<b", Kernels: 3, Stencils: 2, Maker: "Gridloom 1",
		Predicted: []Point{{X: 0.1, Y: 0.2}, {X: 0.9, Y: 1}, {X: 1.2, Y: 0.9}, {X: 0.9, Y: 1}},
		Runs: []Line{{"table", []Point{{X: 1, Y: 0.5}, {X: 2, Y: 0.75}, {X: 40, Y: 1}}}, {"boosted",
			[]Point{{X: 1, Y: 1}}}},
		Importance: []Named{{"stencil<size", 1.5, 1, 2}, {"rank", 0.25, 0, 0.5}, {"none", -0.01, -0.02, 0.01}},
		Forms:      []string{"planes", "tile, vectors"}, Chosen: [][]int{{1, 0}, {1, 1}},
		Curve: []Line{{"boosted", []Point{{2, 0.5, 0.4, 0.6}, {4, 0.75, 0.7, 0.8}}}},
	}
}

var drawings = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// The page has five drawings with all that is known, and nothing from outside becomes part of its code.
func TestLearningPage(t *testing.T) {
	var b bytes.Buffer
	if err := WriteLearning(&b, learned()); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"3 kernels of 2 stencils, recorded on a&lt;b",
		"Predictions of 4 candidates are off by 0.150",
		"The first run is enough for these parts of the kernels: table 0.50, boosted 1.00.",
		"Predictions need stencil&lt;size most.", "The best form is chosen for 2 of 3 kernels.",
		"From the fewest kernels to all: boosted from 0.50 to 0.75.", "tile, vectors 2", "kernels learned from",
		"<footer>Gridloom 1</footer>", "--mark:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, never := range []string{"a<b", "stencil<size", "http:", "https:", "src=", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	list := drawings.FindAllString(text, -1)
	if len(list) != 5 {
		t.Fatalf("%d drawings", len(list))
	}
	if n := len(elements(t, list[0], "circle")); n != 3 {
		t.Errorf("%d points: two of four are one pixel", n)
	}
	curves := elements(t, list[1], "path")
	if len(curves) != 2 || strings.Count(curves[0]["d"], "L") != 1 {
		t.Errorf("runs after the last that is drawn: %v", curves)
	}
	bars := elements(t, list[2], "rect")
	if len(bars) != 3 || number(t, bars[0]["width"]) < 5.9*number(t, bars[1]["width"]) ||
		number(t, bars[2]["width"]) != 0 || number(t, bars[0]["y"]) >= number(t, bars[1]["y"]) {
		t.Errorf("%v", bars)
	}
	cells := elements(t, list[3], "rect")
	if len(cells) != 4 || number(t, cells[0]["opacity"]) <= number(t, cells[2]["opacity"]) {
		t.Errorf("%v", cells)
	}
	if n := len(elements(t, list[4], "line")); n < 3 {
		t.Errorf("%d lines: two intervals and a legend", n)
	}
	b.Reset()
	if err := WriteLearning(&b, &Learning{}); err != nil || strings.Contains(b.String(), "NaN") {
		t.Errorf("nothing learned: %v", err)
	}
}
