package store

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// search1 is a search with everything filled in.
func search1() Search {
	return Search{
		Scenario: Scenario{
			Program:  Program{"6f1ed002ab5595859014ebf0951522d9", "heat3d.loom", "parameter N = 512;\n", Features{3, 1, 7, 2, 8}},
			Device:   Device{"cuda", "NVIDIA H200", "GPU-5f3a", "570.86.15", "sm=1980,memory=3201", 132},
			Compiler: Compiler{"nvrtc", "12.8", "--gpu-architecture=sm_90"},
			Host:     "node7", Sizes: "L=512,M=512,N=512", DType: "double", FP: "contract",
		},
		Strategy: "auto", Seed: 1 << 63, Budget: "60s", Space: "f00d", Commit: "0123456789ab", Started: noon,
	}
}

// trial1 is a trial with everything filled in.
func trial1() Trial {
	return Trial{
		Config: "heat[0:1]@1{family=stream,stream=k,block=4x64};norm[0:1]@1{family=tile}", Verdict: OK,
		Median: 0.00123456789, Low: 0.0012, High: 0.0013, Samples: []float64{0.00124, 0.00122, 0.0013},
		Resources: Resources{64, 8, 4096, 0.75}, Error: 1e-12,
		Compile: 1500 * time.Millisecond, Measure: 40 * time.Millisecond, Validate: 3 * time.Millisecond, Search: 17 * time.Microsecond, Other: 2 * time.Millisecond,
		At: noon.Add(1234 * time.Millisecond),
	}
}

func open(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fresh(t *testing.T) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "store.db"), Options{})
}

func begin(t *testing.T, s *Store, search Search) *Session {
	t.Helper()
	x, err := s.Begin(context.Background(), search)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func add(t *testing.T, x *Session, trials ...Trial) {
	t.Helper()
	for i := range trials {
		if err := x.Append(context.Background(), &trials[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func log(t *testing.T, s *Store, id string) []Trial {
	t.Helper()
	var list []Trial
	for trial, err := range s.Log(context.Background(), id) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, trial)
	}
	return list
}

func TestSession(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	x := begin(t, s, search1())
	first, second := trial1(), Trial{Config: "family=loops", Kernel: "heat[0:1]", Verdict: Timeout, Note: "longer than 2 s", At: noon.Add(2 * time.Second)}
	told := []*Trial{&first, &second}
	for _, trial := range told {
		if err := x.Append(ctx, trial); err != nil {
			t.Fatal(err)
		}
	}
	if first.Index != 0 || second.Index != 1 || x.Len() != 2 {
		t.Errorf("indices %d and %d of %d", first.Index, second.Index, x.Len())
	}
	if first.Median != trial1().Median || first.Compile != trial1().Compile || first.At != trial1().At {
		t.Errorf("rounding changed %+v", first)
	}
	// What was told is what the log says, in this process and in the next.
	again := open(t, s.Path(), Options{ReadOnly: true})
	for _, s := range []*Store{s, again} {
		if got := log(t, s, x.ID()[:5]); !reflect.DeepEqual(got, []Trial{first, second}) {
			t.Errorf("logged %+v", got)
		}
		info, err := s.Session(ctx, x.ID())
		info.row = x.info.row
		if err != nil || !reflect.DeepEqual(info, x.Info()) || info.Seed != 1<<63 {
			t.Errorf("the session is %+v, %v", info, err)
		}
	}

	// What is used again has the time at which it is.
	reused := first
	reused.Reused, reused.At = true, noon.Add(-time.Hour)
	if err := x.Append(ctx, &reused); err != nil || time.Since(reused.At) > time.Hour || reused.Index != 2 {
		t.Errorf("%+v, %v", reused, err)
	}

	// It is taken up by another Gridloom.
	if err := x.Finish(ctx, "interrupted"); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Session(ctx, x.ID()); err != nil || info.Outcome != "interrupted" || info.Finished.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	y, err := s.Resume(ctx, x.ID(), "fedcba")
	if err != nil {
		t.Fatal(err)
	}
	third := trial1()
	add(t, y, third)
	var commits []string
	for r, err := range s.Records(ctx, Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, fmt.Sprint(r.Index, " ", r.Commit()))
	}
	if want := []string{"0 0123456789ab", "1 0123456789ab", "2 0123456789ab", "3 fedcba"}; !reflect.DeepEqual(commits, want) {
		t.Errorf("%q", commits)
	}
	if info, _ := s.Session(ctx, x.ID()); info.Outcome != "" || !info.Finished.IsZero() || len(info.Runs) != 2 {
		t.Errorf("after it was taken up: %+v", info)
	}

	// Who goes on after that in the first process is told.
	late := trial1()
	err = x.Append(ctx, &late)
	if want := fmt.Sprintf("%s: session %s goes on in another process, which has stored trial 3 (end one of the two)", s.Path(), x.ID()); err == nil || err.Error() != want {
		t.Error(err)
	}
	if n := len(log(t, s, x.ID())); n != 4 {
		t.Errorf("%d trials", n)
	}
}

func TestNoSession(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	a := begin(t, s, search1())
	want := s.Path() + `: there is no session "zz" (gridloom results sessions lists them)`
	for trial, err := range s.Log(ctx, "zz") {
		if err == nil || err.Error() != want || trial.Config != "" {
			t.Error(err)
		}
	}
	if _, err := s.Resume(ctx, "zz", ""); err == nil || err.Error() != want {
		t.Error(err)
	}
	second := search1()
	for i := 0; ; i++ { // another whose name begins alike
		second.Started = noon.Add(time.Duration(i) * time.Nanosecond)
		if id := identify(second); id[0] == a.ID()[0] && id != a.ID() {
			break
		}
	}
	second.Started = second.Started.Add(0)
	b := begin(t, s, second)
	_, err := s.Session(ctx, a.ID()[:1])
	if err == nil || !strings.Contains(err.Error(), "2 sessions begin with") || !strings.Contains(err.Error(), b.ID()) {
		t.Error(err)
	}
}

func TestBadTrials(t *testing.T) {
	s := fresh(t)
	x := begin(t, s, search1())
	for _, c := range []struct {
		spoil func(*Trial)
		want  string
	}{
		{func(t *Trial) { t.Config = "" }, "trial 0: it has no configuration"},
		{func(t *Trial) { t.Median = 0 }, "trial 0: a variant that ran took 0 s"},
		{func(t *Trial) { t.Verdict = 8 }, "trial 0: there is no verdict 8"},
		{func(t *Trial) { t.High = math.NaN() }, "trial 0: a time of 0.00123456789 s (0.0012 to NaN)"},
		{func(t *Trial) { t.Samples[1] = -1 }, "trial 0: a sample of -1 s"},
		{func(t *Trial) { t.Compile = -1 }, "trial 0: it took -1ns"},
		{func(t *Trial) { t.Resources.Spills = -1 }, "trial 0: negative resources"},
	} {
		trial := trial1()
		c.spoil(&trial)
		if err := x.Append(context.Background(), &trial); err == nil || err.Error() != s.Path()+": "+c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if n := len(log(t, s, x.ID())); n != 0 || x.Len() != 0 {
		t.Errorf("%d trials were stored", n)
	}
}

// plans draws texts like those of a space of one kernel on a GPU.
func plan(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	return fmt.Sprintf("heat[0:1]@1{family=stream,stream=%s,chunk=%d,planes=%s,rotate=%s,shared=%s,ahead=%s,block=%sx%s,vec=%s,rows=%s,repeat=%sx%s,x=%s,load=%s,store=%s,sizes=%s,share=%s,registers=%s}",
		pick("k", "j"), 8*(1+rng.IntN(64)), pick("1", "2", "4"), pick("yes", "no"), pick("0", "1", "2", "3"), pick("0", "1", "2"),
		pick("1", "2", "4", "8", "16"), pick("32", "64", "128", "256"), pick("1", "2", "4", "8"), pick("1", "2", "4"), pick("1", "2", "4"), pick("1", "2", "4"),
		pick("load", "shuffle", "shared"), pick("plain", "readonly"), pick("plain", "streaming"), pick("args", "baked"), pick("yes", "no"), pick("0", "32", "48", "64", "128", "255"))
}

// measured makes a trial like those of a GPU: ten batches that differ by half a
// percent, everything known about the kernel, and one variant in five refused.
func measured(rng *rand.Rand, config string) Trial {
	t := Trial{Config: config, At: noon.Add(time.Duration(rng.IntN(3600e3)) * time.Millisecond), Compile: time.Duration(rng.IntN(2e9)), Search: time.Duration(rng.IntN(1e5)), Other: time.Duration(rng.IntN(1e7))}
	if rng.IntN(5) == 0 {
		t.Verdict, t.Note = TooMuch, fmt.Sprintf("%d bytes of shared memory are needed, a block has 233472", 233472+1024*rng.IntN(100))
		return t
	}
	t.Median = 0.0005 + 0.01*rng.Float64()
	t.Low, t.High = 0.999*t.Median, 1.0007*t.Median
	for range 10 {
		t.Samples = append(t.Samples, t.Median*(1+0.005*rng.NormFloat64()))
	}
	t.Resources = Resources{16 + rng.IntN(240), 0, 1024 * rng.IntN(200), float32(1+rng.IntN(64)) / 64}
	t.Error = 1e-16 * rng.Float64()
	t.Measure, t.Validate = time.Duration(rng.IntN(3e8)), time.Duration(rng.IntN(1e7))
	return t
}

// size returns how large the file is when everything is in it.
func size(t *testing.T, s *Store) int64 {
	t.Helper()
	if _, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A trial of a known program takes less than 100 bytes, although almost every
// configuration is a new one.
func TestCompact(t *testing.T) {
	s := fresh(t)
	x := begin(t, s, search1())
	empty := size(t, s)
	rng := rand.New(rand.NewPCG(1, 0))
	const n = 10000
	appendAll(t, s, x, n, func() Trial { return measured(rng, plan(rng)) })
	all := size(t, s)
	perTrial := float64(all-empty) / n
	t.Logf("%.1f bytes a trial", perTrial)
	if perTrial >= 100 {
		t.Errorf("%.1f bytes a trial", perTrial)
	}
	samples := 0
	for r, err := range s.Records(context.Background(), Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		samples += len(r.Samples)
	}
	t.Logf("%.1f bytes a sample", float64(all-empty)/float64(samples))
	if samples < 7*n {
		t.Errorf("only %d samples came back", samples)
	}
}

// appendAll appends many trials in one transaction, for tests that need many.
func appendAll(t *testing.T, s *Store, x *Session, n int, next func() Trial) {
	t.Helper()
	tx, err := s.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	w := s.writing(context.Background(), tx)
	for i := range n {
		trial := next()
		trial.Index = x.next + i
		if fresh, err := w.trial(&x.info, &trial); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	w.done()
	x.next += n
}

// Once a session is finished, the store's file alone has all of it.
func TestFinishedIsFlushed(t *testing.T) {
	s := fresh(t)
	x := with(t, s, nil, tried("a", OK, 1, 1), tried("b", OK, 2, 1))
	if err := x.Finish(t.Context(), "finished"); err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "alone.db")
	data, err := os.ReadFile(s.Path())
	if err == nil {
		err = os.WriteFile(alone, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	copied, err := Open(t.Context(), alone, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	if k, err := copied.Known(t.Context(), search1().Scenario); err != nil || k.Len() != 2 {
		t.Errorf("%d trials, %v", k.Len(), err)
	}
}
