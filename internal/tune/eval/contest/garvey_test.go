package contest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/search"
	"github.com/gridloom/gridloom/internal/tune/synth"
	"github.com/gridloom/gridloom/internal/tune/tuner"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// The suite has all patterns and radii, and its spaces are small enough to be
// recorded. Each configuration has one technique of loading.
func TestGarveySpaces(t *testing.T) {
	list, err := GarveySubjects(nil, GarveyEdge)
	if err != nil || len(list) != 24 {
		t.Fatalf("%d subjects, %v", len(list), err)
	}
	patterns, radii := map[synth.Pattern]bool{}, map[int]bool{}
	total := int64(0)
	for _, x := range list {
		k, err := synth.FindKernel(x.Program)
		if err != nil {
			t.Fatal(err)
		}
		patterns[k.Pattern], radii[k.Radius] = true, true
		part, err := x.restrict(whole(t, x))
		if err != nil {
			t.Fatal(err)
		}
		total += part.Count().Int64()
		each := make([]int, len(techniques))
		for c := range part.All() {
			set := map[string]string{}
			for _, s := range c.Values {
				set[s.Name] = s.Value.String()
			}
			n := 0
			for i, way := range techniques {
				if way.has(set["vec"], set["load"], set["stages"]) {
					each[i]++
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%s: %s has %d techniques", x.Name(), c, n)
			}
		}
		if !slices.Equal(each, []int{1224, 2448, 1224, 1224}) {
			t.Errorf("%s: %v configurations of each technique", x.Name(), each)
		}
	}
	if len(patterns) != 5 || len(radii) != 5 || total != 24*6120 {
		t.Errorf("patterns %v, radii %v, %d configurations", patterns, radii, total)
	}
}

// Kernels are recorded over several calls; the comparison takes those that are
// recorded as a whole.
func TestGarveyRecords(t *testing.T) {
	list, err := GarveySubjects([]string{"star-zx-r3"}, 32)
	if err != nil {
		t.Fatal(err)
	}
	x := list[0]
	more, err := schedule.ParseRestrictions("more", "limit block=1x1x32|1x2x32|1x4x32|1x1x64\nlimit repeat=1x1x1|1x2x1")
	if err != nil {
		t.Fatal(err)
	}
	x.Limits = append(x.Limits, more...)
	s := newScripted(t, x)
	o := GarveyOptions{Folder: t.TempDir(), Subjects: list, Seeds: 3, Log: testWriter{t}}
	record := func(budget time.Duration) {
		t.Helper()
		_, err := Record(t.Context(), RecordOptions{Folder: o.Folder, Subjects: list, Budget: budget, Alike: true,
			Open: s.open, Clock: s.clock, Commit: "abc", Log: o.Log})
		if err != nil {
			t.Fatal(err)
		}
	}
	record(time.Second)
	if g, err := Garvey(t.Context(), o); g != nil || err != nil {
		t.Fatalf("%+v, %v", g, err)
	}
	record(time.Minute)
	g, err := Garvey(t.Context(), o)
	if err != nil || len(g.Kernels) != 1 || g.Kernels[0].Configurations != 40 || g.Kernels[0].Valid != 40 ||
		len(g.Loading) != 4 || g.Device != "Pretended" || g.Grid != "32x32x32" {
		t.Fatalf("%+v, %v", g, err)
	}
	var out bytes.Buffer
	if err := WriteGarvey(&out, g); err != nil || !strings.Contains(out.String(), "star-zx-r3  global with vectors") {
		t.Errorf("%s, %v", &out, err)
	}
	if _, err := os.Stat(filepath.Join(o.Folder, "star-zx-r3-float.t4.json.gz")); err != nil {
		t.Error(err)
	}
}

// made is a book of a space in which each axis has its own best, so that groups by
// dimension find it, and vectors are better than anything.
func made(name string, slow float64) *recordingFile {
	b := &recordingFile{name: name, index: map[string]int{}, about: about{Program: name, Device: "Pretended",
		Grid: "256x256x256", Commit: "abc", Set: versions.Current()}}
	away := func(n, best int) float64 { return math.Abs(math.Log2(float64(n) / float64(best))) }
	for _, z := range []int{1, 2, 4} {
		for _, y := range []int{1, 2, 4, 8} {
			for _, x := range []int{16, 32, 64, 128} {
				for _, way := range []string{"vec=1,load=plain,stages=0", "vec=2,load=plain,stages=0",
					"vec=4,load=plain,stages=0", "vec=1,load=image,stages=0", "vec=1,load=plain,stages=1"} {
					for _, repeat := range []string{"1x1x1", "1x2x1", "2x1x1"} {
						seconds := 1 + away(x, 64) + 0.5*away(y, 2) + 0.25*away(z, 2)
						if strings.Contains(way, "vec=4") {
							seconds -= 0.5
						}
						if repeat != "1x1x1" {
							seconds *= slow
						}
						config := "family=tile,block=" + itoa(z) + "x" + itoa(y) + "x" + itoa(x) + ",rows=1x1,repeat=" +
							repeat + "," + way
						b.add(tuner.Outcome{Config: config, Verdict: verdict.OK, Seconds: seconds * 1e-3, Compile: 0.5,
							Cost: 0.75})
					}
				}
			}
		}
	}
	b.about.Configurations = int64(len(b.list))
	return b
}

func itoa(n int) string { return replay.Whole(int64(n)).String() }

// Of spaces whose axes do not interact, what strategies find is known.
func TestGarveyRows(t *testing.T) {
	g, err := compare(t.Context(), []*recordingFile{made("star-zyx-r1", 2), made("dense-zyx-r1", 4)},
		GarveyOptions{Seeds: 5, Log: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]GarveyRow{}
	for _, r := range g.Rows {
		if r.Kind != predictedRow {
			rows[r.Strategy] = r
		}
	}
	// All 720 configurations are fewer than a sample, so that chance finds the best.
	random := rows[randomRow]
	if random.OverRandom != 1 || math.Abs(random.Configurations-720) > 1e-9 || math.Abs(random.Compile-360) > 1e-9 ||
		math.Abs(random.Run-180) > 1e-9 || math.Abs(random.Best-2) > 1e-9 {
		t.Errorf("%+v", random)
	}
	for _, name := range []string{"Dimensions", "Hybrid of the paper", "Hybrid", "Hybrid restricted"} {
		r := rows[name]
		if math.Abs(r.OverRandom-1) > 1e-9 || r.Best != 2 || r.Configurations >= 360 ||
			math.Abs(r.Compile-0.5*r.Configurations) > 1e-9 {
			t.Errorf("%+v", r)
		}
	}
	if len(g.Rows) != 13 || g.Rows[0].Strategy != expertRow || g.Rows[0].OverExpert != 1 {
		t.Errorf("%+v", g.Rows)
	}
	// The expert has no blocks of 16, and the best.
	if e := rows[expertRow]; e.Best != 2 || e.Configurations < 100 || e.Configurations > 540 {
		t.Errorf("%+v", e)
	}
	if short := rows["Rand, as long as Hybrid"]; short.OverRandom > 1 ||
		math.Abs(short.Compile+short.Run-rows["Hybrid"].Compile-rows["Hybrid"].Run) > 1 {
		t.Errorf("%+v", short)
	}
	if len(g.Loading) != 8 {
		t.Fatalf("%+v", g.Loading)
	}
	for _, x := range g.Loading {
		if x.Part == nil || *x.Part != *x.Near || math.Abs(x.Fraction-1) > 1e-9 || x.RandomTried != x.Configurations ||
			*x.Part > x.HybridSeconds/x.RandomSeconds || x.RandomSeconds != 0.75*float64(x.Configurations) {
			t.Errorf("%+v", x)
		}
	}
	s := g.Summary
	if s.Pairs != 8 || s.Reached != 8 || s.Near != 8 || s.InTime != 8 || math.Abs(s.MeanFraction-1) > 1e-9 ||
		s.MeanPart > 0.3 {
		t.Errorf("%+v", s)
	}
	golden(t, "garvey.json", g)
}

// In the space that a kernel has without limits, hybrid makes no more trials than
// a sample and a half, however rough the times are.
func TestHybridStaysSmall(t *testing.T) {
	list, err := GarveySubjects([]string{"star-zyx-r5"}, GarveyEdge)
	if err != nil {
		t.Fatal(err)
	}
	space := search.Of(whole(t, list[0]))
	params := space.Params()
	for _, rough := range []float64{0, 0.3, 1} {
		s, err := search.New("hybrid", search.Problem{Space: space, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		n := 0
		for points := s.Ask(1); len(points) > 0 && n < 10000; points = s.Ask(1) {
			seconds := 1.0
			for i, v := range points[0] {
				if v >= 0 { // best is the middle of each parameter's values
					seconds += math.Abs(float64(v - len(params[i].Values)/2))
				}
			}
			s.Tell(search.Trial{Point: points[0], Seconds: seconds * (1 + rough*rng.Float64())})
			n++
		}
		t.Logf("roughness %g: %d of %v configurations", rough, n, space.Count())
		if n < 100 || n > sampleSize*3/2 {
			t.Errorf("roughness %g: %d trials", rough, n)
		}
	}
}

// A strategy that never comes near says so.
func TestNeverReached(t *testing.T) {
	e := searchCost{Best: 2, when: []improvement{{1, 4}, {3, 2}}}
	if at, ok := e.first(2); !ok || at != 3 {
		t.Errorf("%g, %v", at, ok)
	}
	if at, ok := e.first(5); !ok || at != 1 {
		t.Errorf("%g, %v", at, ok)
	}
	if _, ok := e.first(1.9); ok {
		t.Error("it never had that")
	}
	g := GarveyResult{Loading: []GarveyLoading{{Fraction: 0.5, HybridSeconds: 1, RandomSeconds: 4},
		{Fraction: 1, HybridSeconds: 2, RandomSeconds: 4, Part: new(float64), Near: new(float64)}}}
	*g.Loading[1].Part, *g.Loading[1].Near = 0.5, 0.25
	g.sum()
	want := GarveySummary{Pairs: 2, Reached: 1, MeanPart: 0.5, Near: 1, NearInTime: 1, MeanNear: 0.25, WholePart: 0.375,
		MeanFraction: math.Sqrt(0.5), LeastFraction: 0.5}
	if s := g.Summary; math.Abs(s.MeanFraction-want.MeanFraction) > 1e-12 {
		t.Errorf("%+v", s)
	} else if s.MeanFraction = want.MeanFraction; s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	var out bytes.Buffer
	if err := WriteGarvey(&out, &g); err != nil || !strings.Contains(out.String(), "never") ||
		!strings.Contains(out.String(), "50 %") {
		t.Errorf("%s, %v", &out, err)
	}
}
