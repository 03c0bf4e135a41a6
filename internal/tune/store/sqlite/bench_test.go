package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// BenchmarkAppend stores trials, each in a transaction of its own.
func BenchmarkAppend(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	x, err := s.Begin(b.Context(), storetest.Search())
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for b.Loop() {
		trial := measured(rng, plan(rng))
		if err := x.Append(b.Context(), &trial); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

// large makes a store of 100,000 trials in 100 sessions of 10 programs, each session
// with some plans of the whole program.
func large(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	rng := rand.New(rand.NewPCG(1, 0))
	for n := range 100 {
		search := storetest.Search()
		search.Program.Hash = fmt.Sprint(n % 10)
		search.Sizes = session.ParseSizes(fmt.Sprintf("N=%d", 64<<(n/10%3)))
		search.Started = storetest.Noon.Add(time.Duration(n) * time.Minute)
		x, err := s.Begin(b.Context(), search)
		if err != nil {
			b.Fatal(err)
		}
		appendAll(b, s, x, 1000, func() session.Trial {
			t := measured(rng, plan(rng))
			if rng.IntN(200) == 0 {
				t.Kernel, t.Config = "", "heat[0:1]@1{"+t.Config+"}"
			}
			return t
		})
	}
	return s
}

// BenchmarkPlans looks up the plans that are known of a program, as run does, among
// 100,000 trials.
func BenchmarkPlans(b *testing.B) {
	s := large(b)
	like := storetest.Search().Scenario
	like.Program.Hash = "7"
	for b.Loop() {
		list, err := store.Plans(b.Context(), s, like)
		if err != nil || len(list) < 20 {
			b.Fatal(len(list), err)
		}
	}
}

// BenchmarkKnown reads all that is known of a scenario, as tune does when it begins.
func BenchmarkKnown(b *testing.B) {
	s := large(b)
	like := storetest.Search().Scenario
	like.Program.Hash, like.Sizes = "7", session.ParseSizes("N=128")
	for b.Loop() {
		k, err := store.Known(b.Context(), s, like)
		if err != nil || k.Len() < 2000 {
			b.Fatal(k.Len(), err)
		}
	}
}
