package search

import (
	"runtime"
	"slices"
	"testing"
)

func TestPull(t *testing.T) {
	points := []Point{{1}, {2}, {3}}
	next, stop := pull(slices.Values(points))
	for _, want := range points {
		if p, ok := next(); !ok || !slices.Equal(p, want) {
			t.Errorf("%v instead of %v", p, want)
		}
	}
	for range 2 {
		if p, ok := next(); ok {
			t.Errorf("%v comes after the end", p)
		}
	}
	stop()
}

// TestPullFromLockedThreads uses one sequence from threads that are locked and not.
func TestPullFromLockedThreads(t *testing.T) {
	runtime.LockOSThread()
	s, err := New("hybrid", Problem{Space: specSpace()})
	first := s.Ask(1)
	runtime.UnlockOSThread()
	if err != nil || len(first) != 1 || len(s.Ask(1)) != 1 {
		t.Error("there are no two points")
	}
}

// TestDroppedSearchesEnd makes searches and forgets them halfway: what runs for
// them ends when they are collected.
func TestDroppedSearchesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	const many = 50
	for range many {
		for _, name := range []string{"exhaustive", "hybrid"} {
			s, err := New(name, Problem{Space: specSpace()})
			if err != nil {
				t.Fatal(err)
			}
			s.Ask(1)
		}
	}
	for range 1000 {
		runtime.GC()
		if runtime.NumGoroutine() < before+many/2 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines at first, %d at last", before, runtime.NumGoroutine())
}
