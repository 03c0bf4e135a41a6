package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// copyOf copies files of a store, as a user does who knows of nothing.
func copyOf(t *testing.T, path string, endings ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, e := range endings {
		text, err := os.ReadFile(path + e)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+e, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A store that is copied without its journal while a search writes to it has all
// but the last variants, and Check says that these may be missing.
func TestCopyWithoutJournal(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	empty := copyOf(t, s.Path(), "")
	if r, err := open(t, empty, Options{ReadOnly: true}).Check(ctx); err != nil || r.Sessions != 0 ||
		len(r.Problems) != 0 {
		t.Errorf("a store that was only made: %+v, %v", r, err)
	}
	x := begin(t, s, storetest.Search())
	const all = 300
	for range all {
		v := storetest.Trial()
		if err := x.Append(ctx, &v); err != nil {
			t.Fatal(err)
		}
	}
	check := func(path string) store.Report {
		t.Helper()
		r, err := open(t, path, Options{ReadOnly: true}).Check(ctx)
		if err != nil || len(r.Problems) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	r := check(copyOf(t, s.Path(), ""))
	if r.Sessions != 1 || r.Trials < all-100 || r.Trials > all {
		t.Errorf("%d of %d variants came with the copy", r.Trials, all)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0],
		"session "+x.ID()+" has not ended, and there is no copy.db-wal: if the store was copied while that search "+
			"ran, its last variants are missing") {
		t.Errorf("%q", r.Notes)
	}
	// With the journal all is there, and in the store itself, too.
	if r := check(copyOf(t, s.Path(), "", "-wal")); r.Trials != all || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
	if r := check(s.Path()); r.Trials != all || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
	// What has ended lacks nothing.
	if err := x.Finish(ctx, "time is up"); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	s.Close()
	if r := check(copyOf(t, path, "")); r.Trials != all || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
}

// The beginning of a store, as earlier versions left it for long while the first
// search ran, is not taken for no store at all.
func TestBeginningOfStore(t *testing.T) {
	ctx := context.Background()
	s := &Store{path: filepath.Join(t.TempDir(), "store.db")}
	db, err := s.connect("rwc", "journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	path := copyOf(t, s.path, "")
	_, err = Open(ctx, path, Options{ReadOnly: true})
	expect(t, err, store.ErrDamaged, path,
		"PATH: it is the beginning of a store without anything in it: it was copied without the file beside it that "+
			"ends in -wal, where the rest is (copy both files while nobody writes, or use gridloom results export and "+
			"import)")
}
