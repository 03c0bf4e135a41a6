package predict

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// speedOf is a made-up truth: vectors are good, more so for large stencils, and few threads are bad.
func speedOf(k *Kernel, c schedule.Config) float64 {
	set := k.Space.ByRole(c)
	v := float64(set.Int(schedule.Vector, 1))
	n := float64(set.Int(schedule.Threads, 1))
	return 0.2 + 0.2*math.Log2(v)/(1+0.1*float64(len(k.Call.Arrays))) + 0.4*math.Min(1, n/256)
}

// takenBy is a made-up compiler: each cell of a thread takes four registers, and what has no register spills.
func takenBy(k *Kernel, c schedule.Config) session.Resources {
	set := k.Space.ByRole(c)
	cells := set.Int(schedule.Vector, 1) * set.Int(schedule.BlockedUnroll, 1) * set.Int(schedule.CyclicUnroll, 1)
	need, most := 20+4*int(cells), int(Available(set, k.Target.Machine))
	return session.Resources{Registers: min(need, most), Spills: 4 * max(0, need-most)}
}

// recordings are kernels with made-up times.
func recordings(t testing.TB, trials int, names ...string) []*Recorded {
	t.Helper()
	var list []*Recorded
	for _, name := range names {
		k, err := synth.FindKernel(name)
		if err != nil {
			t.Fatal(err)
		}
		kernels := kernelsOf(t, name, k.Source([3]int{64, 64, 64}, 1))
		r := &Recorded{Kernel: kernels[0], Device: "A GPU", API: "cuda", DeviceName: "A GPU", Best: math.Inf(1)}
		for i, c := range Candidates(r.Space, trials) {
			x := Trial{Config: c, Seconds: 1e-3 / speedOf(r.Kernel, c)}
			x.Resources = takenBy(r.Kernel, c)
			if i%17 == 3 {
				x.Seconds = 0
			} else {
				r.Best = min(r.Best, x.Seconds)
			}
			r.Trials = append(r.Trials, x)
		}
		list = append(list, r)
	}
	return list
}

// study are recordings to learn from.
func study(t testing.TB) []*Recorded {
	return recordings(t, 120, "star-zyx-r1", "star-zyx-r2", "dense-zyx-r1", "dense-yx-r2", "dense-x-r2")
}

// trained is a model of the study, made once for all tests.
func trained(t testing.TB) (*Model, []*Recorded) {
	t.Helper()
	list := study(t)
	once.Do(func() { learned, failed = Train(context.Background(), list, nil) })
	if failed != nil {
		t.Fatal(failed)
	}
	return learned, list
}

var (
	once    sync.Once
	learned *Model
	failed  error
)

// A model learns what decides, and ranks the candidates of a kernel that it has not seen by it.
func TestTrain(t *testing.T) {
	m, list := trained(t)
	if m.Training.Kernels != 5 || m.Training.Groups != 5 || m.Training.Trials != 600 || len(m.Picks) != 5 {
		t.Errorf("%+v, picks %v", m.Training, m.Picks)
	}
	unseen := recordings(t, 200, "diamond-zyx-r2")[0]
	ranked := m.Rank(unseen.Kernel)
	if len(ranked) < 1000 || !slices.IsSortedFunc(ranked, func(a, b Ranked) int {
		return cmp.Compare(b.Fraction, a.Fraction)
	}) {
		t.Fatalf("%d candidates are ranked, or not in order", len(ranked))
	}
	best, mean := 0.0, 0.0
	for _, x := range ranked {
		s := speedOf(unseen.Kernel, x.Config)
		best, mean = max(best, s), mean+s/float64(len(ranked))
	}
	five := 0.0
	for _, x := range ranked[:5] {
		five += speedOf(unseen.Kernel, x.Config) / 5
	}
	if five < 0.8*best || five < 1.2*mean {
		t.Errorf("the first five have %.2f, all %.2f, and the best %.2f", five, mean, best)
	}
	why, err := m.Reasons(t.Context(), unseen.Kernel, ranked[:1], 100)
	if err != nil {
		t.Fatal(err)
	}
	reasons := why[0]
	total := m.Speed.Start
	for _, r := range reasons {
		total += r.Effect
	}
	for _, tree := range m.Speed.Trees {
		total += m.Speed.Rate * tree[0].Value // the mean that its questions begin from
	}
	row := Describe(&Recorded{Kernel: unseen.Kernel, Best: 1, Trials: []Trial{{Config: ranked[0].Config}}}).Rows[0]
	if want := m.Speed.Predict(row); math.Abs(total-want) > 1e-9 {
		t.Errorf("the reasons add up to %v, and the prediction is %v", total, want)
	}
	k, err := synth.FindKernel("star-zyx-r1")
	if err != nil {
		t.Fatal(err)
	}
	large := kernelsOf(t, "large", k.Source([3]int{64, 64, 4096}, 1))[0]
	if _, far := m.Nearest(large, 1); !far {
		t.Error("a grid that is 64 times as long as any seen is not far")
	}
	near, far := m.Nearest(list[0].Kernel, 2)
	if near[0].Name != "star-zyx-r1" || near[0].Distance > 1e-4 || far {
		t.Errorf("a program that was learned from is near to %v", near)
	}
}

// The same recordings make the same file; read again, a model predicts the same.
func TestModelFile(t *testing.T) {
	m, list := trained(t)
	again, err := Train(t.Context(), study(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	for _, x := range []struct {
		m *Model
		w *bytes.Buffer
	}{{m, &a}, {again, &b}} {
		if err := x.m.Write(x.w); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two trainings made different files")
	}
	read, err := ReadModel(bytes.NewReader(a.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	x, y := m.Rank(list[1].Kernel)[:50], read.Rank(list[1].Kernel)[:50]
	for i := range x {
		if !x[i].Config.Equal(y[i].Config) || x[i].Fraction != y[i].Fraction {
			t.Fatalf("rank %d is %v, and %v by the model that was read", i, x[i], y[i])
		}
	}
	if read.For(&session.Device{API: "cuda", Name: "Another"}) ||
		!read.For(&session.Device{API: "cuda", Name: "A GPU"}) {
		t.Error("the model is of another device")
	}
}

// A model that this Gridloom cannot use is refused, with the reason.
func TestBadModels(t *testing.T) {
	m, _ := trained(t)
	for _, c := range []struct {
		want   string
		damage func(*Model)
	}{
		{fmt.Sprint("version ", ModelVersion+1), func(m *Model) { m.Version = ModelVersion + 1 }},
		{"other features", func(m *Model) { m.Features = append([]string{"another"}, m.Features[1:]...) }},
		{"features", func(m *Model) { m.Features = append(slices.Clone(m.Features), "one more") }},
		{"not complete", func(m *Model) { m.Picks = nil }},
	} {
		bad := *m
		c.damage(&bad)
		var b bytes.Buffer
		if err := bad.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadModel(&b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	var former bytes.Buffer // of a version whose trees were written node by node
	y := gzip.NewWriter(&former)
	fmt.Fprint(y, `{"gridloom": "model", "version": 2, "speed": {"trees": [[{"v": 1}]]}}`)
	y.Close()
	if _, err := ReadModel(&former); err == nil || !strings.Contains(err.Error(), "of version 2") {
		t.Errorf("a former model: %v", err)
	}
	var other bytes.Buffer
	z := gzip.NewWriter(&other)
	json.NewEncoder(z).Encode(map[string]string{"gridloom": "results"})
	z.Close()
	var more bytes.Buffer
	x := gzip.NewWriter(&more)
	json.NewEncoder(x).Encode(modelFile{modelKind, m})
	fmt.Fprint(x, "{}")
	x.Close()
	for _, text := range []string{"", "no gzip", other.String(), other.String()[:20], more.String()} {
		if _, err := ReadModel(strings.NewReader(text)); err == nil {
			t.Errorf("%.10q is read as a model", text)
		}
	}
}

// So is one with a part that cannot be used.
func TestBadParts(t *testing.T) {
	m, _ := trained(t)
	for _, c := range []struct {
		want   string
		damage func(*Model)
	}{
		{"damaged", func(m *Model) {
			m.Speed = &learn.Boosted{Rate: 1, Trees: []learn.RegressionTree{{{Feature: 0, Low: 5, High: 6}}}}
		}},
		{"damaged", func(m *Model) { // a tree that never ends
			m.Speed = &learn.Boosted{Rate: 1, Trees: []learn.RegressionTree{{{Value: 1}, {Low: 1, High: 1}}}}
		}},
		{"empty", func(m *Model) { m.Speed = &learn.Boosted{Trees: []learn.RegressionTree{{}}} }},
		{"damaged", func(m *Model) {
			r := *m.Resources
			r.Spills = &learn.Boosted{Trees: []learn.RegressionTree{{{Feature: 1 << 20, Low: 1, High: 2}, {}, {}}}}
			m.Resources = &r
		}},
		{"not complete", func(m *Model) { m.Resources = &Resources{Registers: m.Resources.Registers} }},
		{"second level", func(m *Model) { m.Second = &Second{m.Second.Features[1:], m.Second.Speed} }},
		{"not complete", func(m *Model) { m.Second = &Second{m.Second.Features, nil} }},
		{"not complete", func(m *Model) { m.Speed = &learn.Boosted{Rate: 1, Runs: 1} }},
		{"a rate of 0", func(m *Model) {
			m.Speed = &learn.Boosted{Runs: 1, Trees: []learn.RegressionTree{{{Value: 1}}}}
		}},
		{"1 trees of 2 runs", func(m *Model) {
			m.Speed = &learn.Boosted{Rate: 1, Runs: 2, Trees: []learn.RegressionTree{{{Value: 1}}}}
		}},
		{"7 of the best speed", func(m *Model) { m.Picks = []Pick{{Fraction: 7}} }},
		{"units of 0", func(m *Model) {
			m.Scale.Units = slices.Clone(m.Scale.Units)
			m.Scale.Units[3] = 0
		}},
	} {
		bad := *m
		c.damage(&bad)
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// What cannot be learned from is refused.
func TestTrainRefuses(t *testing.T) {
	one := recordings(t, 30, "star-zyx-r1")
	two := recordings(t, 30, "star-zyx-r2")
	two[0].Device = "Another GPU"
	three := recordings(t, 30, "star-zyx-r3")
	three[0].Device, three[0].API = "processors", session.CPU
	alike := append(recordings(t, 30, "star-zyx-r1"), recordings(t, 30, "star-zyx-r2")...)
	for _, k := range alike {
		k.Best = 1
		for i := range k.Trials {
			k.Trials[i].Seconds = 1
		}
	}
	for want, list := range map[string][]*Recorded{
		"faster than another":   alike,
		"nothing to learn from": nil,
		"one stencil":           one,
		"of one device":         append(slices.Clone(one), two...),
		"A GPU; processors":     append(slices.Clone(one), three...),
	} {
		if _, err := Train(t.Context(), list, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Twins, sizes, names and weights do not make another group; another shape does.
func TestGroup(t *testing.T) {
	source := func(typ, name string, n int, offset, weight string) string {
		return fmt.Sprintf("parameter N = %d;\niterator z, y, x;\n%s %s[N,N,N], b[N,N,N];\ncopyin %[3]s;\n"+
			"stencil s (out, in) { out[z][y][x] = %s*in[z][y][x-1] + in[z][y][x%s]; }\ns (b, %[3]s);\ncopyout b;\n",
			n, typ, name, weight, offset)
	}
	group := func(text string) string { return kernelsOf(t, "a", text)[0].Group() }
	first := group(source("double", "a", 64, "+1", "0.5"))
	for _, same := range []string{source("float", "a", 64, "+1", "0.5f"), source("double", "u", 96, "+1", "0.25")} {
		if got := group(same); got != first {
			t.Errorf("%s is of group %s, not %s", same, got, first)
		}
	}
	if got := group(source("double", "a", 64, "+2", "0.5")); got == first {
		t.Error("a wider stencil is of the same group")
	}
}

// Patterns are those of Garvey.
func TestPattern(t *testing.T) {
	for _, k := range synth.Kernels() {
		if k.Radius > 2 && len(k.Axes) > 2 || k.Radius == 0 {
			continue // large texts
		}
		want := string(k.Pattern)
		switch {
		case k.Pattern == synth.Thumbtack:
			want = "other"
		case k.Pattern == synth.Dense && len(k.Axes) == 1: // a row is dense and a star
			want = "dense"
		}
		if got := kernelsOf(t, k.Name(), k.Source([3]int{64, 64, 64}, 1))[0].Pattern(); got != want {
			t.Errorf("%s is %s, not %s", k.Name(), got, want)
		}
	}
}

// h200 is the machine that tests predict for.
func h200(t testing.TB) *machine.Machine {
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// What is near the best counts most in learning, and what could not run least, but not nothing.
func TestTrialsNearTheBestCountMost(t *testing.T) {
	var all []*Examples
	for _, r := range study(t) {
		all = append(all, Describe(r))
	}
	n := Numbers(all)
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	least, most := slices.Min(n.Weights), slices.Max(n.Weights)
	if most < 5*least {
		t.Errorf("weights are from %v to %v", least, most)
	}
	for i, f := range n.Targets {
		for j := range i {
			if g := n.Targets[j]; f < g && n.Weights[i] >= n.Weights[j] {
				t.Fatalf("%v of the best has the weight %v, and %v has %v", f, n.Weights[i], g, n.Weights[j])
			}
		}
	}
	for _, i := range []int{slices.Index(n.Targets, 0), slices.Index(n.Targets, 1)} {
		if i < 0 || n.Weights[i] != map[float64]float64{0: least, 1: most}[n.Targets[i]] {
			t.Errorf("row %d", i)
		}
	}
}
