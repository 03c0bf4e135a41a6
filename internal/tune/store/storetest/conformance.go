// Package storetest holds stores to what package store promises. Memory is a store of
// this process alone, the plainest that there can be.
package storetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// Open opens the store of a place, which is a folder of the test's own: an empty store
// for the first that does, and another handle to the same store for others. It closes
// the handle at the test's end; to close it before must do no harm.
type Open func(t *testing.T, place string) store.Store

// Conformance runs the suite.
func Conformance(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"Session", testSession},
		{"Order", testOrder},
		{"NoSession", testNoSession},
		{"Absurd", testAbsurd},
		{"Complete", testComplete},
		{"Events", testEvents},
		{"Programs", testPrograms},
		{"Condemn", testCondemn},
		{"Abandoned", testAbandoned},
		{"EarlyEnd", testEarlyEnd},
		{"Goroutines", testGoroutines},
		{"Handles", testHandles},
		{"Filters", testFilters},
		{"FilterIsDefined", testFilterIsDefined},
		{"Known", testKnown},
		{"Transient", testTransient},
		{"Scenarios", testScenarios},
		{"Clusters", testClusters},
		{"BestOfSizes", testBestOfSizes},
		{"Similar", testSimilar},
		{"Plans", testPlans},
		{"VersionsAreNotMixed", testVersionsAreNotMixed},
		{"SimilarOfVersions", testSimilarOfVersions},
		{"ResumeOfVersions", testResumeOfVersions},
		{"Merge", testMerge},
		{"PartialMerge", testPartialMerge},
		{"Lines", testLines},
		{"T4", testT4},
		{"T4OfSearch", testT4OfSearch},
		{"FormerFiles", testFormerFiles},
		{"FormerSpellings", testFormerSpellings},
		{"VersionsAreExported", testVersionsAreExported},
		{"Foreign", testForeign},
		{"BadFiles", testBadFiles},
		{"NewFiles", testNewFiles},
		{"Bombs", testBombs},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// fresh opens a store of its own.
func (open Open) fresh(t *testing.T) store.Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir()))
}

func begin(t *testing.T, s store.Store, search session.Search) store.Recorder {
	t.Helper()
	x, err := s.Begin(t.Context(), search)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func add(t *testing.T, x store.Recorder, trials ...session.Trial) {
	t.Helper()
	for i := range trials {
		if err := x.Append(t.Context(), &trials[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// with begins a session of a search that change has changed, with trials.
func with(t *testing.T, s store.Store, change func(*session.Search), trials ...session.Trial) store.Recorder {
	t.Helper()
	search := Search()
	if change != nil {
		change(&search)
	}
	x := begin(t, s, search)
	add(t, x, trials...)
	return x
}

func log(t *testing.T, s store.Store, id string) []session.Trial {
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

func sessionOf(t *testing.T, s store.Store, id string) session.Session {
	t.Helper()
	i, err := store.Session(context.Background(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// sound checks a store.
func sound(t *testing.T, s store.Store) store.Report {
	t.Helper()
	report, err := s.Check(context.Background())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%q, %v", report.Problems, err)
	}
	return report
}

// put merges a session with trials, as an import does.
func put(t *testing.T, s store.Store, x session.Session, trials ...session.Trial) {
	t.Helper()
	err := s.Merge(t.Context(), func(b store.Batch) error {
		if _, err := b.Session(&x); err != nil {
			return err
		}
		for i := range trials {
			trials[i].Index = i
			if _, err := b.Trial(x.ID, &trials[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
