package contest

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Samples have a part of a space that depends on nothing but the configurations, with enough of each technique. Kernels
// with more arithmetic are some of each kind.
func TestGarveyParts(t *testing.T) {
	const oneIn = 15
	var first []string
	for _, size := range [][3]int{{256, 256, 256}, {8, 1024, 1024}} {
		list, err := GarveyPart{Suite: "garvey", Size: size, OneIn: oneIn}.Subjects()
		if err != nil || len(list) != 7 {
			t.Fatalf("%d kernels, %v", len(list), err)
		}
		for _, x := range list {
			if !strings.HasSuffix(x.Name(), "-float-"+x.Grid()) {
				t.Errorf("%s on %s", x.Name(), x.Grid())
			}
			part, err := x.restrict(whole(t, x))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			each := make([]int, len(techniques))
			for c := range part.All() {
				texts = append(texts, c.String())
				for i, way := range techniques {
					vec, _ := c.Get("vec")
					load, _ := c.Get("load")
					staged, _ := c.Get("stages")
					if way.has(vec.String(), load.String(), staged.String()) {
						each[i]++
					}
				}
			}
			if n := len(texts); n < 6120/oneIn-80 || n > 6120/oneIn+80 || int64(n) != part.Count().Int64() ||
				slices.Min(each) < 50 {
				t.Errorf("%s: %d configurations, %v of each technique", x.Name(), n, each)
			}
			if size[0] < size[2] { // blocks are bounded by the grid
				continue
			}
			if first == nil {
				first = texts
			}
			if !slices.Equal(first, texts) {
				t.Errorf("%s has another sample", x.Name())
			}
		}
	}
	list, err := GarveyPart{Suite: "garvey416", Size: [3]int{256, 256, 256}, OneIn: oneIn}.Subjects()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, x := range list {
		kinds[last(x.Program)]++
		part, err := x.restrict(whole(t, x))
		if err != nil {
			t.Errorf("%s: %v", x.Name(), err)
		} else if n := part.Count().Int64(); n < 6120/oneIn-80 || n > 6120/oneIn+80 {
			t.Errorf("%s: %d configurations", x.Name(), n)
		}
	}
	if len(list) < 30 || len(list) > 80 || len(kinds) != 3 || kinds["a1m1"] > 0 {
		t.Errorf("%d kernels: %v", len(list), kinds)
	}
	for _, p := range []GarveyPart{
		{Suite: "none", Size: [3]int{64, 64, 64}},
		{Suite: "garvey", Names: []string{"star"}, Size: [3]int{64, 64, 64}},
		{Suite: "garvey", Names: []string{"star-zyx-r5"}, Size: [3]int{4, 64, 64}},
	} {
		if list, err := p.Subjects(); err == nil {
			t.Errorf("%+v: %d kernels", p, len(list))
		}
	}
}

// Forests that have learned where vectors are the best technique choose them elsewhere, which costs what it costs.
func TestGarveySamples(t *testing.T) {
	whole, err := compare(t.Context(), []*recordingFile{made("dense-zyx-r1", 2), made("star-zyx-r2", 2),
		made("diamond-zyx-r2", 2)}, GarveyOptions{Seeds: 3, Log: testWriter{t}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	keep := func(program, grid, best string, factor float64) {
		b := made(program, 2)
		b.folder, b.name, b.about.Grid = folder, program+"-float-"+grid, grid
		for i := range b.list {
			if strings.Contains(b.list[i].Config, best) {
				b.list[i].Seconds *= factor
			}
		}
		if err := b.save(); err != nil {
			t.Fatal(err)
		}
	}
	keep("star-zyx-r2", "64x64x64", "vec=4", 1)
	keep("thumbtack-zyx-r3", "64x64x64", "load=image", 0.25)
	keep("star-zyx-r2", "512x512x512", "vec=4", 1)
	keep("dense-zyx-r1", "8x1024x1024", "stages=1", 0.25)
	keep("star-zyx-r1-a2m1", "256x256x256", "load=image", 0.25)
	keep("star-zx-r1-a2m1", "256x256x256", "load=image", 0.25)
	if ok, err := HasSamples(folder); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if ok, err := HasSamples(t.TempDir()); ok || err != nil {
		t.Errorf("an empty folder has samples: %v", err)
	}
	half := made("dense-x-r1", 2)
	half.folder, half.name, half.about.Grid = folder, "half", "64x64x64"
	half.about.Configurations++
	if err := half.save(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	rows, err := GarveySamples(t.Context(), folder, whole, 5, &log)
	if err != nil || !strings.Contains(log.String(), "half is left out") {
		t.Fatalf("%v: %s", err, log.String())
	}
	want := []struct {
		table, of       string
		kernels, chosen int
		weighted        float64
	}{
		// The best with vectors takes 0.5, without them 1, a quarter of that with images.
		{"sizes", "64x64x64", 2, 1, (1 + 0.25/0.5) / 2},
		{"sizes", "512x512x512", 1, 1, 1},
		{"shapes", "8x1024x1024", 1, 0, 0.25 / 0.5},
		{"arithmetic", "additions: 2, multiplications: 1", 2, 0, 0.25 / 0.5},
	}
	if len(rows) != len(want) {
		t.Fatalf("%+v", rows)
	}
	for i, w := range want {
		r := rows[i]
		if r.Table != w.table || r.Of != w.of || r.Kernels != w.kernels {
			t.Errorf("%+v, not %+v", r, w)
		}
		// What has learned from the other kernel with as much arithmetic may choose images.
		if r.Table != "arithmetic" && (r.Correct != w.chosen || math.Abs(r.Weighted-w.weighted) > 1e-9) {
			t.Errorf("%s %s: %d correct, %g", r.Table, r.Of, r.Correct, r.Weighted)
		}
		if r.Oracle <= 1 || r.Chosen > r.Oracle*1.0001 || r.Weighted < 0.5 || r.Usual < 0.5 || r.Configurations < 40 {
			t.Errorf("%+v", r)
		}
	}
	var out bytes.Buffer
	if err := WriteSamples(&out, rows); err != nil || !strings.Contains(out.String(), "sizes (Table 9)") ||
		!strings.Contains(out.String(), "512x512x512") {
		t.Errorf("%s, %v", &out, err)
	}
	if _, err := GarveySamples(t.Context(), folder, nil, 5, &log); err == nil {
		t.Error("forests have learned from nothing")
	}
	if _, err := GarveySamples(t.Context(), folder+"/none", whole, 5, &log); err == nil {
		t.Error("a folder that is not there has samples")
	}
	if err := os.WriteFile(folder+"/bad.t4.json.gz", []byte("no recording"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := GarveySamples(t.Context(), folder, whole, 5, &log); err == nil {
		t.Error("a broken file has a sample")
	}
}

// A sample is recorded as a whole space is, over several calls.
func TestSampleRecords(t *testing.T) {
	list, err := GarveyPart{
		Suite: "garvey416", Names: []string{"star-zx-r3-a2m2"}, Size: [3]int{32, 32, 32}, OneIn: 4,
	}.Subjects()
	if err != nil {
		t.Fatal(err)
	}
	more, err := schedule.ParseRestrictions("more", "limit block=1x1x32|1x2x32|1x4x32|1x1x64")
	if err != nil {
		t.Fatal(err)
	}
	list[0].Limits = append(list[0].Limits, more...)
	s := newScripted(t, list[0])
	folder := t.TempDir()
	for _, budget := range []time.Duration{time.Second, time.Minute, time.Minute} {
		_, err := Record(t.Context(), RecordOptions{Folder: folder, Subjects: list, Budget: budget, Alike: true,
			Open: s.open, Clock: s.clock, Commit: "abc", Log: testWriter{t}})
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := openRecording(folder, "star-zx-r3-a2m2-float-32x32x32")
	if err != nil || !b.complete() || !strings.Contains(b.about.Space, "one in 4 by a hash") {
		t.Errorf("%+v, %v", b.about, err)
	}
}
