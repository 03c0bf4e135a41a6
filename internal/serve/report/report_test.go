package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// story has a kernel whose time depends on vec much, on block a little and on
// sizes not at all.
func story(trials int) *Story {
	rng := rand.New(rand.NewPCG(7, 8))
	k := Kernel{Name: "heat[0:1]", Points: 1e8, Bound: 1e-4, Space: "1,000 configurations"}
	for i := range trials {
		vec, block, sizes := 1<<rng.IntN(3), []string{"4x32", "8x32", "4x128"}[rng.IntN(3)], []string{"args", "baked"}[rng.IntN(2)]
		t := Trial{
			At: float64(i+1) * 0.1, Config: fmt.Sprintf("family=tile,block=%s,vec=%d,sizes=%s", block, vec, sizes),
			Settings: []Setting{{"family", "tile"}, {"block", block}, {"vec", fmt.Sprint(vec)}, {"sizes", sizes}},
		}
		if block == "4x128" && vec == 4 {
			t.Refused, t.Reason = "resources", "a block of <512> threads & more"
		} else {
			t.Seconds = 8e-4 / float64(vec) * (1 + 0.05*float64(len(block))) * math.Exp(0.01*rng.NormFloat64())
			t.Low, t.High = t.Seconds*0.99, t.Seconds*1.01
		}
		k.Trials = append(k.Trials, t)
	}
	return &Story{
		Program: "heat3d.loom", Source: "double u[N]; // <script>alert(1)</script>", Facts: []Fact{{"device", "a device"}},
		Started: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), Finished: true, Wall: 61.5, Idle: 0.123, Points: 1e8, Bound: 1e-4,
		Plans: []Plan{
			{Name: "default", Text: "heat[0:1]@1{family=cells,block=4x32}", Seconds: 4e-4, Low: 3.9e-4, High: 4.1e-4},
			{Name: "best", Text: "heat[0:1]@1{family=tile,block=8x32,vec=4}", Seconds: 2e-4, Low: 1.9e-4, High: 2.1e-4},
		},
		Kernels: []Kernel{k},
	}
}

func TestImportances(t *testing.T) {
	list := story(300).Kernels[0].Importances()
	var names []string
	for _, im := range list {
		names = append(names, im.Name)
		if im.Share < 0 || im.Share > 1 {
			t.Errorf("%s explains %g", im.Name, im.Share)
		}
	}
	if !slices.Equal(names, []string{"vec", "block", "sizes"}) {
		t.Fatalf("%v", names)
	}
	if list[0].Share < 0.9 || list[2].Share > 0.02 {
		t.Errorf("vec explains %g and sizes %g", list[0].Share, list[2].Share)
	}
	var values []string
	for _, e := range list[0].Values {
		values = append(values, e.Value)
	}
	if !slices.Equal(values, []string{"4", "2", "1"}) {
		t.Errorf("vec, the fastest first: %v", values)
	}
}

// No text from outside becomes part of the page's code, or turns it around.
func TestPageOfHostileTexts(t *testing.T) {
	const evil = "</script></style></title><script>alert(1)</script>'\"`${x}\u202e\u2028\x00\x1b{{.}}--><img onerror=alert(1)>"
	s := story(200)
	s.Program, s.Source = evil, evil
	s.Facts = append(s.Facts, Fact{evil, evil})
	s.Plans[1].Name, s.Plans[1].Text = evil, evil
	k := &s.Kernels[0]
	k.Name, k.Space = evil, evil
	for i := range k.Trials {
		x := &k.Trials[i]
		x.Config, x.Settings[0], x.Settings[1].Value = evil, Setting{evil, fmt.Sprint(evil, i%3)}, fmt.Sprint(evil, i%2)
		if x.Refused != "" {
			x.Refused, x.Reason = evil, evil
		}
	}
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(b.String(), heatScript, "", 1)
	if text != diag.Visible(text) {
		t.Error("the page has characters that cannot be shown")
	}
	for _, never := range []string{"<script>alert", "<img", "--><", evil} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	data := jsonScript.FindStringSubmatch(text)
	var heat struct{ Names []string }
	if data == nil {
		t.Fatal("there are no data of a map")
	}
	if err := json.Unmarshal([]byte(data[1]), &heat); err != nil || !slices.Contains(heat.Names, strings.Replace(evil, "\u202e", "\ufffd", 1)) {
		t.Errorf("%v: the map's names are %q", err, heat.Names)
	}
}

// Of a balanced table with one value a cell, omega squared can be had by hand.
func TestImportanceByHand(t *testing.T) {
	k := Kernel{Points: 1}
	for i, log := range []float64{0, 1, 2, 3} {
		k.Trials = append(k.Trials, Trial{Seconds: math.Exp(log), Settings: []Setting{{"a", fmt.Sprint(i / 2)}}})
	}
	// Between: 2*(1+1) = 4; within: 4*0.25 = 1, with 2 degrees of freedom 0.5 each.
	want := (4 - 1*0.5) / (5 + 0.5)
	if list := k.Importances(); len(list) != 1 || math.Abs(list[0].Share-want) > 1e-12 {
		t.Errorf("%v, want %g", list, want)
	}
}

func TestRefusals(t *testing.T) {
	k := Kernel{Trials: []Trial{{Refused: "launch", Reason: "x"}, {Refused: "compiler", Reason: "first"}, {Seconds: 1}, {Refused: "compiler", Reason: "second"}}}
	want := []Count{{"compiler", 2, "first"}, {"launch", 1, "x"}}
	if got := k.Refusals(); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

var jsonScript = regexp.MustCompile(`(?s)<script type="application/json">(.*?)</script>`)

func TestPage(t *testing.T) {
	s := story(200)
	var b, again bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	if err := Write(&again, s); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same story gives two pages")
	}
	text := strings.Replace(b.String(), heatScript, "", 1)
	for _, want := range []string{
		"<h1>heat3d.loom: tuning report</h1>", "20 November 2026, 09:30 UTC", "61.5 s", "12.3 %",
		"<td>best</td>", "200 µs", "190 µs to 210 µs", "50 %", `2 <span class="soft">(1.857 to 2.158)</span>`,
		"roofline bound", "&lt;script&gt;alert(1)", "a block of &lt;512&gt; threads &amp; more", "differences explained",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, never := range []string{"<script>alert", "http:", "https:", "src=", "@import", "NaN", "ZgotmplZ"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	for _, tag := range []string{"table", "figure", "svg", "div", "p", "pre", "script"} {
		open := regexp.MustCompile("<" + tag + "[ >]")
		if o, c := len(open.FindAllString(text, -1)), strings.Count(text, "</"+tag+">"); o != c || o == 0 {
			t.Errorf("%d times <%s>, %d times its end", o, tag, c)
		}
	}
	var data struct {
		Names  []string
		Rows   [][]string
		Speeds []*float64
	}
	if err := json.Unmarshal([]byte(jsonScript.FindStringSubmatch(text)[1]), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Rows) != 200 || len(data.Speeds) != 200 || len(data.Rows[0]) != len(data.Names) {
		t.Errorf("%d rows of %d, %d speeds", len(data.Rows), len(data.Rows[0]), len(data.Speeds))
	}
	for i, tr := range s.Kernels[0].Trials {
		if (data.Speeds[i] == nil) != (tr.Refused != "") {
			t.Errorf("trial %d: %v, %q", i, data.Speeds[i], tr.Refused)
		}
	}
}

// The best so far never gets worse, and ends at the best.
func TestConvergence(t *testing.T) {
	k := story(100).Kernels[0]
	svg := string(k.Convergence())
	path := regexp.MustCompile(`class="best" d="M[0-9.]+ ([0-9.]+)([^"]*)"`).FindStringSubmatch(svg)
	if path == nil {
		t.Fatal("no path")
	}
	var at float64
	fmt.Sscan(path[1], &at)
	steps := regexp.MustCompile(`V([0-9.]+)`).FindAllStringSubmatch(path[2], -1)
	if len(steps) == 0 {
		t.Error("nothing got better")
	}
	for _, s := range steps {
		var next float64
		fmt.Sscan(s[1], &next)
		if next >= at { // downwards on the screen
			t.Errorf("from %g to %g", at, next)
		}
		at = next
	}
}

// Stories with little in them are drawn, too.
func TestLittle(t *testing.T) {
	for name, trials := range map[string][]Trial{
		"none":        nil,
		"refused":     {{Refused: "compiler", Reason: "no"}},
		"one":         {{At: 1, Seconds: 1e-3, Settings: []Setting{{"vec", "1"}}}},
		"all alike":   {{At: 1, Seconds: 1e-3}, {At: 2, Seconds: 1e-3}, {At: 3, Seconds: 1e-3}},
		"at no time":  {{Seconds: 1e-3, Settings: []Setting{{"vec", "1"}}}, {Seconds: 2e-3, Settings: []Setting{{"vec", "2"}}}},
		"two of each": {{At: 1, Seconds: 1e-3, Settings: []Setting{{"vec", "1"}}}, {At: 2, Seconds: 2e-3, Settings: []Setting{{"vec", "2"}}}},
	} {
		var b bytes.Buffer
		if err := Write(&b, &Story{Program: name, Kernels: []Kernel{{Name: "k", Points: 1, Trials: trials}}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := strings.Replace(b.String(), heatScript, "", 1)
		for _, never := range []string{"NaN", "Inf"} {
			if strings.Contains(text, never) {
				t.Errorf("%s: %s", name, never)
			}
		}
	}
	s := story(5)
	s.Plans[1].Low = 3e-4
	if err := Write(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), "best takes 0.0002 s, which is not between 0.0003 and 0.00021 s") {
		t.Errorf("%v", err)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		s    scale
		want string
	}{
		{scale{lo: 0, hi: 10}, "[0 2 4 6 8 10]"},
		{scale{lo: 0, hi: 237}, "[0 50 100 150 200]"},
		{scale{lo: 0.2, hi: 0.9}, "[0.2 0.4 0.6 0.8]"},
	} {
		var texts []string
		for _, v := range c.s.ticks(6) {
			texts = append(texts, short(v))
		}
		if got := fmt.Sprint(texts); got != c.want {
			t.Errorf("%v: %s", c.s, got)
		}
	}
}
