package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/tune/store"
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
	s, err := store.Open(ctx, filepath.Join(dir, "store.db"), store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	search := store.Search{
		Scenario: store.Scenario{
			Program:  store.Program{Hash: "6f1ed0", Name: "heat3d.loom", Features: store.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2, Flops: 8}},
			Device:   store.Device{API: "cuda", Name: "NVIDIA H200", Driver: "570.86", Units: 132},
			Compiler: store.Compiler{Name: "nvrtc", Version: "12.8"},
			Sizes:    "L=512,M=512,N=512", DType: "double", FP: "contract",
		},
		Strategy: "random", Seed: 1, Budget: "60s",
	}
	session, err := s.Begin(ctx, search)
	if err != nil {
		log.Fatal(err)
	}
	known, err := s.Known(ctx, search.Scenario)
	if err != nil {
		log.Fatal(err)
	}
	for i, config := range []string{"family=cells,block=8x32", "family=stream,block=4x64"} {
		trial := store.Trial{Config: config}
		if old, ok := known.Get("", config); ok {
			trial, trial.Reused = old.Trial, true
		} else { // measure it
			trial.Median, trial.Compile = 0.002/float64(1+i), 300*time.Millisecond
		}
		if err := session.Append(ctx, &trial); err != nil {
			log.Fatal(err)
		}
		// The strategy is told what is in trial now.
	}

	again, err := s.Resume(ctx, session.ID(), "commit")
	if err != nil {
		log.Fatal(err)
	}
	for trial, err := range s.Log(ctx, again.ID()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(trial.Index, trial.Config, trial.Verdict, trial.Median)
	}
	if err := again.Finish(ctx, "time is up"); err != nil {
		log.Fatal(err)
	}

	best, found, err := s.Best(ctx, store.Scenario{Program: store.Program{Hash: "6f1ed0"}, Device: store.Device{API: "cuda"}}, "")
	fmt.Println(best.Config, found, err)
	// Output:
	// 0 family=cells,block=8x32 ok 0.002
	// 1 family=stream,block=4x64 ok 0.001
	// family=stream,block=4x64 true <nil>
}
