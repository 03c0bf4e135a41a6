package profile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// clockwork is a laboratory whose times are those of a table: by the kernel that is timed, and otherwise a second.
type clockwork struct {
	target   *target.Target
	seconds  map[string]float64
	broken   string // a kernel that does not run
	cache    int64  // bytes; 0 is few
	mutex    sync.Mutex
	compiled map[string]string // by image: the source
	settings []measure.Setting
}

func (c *clockwork) About() measure.About {
	return measure.About{ID: "cuda:0", Name: "a clockwork", Target: c.target, Workers: 4,
		CacheBytes: cmp.Or(c.cache, 4096)}
}
func (c *clockwork) Fits(*exec.Script) error { return nil }
func (c *clockwork) Close()                  {}

func (c *clockwork) Compile(_ context.Context, t measure.Text) (measure.Compiled, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.compiled[t.Name] = t.Source
	return measure.Compiled{Image: t.Name, Resources: measure.Resources{Registers: 40}}, nil
}

func (c *clockwork) Arrange(_ context.Context, s measure.Setting) error {
	c.settings = append(c.settings, s)
	return nil
}

func (c *clockwork) Expect(context.Context, measure.Code, bool) (measure.Values, error) {
	return measure.Values{}, errors.New("nothing is checked")
}

func (c *clockwork) Try(context.Context, measure.Code, measure.Margins, measure.Rule, time.Duration) (measure.Trial,
	error) {
	return measure.Trial{}, errors.New("nothing is tried")
}

// Batch knows the kernel that is timed, and that its source has it.
func (c *clockwork) Batch(_ context.Context, code measure.Code, _ time.Duration) (float64, error) {
	if code.To-code.From != 1 {
		return 0, errors.New("not one launch is timed")
	}
	name := code.Kernels[code.Launches[code.From].Kernel]
	if !strings.Contains(c.compiled[code.Image], name) || name == c.broken {
		return 0, errors.New(name + " does not run")
	}
	if s, known := c.seconds[name]; known {
		return s, nil
	}
	return 1, nil
}

func (c *clockwork) Copy(_ context.Context, bytes int64, _ time.Duration) (float64, error) {
	return 2 * float64(bytes) / 4e12, nil // 4,000 GB/s
}

func options(t *testing.T, plan string, seconds map[string]float64) (Options, *clockwork) {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	lab := &clockwork{target: target.OnPaper(emit.CUDA, m, arith.Contract), seconds: seconds,
		compiled: map[string]string{}}
	p, err := schedule.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	b := bound(t)
	return Options{Lab: lab, Bound: b, Lowering: lab.target.Lowering(b, p), Budget: time.Nanosecond}, lab
}

// A profile has the times of the kernel and of its variants, what was counted and measured, and the class of both.
func TestRun(t *testing.T) {
	const moved = 2 * 14 * 22 * 70 * 8
	seconds := map[string]float64{"s": 2 * moved / 4e12, "s_without_dram": moved / 4e12, "s_without_l2": moved / 4e12,
		"s_without_l1": 0.9 * moved / 4e12, "s_without_shared": 2 * moved / 4e12,
		"s_without_arithmetic": 2 * moved / 4e12}
	o, lab := options(t, "family=planes,stream=k,block=4x32,vec=1,stages=2", seconds)
	o.Count = func(_ context.Context, s measure.Setting, list []measure.Code, warm bool) ([]*counters.Counters,
		error) {
		if len(list) != 1 || list[0].Name != "s" || list[0].To-list[0].From != 1 || warm || len(s.Grids) != 2 {
			t.Errorf("%+v is counted, %v", list, warm)
		}
		return nil, errors.New("they may not be read")
	}
	p, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	k := p.Kernels[0]
	if len(p.Kernels) != 1 || k.Class != BoundByDRAM || k.Part != "s[0:1]" || !k.Loop || k.Rounds != fewestRounds ||
		k.Seconds != seconds["s"] || !slices.Equal(k.Grids, []string{"u", "v"}) && !slices.Equal(k.Grids,
		[]string{"v", "u"}) {
		t.Errorf("%+v", k)
	}
	if d := k.Level(DRAM); d.Share < 0.5 || d.Share > 0.75 || !d.AtLeast {
		t.Errorf("%+v", d) // rows are padded
	}
	if v := k.Variant(kernel.WithoutDRAM); v == nil || v.Gain != 2 || v.Share != 0.5 {
		t.Errorf("%+v", k.Variants)
	}
	if p.NoCounters != "no counters: they may not be read" || p.Roof.Bandwidth(DRAM) != 4e12 ||
		p.Roof.Peak("f64") == 0 || k.Resources.Registers != 40 || k.Resources.Occupancy == 0 || len(lab.settings) != 1 {
		t.Errorf("%+v, %+v", p, k.Resources)
	}
	o.Count = func(context.Context, measure.Setting, []measure.Code, bool) ([]*counters.Counters, error) {
		return []*counters.Counters{{DRAMBytes: 2 * moved, DRAM: 59, L2: 90}}, nil
	}
	if p, err = Run(t.Context(), o); err != nil || p.Kernels[0].Counters.Class != BoundByDRAM || p.NoCounters != "" ||
		p.Kernels[0].Level(DRAM).Share != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// watched is a laboratory that keeps what is timed, by kernel.
type watched struct {
	*clockwork
	codes map[string]measure.Code
}

func (l *watched) Batch(ctx context.Context, code measure.Code, least time.Duration) (float64, error) {
	l.codes[code.Name] = code
	return l.clockwork.Batch(ctx, code, least)
}

// The last cache is measured by a kernel that copies within it, or by short copies if the cache is too small for that.
// What cannot be measured is noted.
func TestRoofOfCache(t *testing.T) {
	_, moved := cachedCopy(60<<20, 132, copyRounds)
	for _, c := range []struct {
		cache  int64
		broken string
		want   float64
		from   string
	}{
		{60 << 20, "", 8e12, "measured: copies that the last cache keeps, in one launch"},
		{1 << 20, "", 4e12, "measured: a copy that the last cache keeps"},
		{60 << 20, "cached_copy", 0, ""},
	} {
		o, lab := options(t, "family=tile", map[string]float64{"cached_copy": moved / 8e12})
		lab.cache, lab.broken = c.cache, c.broken
		w := &watched{lab, map[string]measure.Code{}}
		o.Lab = w
		p, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		from := ""
		for _, l := range p.Roof.Levels {
			if l.Level == L2 {
				from = l.From
			}
		}
		if p.Roof.Bandwidth(L2) != c.want || from != c.from || p.Roof.Bandwidth(DRAM) != 4e12 ||
			(len(p.Notes) == 1) != (c.broken != "") {
			t.Errorf("%+v: %+v, %q", c, p.Roof.Levels, p.Notes)
		}
		code, timed := w.codes["cached_copy"]
		if timed != (c.cache > 1<<20) {
			t.Errorf("%+v: %+v is timed", c, code)
		}
		if !timed {
			continue
		}
		const bytes = 7 * 132 * 256 * 64
		if l := code.Launches[0]; !slices.Equal(code.Scratch, []int64{bytes, bytes}) ||
			l.Geometry.Blocks[0] != 7*132 || !slices.Equal(l.Args, []exec.Arg{{Kind: exec.ScratchArg},
			{Kind: exec.ScratchArg, Index: 1}, {Kind: exec.ValueArg, Bits: [8]byte{1}}}) {
			t.Errorf("%+v", code)
		}
	}
}

// A search asks for one kernel of a plan, and knows the device from the first time on.
func TestRunPart(t *testing.T) {
	o, lab := options(t, "family=tile", nil)
	o.Part = "s[0:1]"
	o.Roof = &Roof{Levels: []Speed{{Level: DRAM, GBs: 1000, From: "before"}}}
	p, err := Run(t.Context(), o)
	if err != nil || len(p.Kernels) != 1 || p.Roof.Bandwidth(DRAM) != 1e12 || p.Kernels[0].Level(DRAM).Share == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for image := range lab.compiled {
		if strings.HasPrefix(image, "peak") {
			t.Errorf("%s was measured again", image)
		}
	}
	o.Part = "body[0:2]@2"
	if _, err := Run(t.Context(), o); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
}

// expiring is a context whose deadline a test decides on.
type expiring struct {
	context.Context
	late *bool
}

func (e expiring) Err() error {
	if *e.late {
		return context.DeadlineExceeded
	}
	return e.Context.Err()
}

// timed is a laboratory in which the time is over after so many batches.
type timed struct {
	*clockwork
	left int
	late bool
}

func (l *timed) Batch(ctx context.Context, code measure.Code, least time.Duration) (float64, error) {
	if l.left--; l.left < 0 {
		l.late = true
		return 0, errors.New("the time is over")
	}
	return l.clockwork.Batch(ctx, code, least)
}

// Where the time is over, a profile has what it knows, if that are some rounds of all.
func TestRunLate(t *testing.T) {
	for _, c := range []struct{ batches, rounds int }{{3*6 - 1, 0}, {3*6 + 1, 3}, {4*6 + 2, 4}} {
		plan := "family=planes,stream=k,block=4x32,vec=1,stages=2"
		o, lab := options(t, plan, map[string]float64{"s_without_dram": 0.5})
		l := &timed{clockwork: lab, left: c.batches}
		o.Lab = l
		p, err := Run(expiring{t.Context(), &l.late}, o)
		if c.rounds == 0 {
			if err == nil {
				t.Errorf("%+v: %+v", c, p.Kernels[0])
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if k := p.Kernels[0]; k.Rounds != c.rounds || k.Class == NotTold || len(p.Roof.Peaks) != 0 ||
			!slices.Contains(p.Notes, "there was no time to measure the device") {
			t.Errorf("%+v: %+v, %q", c, k, p.Notes)
		}
	}
}

// A variant that does not run is none; a kernel that does not is an error. A broken-off profile says so.
func TestRunFailures(t *testing.T) {
	o, lab := options(t, "family=tile", nil)
	lab.broken = "s_without_l1"
	p, err := Run(t.Context(), o)
	if err != nil || p.Kernels[0].Variant(kernel.WithoutL1) != nil ||
		!strings.Contains(p.Kernels[0].Variants[2].Absent, "it failed: s_without_l1 does not run") {
		t.Errorf("%+v, %v", p, err)
	}
	lab.broken = "s"
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "s does not run") {
		t.Errorf("%v", err)
	}
	lab.broken = ""
	counting, end := context.WithCancelCause(t.Context())
	o.Count = func(context.Context, measure.Setting, []measure.Code, bool) ([]*counters.Counters, error) {
		end(errors.New("no more"))
		return nil, errors.New("it was ended")
	}
	if _, err := Run(counting, o); err == nil || err.Error() != "no more" {
		t.Errorf("%v", err)
	}
	cut, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if _, err := Run(cut, o); err == nil || err.Error() != "s: enough" {
		t.Errorf("%v", err)
	}
}

// A loop that a kernel of several iterations carries out is profiled by that kernel, and a hint that is followed is
// measured by the iteration: with two of them in a kernel that takes 1.6 times as long, 1.25 times as fast.
func TestFollow(t *testing.T) {
	o, _ := options(t, "family=tile", map[string]float64{"s": 1, "body_2": 1.6})
	p, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p.Kernels[0].Hints = []Hint{
		{Code: "H01", Change: Change{Plan: "body[0:2]@2{family=overlap}", deeper: 2}},
		{Code: "H05", Change: Change{Command: "gridloom fission"}},
		{Code: "H06", Change: Change{Plan: "family=planes"}, Forbidden: "the source"},
		{Code: "H07", Change: Change{Plan: "family=nothing"}},
	}
	if err := Follow(t.Context(), o, p); err != nil {
		t.Fatal(err)
	}
	h := p.Kernels[0].Hints
	if h[0].Measured == nil || h[0].Measured.Ratio != 1.25 || h[0].Failed != "" {
		t.Errorf("%+v", h[0])
	}
	if h[1].Measured != nil || h[2].Measured != nil || h[1].Failed+h[2].Failed != "" {
		t.Errorf("%+v", h[1:3])
	}
	if h[3].Measured != nil || h[3].Failed == "" {
		t.Errorf("%+v", h[3])
	}
	o, _ = options(t, "body[0:2]@2{family=overlap}", map[string]float64{"body_2": 1.6})
	if p, err = Run(t.Context(), o); err != nil || p.Kernels[0].Depth != 2 || p.Kernels[0].Part != "body[0:2]@2" ||
		p.Kernels[0].Name != "body_2" || p.Kernels[0].Seconds != 1.6 {
		t.Errorf("%+v, %v", p, err)
	}
}
