package predict

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
)

func readAll(t testing.TB) []*Recorded {
	s, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "s.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, _ := filepath.Glob("../../../bench/recordings/*/*.jsonl.gz")
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
	list, unread, err := Read(context.Background(), s, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range unread {
		t.Log(u)
	}
	return list
}
