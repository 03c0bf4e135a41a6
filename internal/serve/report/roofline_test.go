package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// elements reads a drawing as XML, and returns the attributes of its elements of a name.
func elements(t *testing.T, drawing, name string) []map[string]string {
	t.Helper()
	var list []map[string]string
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawing)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			m := map[string]string{}
			for _, a := range e.Attr {
				m[a.Name.Local] = a.Value
			}
			list = append(list, m)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A roofline has a point for each kernel at each level, within the drawing and below the roof of the arithmetic.
func TestRoofline(t *testing.T) {
	p := &profile.Profile{
		Program: "a<b", Roof: profile.Roof{Peaks: []profile.Peak{{Type: "f64", GFlops: 20000}},
			Levels: []profile.Speed{{Level: profile.DRAM, GBs: 4000}, {Level: profile.L1, GBs: 30000}}},
		Kernels: []*profile.Kernel{
			{Name: "one", Seconds: 1e-3, Flops: 2e9, Class: profile.BoundByDRAM, Levels: []profile.Level{
				{Level: profile.DRAM, Intensity: 0.5}, {Level: profile.L1, Intensity: 0.1}}},
			{Name: "two", Seconds: 1e-3, Flops: 1e10, Class: profile.ComputeBound, Levels: []profile.Level{
				{Level: profile.DRAM, Intensity: 8}}},
			{Name: "none", Seconds: 1e-3, Levels: []profile.Level{{Level: profile.DRAM}}},
		},
	}
	var b bytes.Buffer
	if err := Roofline(&b, p); err != nil {
		t.Fatal(err)
	}
	points := elements(t, b.String(), "circle")
	if len(points) != 3 {
		t.Fatalf("%d points in\n%s", len(points), b.String())
	}
	roof := 1e9
	for _, l := range elements(t, b.String(), "line") {
		if l["y1"] == l["y2"] && l["stroke"] == "#222222" {
			roof = number(t, l["y1"])
		}
	}
	for _, c := range points {
		x, y := number(t, c["cx"]), number(t, c["cy"])
		if x < roofLeft || x > roofWidth || y < roof || y > roofHeight-roofBottom {
			t.Errorf("a point at %v, %v", x, y)
		}
	}
	// Four times the speed is as far up as the scale says, and more flops a byte are further right.
	if number(t, points[2]["cx"]) <= number(t, points[0]["cx"]) || number(t, points[2]["cy"]) >= number(t,
		points[0]["cy"]) {
		t.Errorf("%v", points)
	}
	for _, text := range []string{"a&lt;b", "1 one: bandwidth-bound at dram", "2 two: compute-bound",
		"arithmetic, f64"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q in\n%s", text, b.String())
		}
	}
	b.Reset()
	if err := Roofline(&b, &profile.Profile{}); err != nil || len(elements(t, b.String(), "circle")) != 0 ||
		!strings.Contains(b.String(), "nothing was measured") {
		t.Errorf("%v, %s", err, b.String())
	}
}

// The report has what profiles within the search have said, with what was predicted beside what was measured.
func TestAdviceInReport(t *testing.T) {
	s := story(20)
	s.Advice = []tuner.Advice{{At: 42, Trials: 17, Gain: 1.375, SearchedOn: "4 of 8 configurations",
		Profile: &profile.Kernel{Part: "heat[0:1]", Class: profile.BoundByL2, Evidence: []string{"it <waits>"},
			Hints: []profile.Hint{
				{Code: "H13", Text: "cut the loops", Gain: 1.5, Predicted: "at the most: so",
					Measured: &profile.Gain{Ratio: 1.25}, Change: profile.Change{Plan: "block=0x64x0"}},
				{Code: "H06", Text: "more cells", Predicted: "not known: why", Failed: "it crashed",
					Change: profile.Change{Plan: "rows=4"}},
			}}}, {Failed: "there was no time"}}
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"What profiles within the search said", "heat[0:1]: bandwidth-bound at l2",
		"it &lt;waits&gt;", "Predicted: 1.50", "Measured: 1.25", "block=0x64x0", "Predicted: not known: why.",
		"Not measured: it crashed.", "Searched on: 4 of 8 configurations.", "17 configurations more", "1.375"} {
		if !strings.Contains(b.String(), text) {
			t.Errorf("no %q", text)
		}
	}
}

// The report of a search has the profile of its best plan, if there is one, and what texts say is no markup.
func TestProfileInReport(t *testing.T) {
	s := story(20)
	var without bytes.Buffer
	if err := Write(&without, s); err != nil {
		t.Fatal(err)
	}
	s.Profile = &profile.Profile{
		NoCounters: "they <may> not be read", Kernels: []*profile.Kernel{{
			Name: "one", Class: profile.BoundByShared, Evidence: []string{"first", "second"}, Hints: []profile.Hint{{
				Code: "H06", Text: "more cells", Gain: 1.5, Predicted: "at the most: so",
				Measured: &profile.Gain{Ratio: 1.25}, Change: profile.Change{Plan: "rows=4"},
			}},
		}},
	}
	var with bytes.Buffer
	if err := Write(&with, s); err != nil {
		t.Fatal(err)
	}
	const title = "What binds the best plan"
	if strings.Contains(without.String(), title) {
		t.Error("there is a profile where nobody has asked")
	}
	for _, text := range []string{title, "one: bandwidth-bound at shared memory", "first; second.", "H06: more cells.",
		"1.50", "1.25", "rows=4", "they &lt;may&gt; not be read"} {
		if !strings.Contains(with.String(), text) {
			t.Errorf("no %q", text)
		}
	}
}
