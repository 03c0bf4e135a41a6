package predict

import (
	"context"
	"os"
	"path/filepath"
	"testing"

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
