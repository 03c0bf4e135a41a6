package predict

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

// readAll reads the recordings in the repository whose files a pattern names, from its folder bench.
func readAll(t testing.TB, pattern string) []*Recorded {
	t.Helper()
	s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, _ := filepath.Glob(filepath.Join("../../../bench", pattern))
	for _, f := range files {
		r, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Import(context.Background(), s, r, store.Source{}); err != nil {
			t.Fatal(f, err)
		}
		r.Close()
	}
	found, err := Read(context.Background(), s, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range found.Unread {
		t.Log(u)
	}
	return found.Kernels
}

// Of what was tried twice the faster one counts; that compiling it took a while stays known where only one of both was
// compiled.
func TestTriedTwice(t *testing.T) {
	c := schedule.Config{Family: "tile"}
	compiled, known := Trial{Config: c, Seconds: 2, Compile: 0.5}, Trial{Config: c, Seconds: 1}
	for _, order := range [][]Trial{{compiled, known}, {known, compiled}} {
		r := &Recorded{known: map[string]int{}}
		for _, x := range order {
			r.add(x)
		}
		if len(r.Trials) != 1 || r.Trials[0].Seconds != 1 || r.Trials[0].Compile != 0.5 || r.Best != 1 {
			t.Errorf("%+v", r.Trials)
		}
	}
}
