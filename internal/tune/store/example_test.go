package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

// A search begins a session, asks what is known, stores each trial before the
// next one, and can be taken up again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	search := session.Search{
		Scenario: session.Scenario{
			Program: session.Program{Hash: "6f1ed0", Name: "heat3d.loom",
				Features: session.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2, Flops: 8}},
			Device:   session.Device{API: "cuda", Name: "NVIDIA H200", Driver: "570.86", Units: 132},
			Compiler: session.Compiler{Name: "nvrtc", Version: "12.8"},
			Sizes:    session.Sizes{{Name: "L", Value: 512}, {Name: "M", Value: 512}, {Name: "N", Value: 512}},
			DType:    "double", FP: "contract",
		},
		Strategy: "random", Seed: 1, Budget: session.Budget{Time: time.Minute},
	}
	x, err := s.Begin(ctx, search)
	if err != nil {
		log.Fatal(err)
	}
	known, err := store.Known(ctx, s, search.Scenario)
	if err != nil {
		log.Fatal(err)
	}
	for i, config := range []string{"family=cells,block=8x32", "family=planes,block=4x64"} {
		trial := session.Trial{Config: config}
		if old, ok := known.Get("", config); ok {
			trial, trial.Reused = old.Trial, true
		} else { // measure it
			trial.Median, trial.Compile = 0.002/float64(1+i), 300*time.Millisecond
		}
		if err := x.Append(ctx, &trial); err != nil {
			log.Fatal(err)
		}
		// The strategy is told what is in trial now.
	}

	again, err := s.Resume(ctx, x.ID(), "commit")
	if err != nil {
		log.Fatal(err)
	}
	for trial, err := range store.Log(ctx, s, again.ID()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(trial.Index, trial.Config, trial.Verdict, trial.Median)
	}
	if err := again.Finish(ctx, "time is up"); err != nil {
		log.Fatal(err)
	}

	best, found, err := store.Best(ctx, s, session.Scenario{Program: session.Program{Hash: "6f1ed0"},
		Device: session.Device{API: "cuda"}}, "")
	fmt.Println(best.Config, found, err)
	// Output:
	// 0 family=cells,block=8x32 ok 0.002
	// 1 family=planes,block=4x64 ok 0.001
	// family=planes,block=4x64 true <nil>
}
