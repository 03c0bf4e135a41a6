package storetest

import (
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Noon is when the session of Search began.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// Search is a search with everything filled in but the cluster, and without versions,
// which are the current ones for whoever begins it.
func Search() session.Search {
	return session.Search{
		Scenario: session.Scenario{
			Program: session.Program{Hash: "6f1ed002ab5595859014ebf0951522d9", Name: "heat3d.loom",
				IR:     "(program (axes k j i))\n",
				Source: "parameter N = 512;\n", Features: session.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2,
					Flops: 8}},
			Device: session.Device{API: "cuda", Name: "NVIDIA H200", UUID: "GPU-5f3a", Driver: "570.86.15",
				Clocks: session.Clocks{Compute: 1980, Memory: 3201}, Units: 132,
				Properties: session.Properties{Architecture: "sm_90", Memory: 141 << 30, Cache: 50 << 20,
					Machine: &machine.Machine{Name: "NVIDIA H200", Kind: machine.KindGPU, Units: 132}}},
			Compiler: session.Compiler{Name: "nvrtc", Version: "12.8", Options: "--gpu-architecture=sm_90"},
			Host: session.Host{Name: "node7", System: "linux/amd64", Processor: "x86", Threads: 16,
				Memory: 128 << 30},
			Sizes: session.ParseSizes("L=512,M=512,N=512"), DType: "double", FP: "contract",
		},
		Source: "9b74c9897bac770ffc029102a200c5de", Strategy: "auto", Seed: 1 << 63,
		Budget: session.Budget{Time: time.Minute, Trials: 1500, Target: session.Target{Fraction: 0.95}},
		Space: session.Space{Restrictions: []session.Restriction{{Kind: session.Limit, Text: "vec<=4"}}, Free: true,
			Plan: "local=fused", Begin: []string{"family=cells,block=4x32", "family=tile"}},
		Origin: "elsewhere", Commit: "0123456789ab", Started: Noon,
	}
}

// Trial is a trial with everything filled in.
func Trial() session.Trial {
	return session.Trial{
		Config: "heat[0:1]@1{family=planes,stream=k,block=4x64};norm[0:1]@1{family=tile}", Verdict: verdict.OK,
		Code:   0x0123456789abcdef,
		Median: 0.00123456789, Low: 0.0012, High: 0.0013, Samples: []float64{0.00124, 0.00122, 0.0013},
		Resources: session.Resources{Registers: 64, Spills: 8, Shared: 4096, Blocks: 2, Occupancy: 0.75},
		Condition: session.Condition{Clock: 1980, MemoryClock: 3201, Temperature: 41, Power: 320, PowerLimit: 700},
		Error:     1e-12,
		Compile:   1500 * time.Millisecond, Measure: 40 * time.Millisecond, Validate: 3 * time.Millisecond,
		Search: 17 * time.Microsecond, Other: 2 * time.Millisecond, At: Noon.Add(1234 * time.Millisecond),
	}
}

// Tried is a trial in few words.
func Tried(config string, v verdict.Verdict, median float64, samples int) session.Trial {
	t := session.Trial{Config: config, Verdict: v, At: Noon.Add(time.Second)}
	if v == verdict.OK {
		t.Median = median
		for range samples {
			t.Samples = append(t.Samples, median)
		}
	}
	return t
}

// Later lets a search begin so many minutes later.
func Later(n int) func(*session.Search) {
	return func(s *session.Search) { s.Started = Noon.Add(time.Duration(n) * time.Minute) }
}

// Numbered makes trials that can be told apart.
func Numbered(who, i int) session.Trial {
	t := Trial()
	t.Config = fmt.Sprintf("family=loops,block=%dx%d,threads=%d", i, i*i, who)
	t.Note = fmt.Sprintf("%*d", i%700*4, i)
	return t
}
