package learning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

// real gives a made kernel what names it.
func real(e *predict.Examples) *predict.Examples {
	e.Bound, e.Call, e.DeviceName = &ir.Binding{Program: &ir.Program{}}, &ir.Call{}, "D"
	return e
}

// live makes the row of a kernel whose best takes a second.
func live(name string, seconds ...float64) *Live {
	l := &Live{Kernel: name, Device: "D", Picks: []LivePicks{{Split: "stencil", Seconds: seconds}}}
	l.Found(1)
	return l
}

// Live picks count by the best that was ever measured; those that cannot run are the worst.
func TestLive(t *testing.T) {
	l := live("a", 2, 0, 1.25, 1.1)
	p := l.Of("stencil")
	if n := l.Runs(p); n != 4 {
		t.Errorf("%d runs", n)
	}
	if l.Found(0.5); l.Best != 0.5 || l.Runs(p) != mostRuns || l.Runs(l.Of("pattern")) != mostRuns {
		t.Errorf("%+v", l)
	}
	if l.Found(0); l.Best != 0.5 {
		t.Errorf("what could not run took %v", l.Best)
	}
	s := LiveSearch{Trials: 30, Steps: []LiveStep{{1, 3}, {7, 0.52}, {20, 0.5}}}
	if n, ok := l.Until(&s, 0.95); n != 7 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	if n, ok := l.Until(&s, 1.5); n != 30 || ok {
		t.Errorf("%d, %v", n, ok)
	}
	for _, c := range []struct {
		seconds []float64
		first   float64
	}{{[]float64{0, 0, 2, 1}, 0.25}, {[]float64{0, 0, 0, 1}, 0.5}, {[]float64{0, 0, 0, 0, 1}, 0}, {[]float64{0}, 0}} {
		if got := l.first(&LivePicks{Seconds: c.seconds}); got != c.first {
			t.Errorf("a run with picks of %v has %v of the best, not %v", c.seconds, got, c.first)
		}
	}
	if text := l.String(); !strings.Contains(text, "without its stencil the first pick has 0.250, 50 runs") {
		t.Error(text)
	}
}

// Rows are summed up by stencils: two kernels of one count as one.
func TestSumUpLive(t *testing.T) {
	h := &HeldOut{}
	for _, k := range [][2]string{{"a", "x"}, {"b", "x"}, {"c", "y"}} {
		e := real(made(k[0], []float64{1}, []float64{0}, 1))
		e.Stencil = k[1]
		h.All = append(h.All, e)
	}
	rows := []*Live{live("a", 1), live("b", 4, 2, 2, 2, 2, 1), live("c", 0, 2, 1)}
	rows[0].Usual, rows[1].Usual = 4, 1.25 // of c it was not measured
	told := &predict.Model{}
	told.SetPrograms(h.All)
	told.Picks = []predict.Pick{{Fraction: 0.4}}
	rows[0].Searches = []LiveSearch{
		{Trials: 30, Steps: []LiveStep{{8, 2}, {21, 1.04}, {25, 1}}},
		{Prior: 5, Trials: 9, Steps: []LiveStep{{3, 1.04}}},
	}
	got, err := SumUpLive(rows, h, told, "now")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]Row{}
	for _, r := range got {
		of[r.Experiment+" "+r.Model+" "+r.Metric] = r
	}
	for name, want := range map[string]float64{
		"live boosted first pick":                   math.Sqrt(math.Sqrt(1*0.25) * 0.5),
		"live boosted best of 5":                    math.Sqrt(math.Sqrt(1*0.5) * 1),
		"live boosted with a guard":                 math.Sqrt(1 * 0.8),
		"live boosted runs to 90 %":                 (3.5 + 3) / 2,
		"live boosted first pick can run":           0.5,
		"live boosted in the interval that is told": 0.75, // a and c, of two stencils, and not b
		"search auto trials to 95 %":                21,
		"search times fewer trials to 95 %":         7,
		"search auto with a prior trials to 95 %":   3,
		"search auto after 20 trials":               0.5,
		"search auto with a prior after 20 trials":  1 / 1.04,
		"search auto after all trials":              1,
		"search auto with a prior after all trials": 1 / 1.04,
	} {
		if r, ok := of[name]; !ok || math.Abs(r.Value-want) > 1e-4 || r.Device != "D" || r.Commit != "now" {
			t.Errorf("%s: %+v, not %v", name, r, want)
		}
	}
	if r := of["live boosted runs to 90 %"]; r.Groups != 2 || r.Kernels != 3 || r.Worst != 6 || r.Median != 3 {
		t.Errorf("%+v", r)
	}
	if r := of["live boosted with a guard"]; r.Groups != 1 || r.Kernels != 2 || r.Worst != 0.8 {
		t.Errorf("%+v", r)
	}
	h.All[0].DeviceName = "E" // one of several processors
	if got, err = SumUpLive(rows, h, nil, ""); err != nil || got[0].Experiment != "live" {
		t.Errorf("on one of two devices: %+v, %v", got[0], err)
	}
	h.All[0].DeviceName = "D"
	rows[0].Device = "E"
	got, err = SumUpLive(rows, h, nil, "")
	if err != nil || got[0].Experiment != "transfer, live" || got[0].Device != "E" {
		t.Errorf("on another device: %+v, %v", got[0], err)
	}
	_, err = SumUpLive([]*Live{live("d", 1)}, h, nil, "")
	if err == nil || !strings.Contains(err.Error(), "no recording") {
		t.Error(err)
	}
}

// Rows are kept by kernel; what has none is still to be measured, and so is what has no search where one is wanted.
func TestKeepLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.json")
	for _, l := range []*Live{live("b", 1), live("a", 2), live("b", 3)} {
		if err := KeepLive(path, l); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := ReadLive(path)
	if err != nil || len(rows) != 2 || rows[0].Kernel != "a" || rows[1].Picks[0].Seconds[0] != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLive(path); err == nil || !strings.Contains(err.Error(), "bench picks") {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("[null]"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLive(path); err == nil || !strings.Contains(err.Error(), "null") {
		t.Error(err)
	}
	if text := live("a").String(); text != "a  " {
		t.Errorf("a kernel without picks is %q", text)
	}
	if _, err := Unmeasured(nil, nil, []string{"a"}, false, 50); err == nil {
		t.Error("a program that was not recorded is taken")
	}
}

// Kernels come in rounds, of each stencil one, and stencils that have a row come later.
func TestUnmeasured(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r1", "star-zy-r2", "dense-zy-r1")
	rows := map[string]*Live{}
	for i, e := range h.All {
		e.Name = []string{"a", "b", "c", "d"}[i]
		rows[e.Name] = NewLive(e)
	}
	for _, c := range []struct{ measured, want string }{
		{"", "a c d; b"}, {"a", "c d; b"}, {"c", "a d; b"}, {"a b", "c d"}, {"a c d", "; b"}, {"a b c d", ""},
	} {
		var list []*Live
		for _, name := range strings.Fields(c.measured) {
			list = append(list, rows[name])
		}
		rounds, err := Unmeasured(h.All, list, nil, false, 50)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, round := range rounds {
			var names []string
			for _, k := range round {
				names = append(names, k.Name)
			}
			got = append(got, strings.Join(names, " "))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("beside %q: %q, not %q", c.measured, text, c.want)
		}
	}
	if rounds, err := Unmeasured(h.All, nil, []string{"b", "c"}, false, 50); err != nil || len(rounds) != 1 {
		t.Errorf("%d rounds of two programs, %v", len(rounds), err)
	}
	if rounds, err := Unmeasured(h.All, []*Live{rows["a"]}, []string{"a"}, true, 50); err != nil || len(rounds) != 1 {
		t.Errorf("%d rounds of a program without searches, %v", len(rounds), err)
	}
}

// Kernels that have a row come first, each in their order.
func TestRowsFirst(t *testing.T) {
	h := onGPU(t, "star-zy-r1", "star-zy-r2", "dense-zy-r1", "dense-zy-r2")
	for i, e := range h.All {
		e.Name = []string{"a", "b", "c", "d"}[i]
	}
	var got []string
	for _, k := range RowsFirst(h.All, []*Live{NewLive(h.All[3]), NewLive(h.All[1])}) {
		got = append(got, k.Name)
	}
	if want := []string{"b", "d", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// Rows of other commits lose their picks, and count as not measured; what was the fastest stays.
func TestWithoutPicks(t *testing.T) {
	rows := []*Live{live("a", 2, 3), live("b", 2, 3), live("c", 2, 3)}
	for i, l := range rows {
		l.Commit = []string{"old", "new", "older"}[i]
		l.Best, l.Recorded = 1, 1.5
	}
	stay := WithoutPicks(rows, "new")
	if len(stay) != 1 || stay[0] != rows[1] || len(stay[0].Picks) == 0 {
		t.Errorf("%d rows stay", len(stay))
	}
	for _, i := range []int{0, 2} {
		if l := rows[i]; len(l.Picks) > 0 || l.Best != 1 || l.Recorded != 1.5 {
			t.Errorf("a row of another commit is left as %+v", l)
		}
	}
}

// A row is not finished where there are fewer picks than are judged, or none is near the best, and there may be more.
func TestUnfinished(t *testing.T) {
	slow := slices.Repeat([]float64{2}, judgedPicks)
	for _, c := range []struct {
		seconds []float64
		most    int
		want    bool
	}{
		{slow, 50, true}, {slow, judgedPicks, false}, {nil, 50, false}, {append(slices.Clone(slow), 1), 50, false},
		{append(slices.Clone(slow), 2), 50, true}, {append(slices.Clone(slow), 2), judgedPicks + 1, false},
		{slices.Repeat([]float64{1}, judgedPicks), 50, false}, {[]float64{2, 1}, 50, true}, {[]float64{2, 1}, 2, false},
	} {
		l := live("a", c.seconds...)
		if l.Found(1); l.anyUnfinished(c.most) != c.want {
			t.Errorf("%v, %d at most: %v", c.seconds, c.most, !c.want)
		}
	}
}

// A model that is made without a kernel's part does not know it, and is made once.
func TestHeldOut(t *testing.T) {
	h := &HeldOut{All: study(true), Folder: t.TempDir()}
	half := Split{Name: "half", part: func(e *predict.Examples, _ map[string]int) string {
		return string(e.Name[len(e.Name)-1] % 2)
	}}
	var models []*predict.Model
	for _, e := range h.All {
		m, err := h.Without(t.Context(), e, half)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	if len(models) != 2 {
		t.Errorf("%d models of two parts", len(models))
	}
	files, err := filepath.Glob(filepath.Join(h.Folder, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d models are kept, %v", len(files), err)
	}
	again := &HeldOut{All: h.All, Folder: h.Folder}
	m, err := again.Without(t.Context(), h.All[0], half)
	if err != nil || !reflect.DeepEqual(m, models[0]) {
		t.Errorf("the model that is kept is another: %v", err)
	}
	for _, path := range files {
		if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	again = &HeldOut{All: h.All, Folder: h.Folder}
	if _, err := again.Without(t.Context(), h.All[0], half); err == nil || !strings.Contains(err.Error(), h.Folder) {
		t.Errorf("a damaged model: %v", err)
	}
	one := Split{Name: "all", part: func(*predict.Examples, map[string]int) string { return "" }}
	_, err = h.Without(t.Context(), h.All[0], one)
	if err == nil || !strings.Contains(err.Error(), "nothing is left") {
		t.Error(err)
	}
}

// Each part of the kernels is left out once, whichever of them are measured, and what is there already is told.
func TestPrepare(t *testing.T) {
	h := heldOutOf(study(true))
	h.Wanted = []string{searched.Name}
	parts := map[string]int{}
	var mutex sync.Mutex
	fails := errors.New("no trees")
	var failing error
	without := func(_ context.Context, e *predict.Examples, s Split) (*predict.Model, error) {
		mutex.Lock()
		defer mutex.Unlock()
		parts[s.Name+" "+h.part(e, s)]++
		return nil, failing
	}
	var log strings.Builder
	if err := h.Prepare(t.Context(), h.All, without, &log); err != nil {
		t.Fatal(err)
	}
	want := len(h.parts(searched))
	last := fmt.Sprintf("%d of %d models are there\n", want, want)
	if len(parts) != want || want < 2 || !strings.HasSuffix(log.String(), last) {
		t.Errorf("%v of %d parts: %s", parts, want, log.String())
	}
	for part, n := range parts {
		if n != 1 {
			t.Errorf("%s: asked for %d times", part, n)
		}
	}
	clear(parts)
	if err := h.Prepare(t.Context(), h.All[:1], without, io.Discard); err != nil || len(parts) != 1 {
		t.Errorf("of one kernel: %v, %v", parts, err)
	}
	failing = fails
	if err := h.Prepare(t.Context(), h.All, without, io.Discard); !errors.Is(err, fails) {
		t.Error(err)
	}
	clear(parts)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := h.Prepare(ctx, h.All, without, io.Discard); !errors.Is(err, context.Canceled) || len(parts) > 0 {
		t.Errorf("interrupted: %v, %v", parts, err)
	}
}
