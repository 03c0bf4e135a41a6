package proof

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
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
	p.start, p.finished = time.Now(), map[uint64]*pairResult{}
	p.result = GPUResult{
		Set:       versions.Current(),
		FirstSeed: o.Seed,
		NextSeed:  o.Seed,
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
	var wg sync.WaitGroup
	for range max(1, o.Workers) {
		wg.Go(func() {
			for {
				seed, ok := p.take(ctx)
				if !ok {
					return
				}
				p.finish(ctx, seed, p.prove(ctx, seed))
			}
		})
	}
	wg.Wait()
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

	mu       sync.Mutex
	result   GPUResult
	next     int                    // pairs that were begun
	finished map[uint64]*pairResult // those that were finished before another that was begun earlier
}

// take returns the seed of the next pair.
func (p *gpuProver) take(ctx context.Context) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= p.Pairs || ctx.Err() != nil || p.Budget > 0 && time.Since(p.start) > p.Budget {
		return 0, false
	}
	seed := p.Seed + uint64(p.next)
	p.next++
	return seed, true
}

// progress is how many pairs are between two lines of the log.
const progress = 100

// finish adds the result of a pair. Pairs count in the order of their seeds, so that an interrupted proof has all
// pairs up to a seed and none after it. A pair that was interrupted does not count.
func (p *gpuProver) finish(ctx context.Context, seed uint64, v *pairResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	p.finished[seed] = v
	r := &p.result
	for v, ok := p.finished[r.NextSeed]; ok; v, ok = p.finished[r.NextSeed] {
		delete(p.finished, r.NextSeed)
		r.NextSeed++
		v.addTo(r)
		if p.Log != nil && r.Pairs%progress == 0 {
			fmt.Fprintf(p.Log, "%d pairs, %d runs, %d cells, %d failures, %v\n",
				r.Pairs, r.Runs, r.Cells, len(r.Failures), time.Since(p.start).Round(time.Second))
		}
		if p.Log != nil && v.failure != nil {
			fmt.Fprintln(p.Log, v.failure)
		}
	}
}
