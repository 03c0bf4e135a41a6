package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

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

func begin(t *testing.T, s *Store, search session.Search) store.Recorder {
	t.Helper()
	x, err := s.Begin(context.Background(), search)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func add(t *testing.T, x store.Recorder, trials ...session.Trial) {
	t.Helper()
	for i := range trials {
		if err := x.Append(context.Background(), &trials[i]); err != nil {
			t.Fatal(err)
		}
	}
}

func log(t *testing.T, s *Store, id string) []session.Trial {
	t.Helper()
	var list []session.Trial
	for trial, err := range store.Log(context.Background(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, trial)
	}
	return list
}

// plan draws texts like those of a space of one kernel on a GPU.
func plan(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	return fmt.Sprintf("family=planes,stream=k,block=%sx%s,rows=%s,vec=%s,chunk=%d,prefetch=%s,stages=%s,copy=%s,"+
		"unroll=%s,loads=%s,stores=%s,columns=%s,load=%s,store=%s,sizes=%s,cse=%s,registers=%s",
		pick("1", "2", "4", "8", "16"), pick("32", "64", "128", "256"), pick("1", "2", "4", "8"),
		pick("1", "2", "4"), 8*(1+rng.IntN(64)), pick("0", "1"), pick("1", "2", "3"), pick("async", "tensor"),
		pick("0", "2", "3", "4"), pick("together", "statements", "terms", "first"), pick("together", "rows"),
		pick("grids", "all", "halos", "none"), pick("plain", "readonly"), pick("plain", "streaming"),
		pick("arguments", "literals"), pick("yes", "no"), pick("0", "32", "48", "64", "128", "255"))
}

// measured makes a trial like those of a GPU: ten batches that differ by half a
// percent, everything known about the kernel, and one variant in five refused.
func measured(rng *rand.Rand, config string) session.Trial {
	t := session.Trial{Kernel: "heat[0:1]", Config: config,
		At:      storetest.Noon.Add(time.Duration(rng.IntN(3600e3)) * time.Millisecond),
		Compile: time.Duration(rng.IntN(2e9)), Search: time.Duration(rng.IntN(1e5)),
		Other: time.Duration(rng.IntN(1e7))}
	if rng.IntN(5) == 0 {
		t.Verdict, t.Note = verdict.Resources, fmt.Sprintf("%d bytes of shared memory are needed, a block has 233472",
			233472+1024*rng.IntN(100))
		return t
	}
	t.Median = 0.0005 + 0.01*rng.Float64()
	t.Low, t.High = 0.999*t.Median, 1.0007*t.Median
	for range 10 {
		t.Samples = append(t.Samples, t.Median*(1+0.005*rng.NormFloat64()))
	}
	t.Resources = session.Resources{Registers: 16 + rng.IntN(240), Shared: 1024 * rng.IntN(200),
		Occupancy: float32(1+rng.IntN(64)) / 64}
	t.Condition = session.Condition{Clock: 1900 + rng.IntN(80), MemoryClock: 3201, Temperature: 35 + rng.IntN(20),
		Power: 200 + rng.IntN(400), PowerLimit: 700}
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
	x := begin(t, s, storetest.Search())
	empty := size(t, s)
	rng := rand.New(rand.NewPCG(1, 0))
	const n = 10000
	appendAll(t, s, x, n, func() session.Trial { return measured(rng, plan(rng)) })
	all := size(t, s)
	perTrial := float64(all-empty) / n
	t.Logf("%.1f bytes a trial", perTrial)
	if perTrial >= 100 {
		t.Errorf("%.1f bytes a trial", perTrial)
	}
	samples := 0
	for r, err := range s.Records(context.Background(), store.Filter{}) {
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
func appendAll(t testing.TB, s *Store, x store.Recorder, n int, next func() session.Trial) {
	t.Helper()
	r := x.(*recorder)
	err := s.transact(context.Background(), func(tx *sql.Tx) error {
		w := s.writing(context.Background(), tx)
		for i := range n {
			trial := next()
			trial.Index = r.next + i
			if fresh, err := w.trial(&r.info, &trial); err != nil || !fresh {
				return fmt.Errorf("trial %d is new: %v, %w", i, fresh, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.next += n
}

// Once a session is finished, the store's file alone has all of it.
func TestFinishedIsFlushed(t *testing.T) {
	s := fresh(t)
	x := begin(t, s, storetest.Search())
	add(t, x, storetest.Tried("a", verdict.OK, 1, 1), storetest.Tried("b", verdict.OK, 2, 1))
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
	if k, err := store.Known(t.Context(), copied, storetest.Search().Scenario); err != nil || k.Len() != 2 {
		t.Errorf("%d trials, %v", k.Len(), err)
	}
}
