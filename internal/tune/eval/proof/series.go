package proof

import (
	"context"
	"sync"
	"time"
)

// series proves things by seeds, several at a time. They count in the order of their seeds, so that a series that was
// stopped has all up to a seed and none after it. One that was interrupted does not count.
type series[R any] struct {
	first   uint64
	count   int
	workers int
	budget  time.Duration // no more begin after this long; 0 never
	prove   func(ctx context.Context, seed uint64) R
	add     func(seed uint64, result R)
}

// run returns the seed to go on with.
func (s *series[R]) run(ctx context.Context) uint64 {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start, begun, next := time.Now(), s.first, s.first
	finished := map[uint64]R{}
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if begun >= s.first+uint64(s.count) || ctx.Err() != nil || s.budget > 0 && time.Since(start) > s.budget {
			return 0, false
		}
		begun++
		return begun - 1, true
	}
	for range max(1, s.workers) {
		wg.Go(func() {
			for seed, ok := take(); ok; seed, ok = take() {
				r := s.prove(ctx, seed)
				mu.Lock()
				if ctx.Err() == nil {
					finished[seed] = r
				}
				for r, ok := finished[next]; ok; r, ok = finished[next] {
					delete(finished, next)
					s.add(next, r)
					next++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return next
}
