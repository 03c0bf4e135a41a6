package proof

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// GPUOptions says what to prove of the kernels for GPUs.
type GPUOptions struct {
	Pairs   int           // how many random programs, each with a random plan
	Seed    uint64        // of the first one; the others follow
	Workers int           // pairs at a time; 0 for one
	Budget  time.Duration // stop early after this long; 0 never
	Every   int           // one pair in so many is also run by the other checkers; 0 for none
	Spans   bool          // plans have kernels of several iterations, of programs of time loops
	Log     io.Writer     // progress; nil for none
}

// GPUResult is what was proven of the kernels for GPUs.
type GPUResult struct {
	Pairs     int         `json:"pairs"` // program and plan
	FirstSeed uint64      `json:"first_seed"`
	NextSeed  uint64      `json:"next_seed"` // where a proof that was stopped goes on
	Runs      int         `json:"runs"`      // in the simulator: pair, sizes, and kernels for those sizes or for all
	Kernels   int         `json:"kernels"`   // verified and simulated
	Cells     int64       `json:"cells_compared"`
	Strict    int         `json:"strict_runs"`         // equal bit for bit
	Bounded   int         `json:"bounded_runs"`        // within the derived bounds
	Tiled     int         `json:"runs_of_three_tiles"` // and a remainder, on every axis
	PoCL      int         `json:"pocl_runs"`
	Slow      int         `json:"pocl_given_up"` // runs that took PoCL too long
	Oclgrind  int         `json:"oclgrind_runs"` // modules
	Clang     int         `json:"clang_kernels"`
	Spans     *SpanResult `json:"spans,omitempty"`
	Coverage
	Failures []Failure `json:"failures"`
	// Faults of checkers, not of kernels; see judgeSet.judge.
	PoCLFaults      []JudgeFault `json:"pocl_faults,omitempty"`
	OclgrindCrashes []JudgeFault `json:"oclgrind_crashes,omitempty"`
	Seconds         float64      `json:"seconds"`
	Host            Names        `json:"machine"`
	Commit          Names        `json:"commit"`
	Missing         []string     `json:"missing,omitempty"` // checkers that were not installed, and why
	versions.Set
}

// GPU proves the kernels for GPUs: random programs with random plans run in the
// simulator, which reports races and accesses outside of arrays, and every cell
// is compared with the reference executor. When ctx ends, what was proven so
// far is the result.
func GPU(ctx context.Context, o GPUOptions) (*GPUResult, error) {
	return (&gpuProver{GPUOptions: o}).run(ctx)
}

func (p *gpuProver) run(ctx context.Context) (*GPUResult, error) {
	o := p.GPUOptions
	p.start = time.Now()
	p.result = GPUResult{
		Set:       versions.Current(),
		FirstSeed: o.Seed,
		Host:      Names{toolchain.ProcessorName()},
		Failures:  []Failure{},
	}
	if o.Spans {
		p.result.Spans = &SpanResult{}
	}
	if o.Every > 0 {
		j, err := newCrossCheckers()
		if err != nil {
			return nil, err
		}
		defer j.close()
		p.checkers = j
		p.result.Missing = j.missing
	}
	proofs := series[*pairResult]{o.Seed, o.Pairs, o.Workers, o.Budget, p.prove, p.add}
	p.result.NextSeed = proofs.run(ctx)
	slices.SortFunc(p.result.Failures, func(a, b Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	p.result.Coverage.sort()
	p.result.Seconds = math.Round(time.Since(p.start).Seconds())
	return &p.result, nil
}

type gpuProver struct {
	GPUOptions
	start    time.Time
	checkers *crossCheckers // nil for none
	spoil    *spoiler       // for tests

	result GPUResult
}

// progress is how many pairs are between two lines of the log.
const progress = 100

// add adds the result of a pair.
func (p *gpuProver) add(_ uint64, v *pairResult) {
	r := &p.result
	v.addTo(r)
	if p.Log != nil && r.Pairs%progress == 0 {
		fmt.Fprintf(p.Log, "%d pairs, %d runs, %d cells, %d failures, %v\n",
			r.Pairs, r.Runs, r.Cells, len(r.Failures), time.Since(p.start).Round(time.Second))
	}
	if p.Log != nil && v.failure != nil {
		fmt.Fprintln(p.Log, v.failure)
	}
}
