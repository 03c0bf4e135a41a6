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

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// story has a kernel whose time depends on vec much, on block a little and on
// sizes not at all.
func story(trials int) *Story {
	rng := rand.New(rand.NewPCG(7, 8))
	r := tuner.KernelResult{Kernel: "heat[0:1]", Points: 1e8, Bytes: 16, Configurations: "1,000"}
	for i := range trials {
		vec, block, sizes := 1<<rng.IntN(3), []string{"4x32", "8x32", "4x128"}[rng.IntN(3)],
			[]string{"arguments", "literals"}[rng.IntN(2)]
		t := tuner.Outcome{At: float64(i+1) * 0.1, Config: fmt.Sprintf("family=tile,block=%s,vec=%d,sizes=%s", block,
			vec, sizes), Verdict: verdict.OK}
		if block == "4x128" && vec == 4 {
			t.Verdict, t.Message = verdict.Resources, "a block of <512> threads & more"
		} else {
			t.Seconds = 8e-4 / float64(vec) * (1 + 0.05*float64(len(block))) * math.Exp(0.01*rng.NormFloat64())
		}
		r.Trials = append(r.Trials, t)
	}
	t := found()
	t.File, t.Source, t.Kernels = "heat3d.loom", "double u[N]; // <script>alert(1)</script>", []tuner.KernelResult{r}
	t.Complete()
	return t.Story()
}

func TestRefusals(t *testing.T) {
	k := Kernel{Trials: []Trial{{Refused: "launch", Reason: "x"}, {Refused: "compiler", Reason: "first"}, {Seconds: 1},
		{Refused: "compiler", Reason: "second"}}}
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
		"<h1>heat3d.loom: tuning report</h1>", "20 November 2026, 09:30 UTC", "12.00 s", "25.0 %",
		"<strong>The best plan, found 1, is 2.000 times as fast as the default plan (95 % interval 2.000 to " +
			"2.000).</strong>",
		`<tr class="best"><td data-head="plan">found 1 (best)</td><td class="n" data-head="GStencil/s">4.762</td>`,
		"210.0 µs", "76.2 %", "copy bound",
		"gridloom run heat3d.loom --set M=1000 --set N=1000 --plan @best.plan", "cmake -S library -B build",
		"<footer>Gridloom 1.2.3 (commit abc)</footer>",
		"&lt;script&gt;alert(1)", "a block of &lt;512&gt; threads &amp; more", "share of the differences",
		"4 <span class=\"soft\">1.000×",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, never := range []string{"<script>alert", "http:", "https:", "src=", "@import", "NaN", "ZgotmplZ", "roofline",
		"<details open"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	// Plans and the program are there, and folded away.
	for _, folded := range []string{"heat[0:1]@1{block=9x0}", "double u[N]"} {
		at := strings.Index(text, folded)
		if open, shut := strings.LastIndex(text[:max(at, 0)], "<details>"), strings.LastIndex(text[:max(at, 0)],
			"</details>"); at < 0 || open < 0 || shut > open {
			t.Errorf("%q is not folded away", folded)
		}
	}
	for _, tag := range []string{"table", "figure", "svg", "div", "p", "pre", "script", "details", "span", "tbody"} {
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
		"none":      nil,
		"refused":   {{Refused: "compiler", Reason: "no"}},
		"one":       {{At: 1, Seconds: 1e-3, Settings: []tuner.Setting{{Name: "vec", Value: "1"}}}},
		"all alike": {{At: 1, Seconds: 1e-3}, {At: 2, Seconds: 1e-3}, {At: 3, Seconds: 1e-3}},
		"at no time": {{Seconds: 1e-3, Settings: []tuner.Setting{{Name: "vec", Value: "1"}}},
			{Seconds: 2e-3, Settings: []tuner.Setting{{Name: "vec", Value: "2"}}}},
		"two of each": {{At: 1, Seconds: 1e-3, Settings: []tuner.Setting{{Name: "vec", Value: "1"}}},
			{At: 2, Seconds: 2e-3, Settings: []tuner.Setting{{Name: "vec", Value: "2"}}}},
	} {
		var b bytes.Buffer
		if err := Write(&b, &Story{Program: name,
			Kernels: []Kernel{{Name: "k", Points: 1, Trials: trials}}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := strings.Replace(b.String(), heatScript, "", 1)
		for _, never := range []string{"NaN", "Inf"} {
			if strings.Contains(text, never) {
				t.Errorf("%s: %s", name, never)
			}
		}
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
		{scale{lo: 0, hi: 2.1, whole: true}, "[0 1 2]"},
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

// No text from outside becomes part of the page's code, or turns it around.
func TestPageOfHostileTexts(t *testing.T) {
	const evil = "</script></style></title><script>alert(1)</script>'\"`${x}\u202e\u2028\x00\x1b{{.}}--><img " +
		"onerror=alert(1)>"
	s := story(200)
	for _, text := range []*string{&s.Program, &s.Headline, &s.Summary, &s.Source, &s.Bound, &s.Maker} {
		*text = evil
	}
	s.Facts, s.Plans = append(s.Facts, Fact{evil, evil}), append(s.Plans, Fact{evil, evil})
	for i := range s.Uses {
		s.Uses[i].Text, s.Uses[i].Commands = evil, []string{evil}
	}
	k := &s.Kernels[0]
	k.Name, k.Space, k.Importance[0].Name = evil, evil, evil
	for i := range k.Trials {
		x := &k.Trials[i]
		x.Config, x.Settings[0], x.Settings[1].Value = evil, tuner.Setting{Name: evil, Value: fmt.Sprint(evil, i%3)},
			fmt.Sprint(evil, i%2)
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
	if err := json.Unmarshal([]byte(data[1]), &heat); err != nil ||
		!slices.Contains(heat.Names, strings.Replace(evil, "\u202e", "\ufffd", 1)) {
		t.Errorf("%v: the map's names are %q", err, heat.Names)
	}
}
