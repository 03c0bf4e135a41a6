package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// former makes a store as an earlier version has left it: testdata/store1.sql and so on
// are dumps of what it wrote while it tuned.
func former(t *testing.T, version int) string {
	t.Helper()
	script, err := os.ReadFile(fmt.Sprintf("testdata/store%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	s := &Store{path: path, wait: time.Second}
	db, err := s.connect("rwc", "journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(string(script))
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// formers are the versions of stores before this one.
func formers(t *testing.T) (list []int) {
	t.Helper()
	for v := 1; v < latestVersion(t); v++ {
		list = append(list, v)
	}
	return list
}

func latestVersion(t *testing.T) int {
	t.Helper()
	scripts, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	return len(scripts)
}

// rows returns what a query of some columns gives, as text.
func rows(t *testing.T, path, query string) []string {
	t.Helper()
	s := &Store{path: path, wait: time.Second}
	db, err := s.connect("ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for found.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := found.Scan(values...); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, fmt.Sprintf("%v", *v.(*any)))
		}
		list = append(list, strings.Join(texts, " | "))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// A store of every former version keeps every row of every table in all of its columns;
// but for the threads of processors, which were part of their names.
func TestFormerStores(t *testing.T) {
	for _, version := range formers(t) {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := former(t, version)
			if got := rows(t, path, "PRAGMA user_version"); got[0] != fmt.Sprint(version) {
				t.Fatalf("it is of version %s", got[0])
			}
			before := map[string][]string{}
			queries := map[string]string{}
			for _, table := range rows(t, path,
				"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
				var columns []string
				for _, c := range rows(t, path, "SELECT name FROM pragma_table_info('"+table+"')") {
					if table != "devices" || c != "name" && c != "units" {
						columns = append(columns, `quote("`+c+`")`)
					}
				}
				queries[table] = "SELECT " + strings.Join(columns, ", ") + " FROM " + table + " ORDER BY " +
					strings.Join(columns, ", ")
				before[table] = rows(t, path, queries[table])
			}
			names := rows(t, path, "SELECT api, name FROM devices ORDER BY id")
			if n := len(before); n < 9 || len(before["sessions"]) < 4 || len(before["trials"]) < 30 ||
				len(before["runs"]) < 5 {
				t.Fatalf("%d tables, %d sessions, %d trials, %d runs", n, len(before["sessions"]),
					len(before["trials"]), len(before["runs"]))
			}
			// To be read is enough.
			s := open(t, path, Options{ReadOnly: true})
			for _, table := range slices.Sorted(maps.Keys(before)) {
				if after := rows(t, path, queries[table]); !slices.Equal(after, before[table]) {
					t.Errorf("%s: %q, was %q", table, after, before[table])
				}
			}
			// It is a store like a new one, and all constraints hold.
			const schema = "SELECT type, name, tbl_name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER " +
				"BY 1, 2, 3"
			if got, want := rows(t, path, schema), rows(t, fresh(t).Path(), schema); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			for _, table := range []string{"sessions", "scenarios", "runs", "events"} {
				for _, to := range rows(t, path, `SELECT "table" FROM pragma_foreign_key_list('`+table+`')`) {
					if strings.HasPrefix(to, "old_") {
						t.Errorf("%s refer to %s", table, to)
					}
				}
			}
			report := sound(t, s)
			if report.Sessions != len(before["sessions"]) || report.Trials != len(before["trials"]) {
				t.Errorf("%+v", report)
			}
			// Every session and trial is found, and what was text is typed.
			trials, typed := 0, map[string]bool{}
			for i, err := range s.Sessions(t.Context(), store.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				trials += len(log(t, s, i.ID))
				if i.Budget.Former != "" || i.Space.Former != "" || i.Device.Units == 0 ||
					!slices.Contains(names, "cpu | "+i.Device.String()) ||
					len(i.Program.Hash) != 64 || (i.Arithmetic == 1) != (version == 1) {
					t.Errorf("%+v", i)
				}
				_, sized := i.Sizes.Params([]string{"L", "M", "N"})
				for what, is := range map[string]bool{
					"time": i.Budget.Time > 0, "1500 trials": i.Budget.Trials == 1500,
					"target": i.Budget.Target.Fraction == 0.95, "free": i.Space.Free,
					"any integers": i.Space.AnyIntegers, "restricted": len(i.Space.Restrictions) > 0,
					"begins": len(i.Space.Begin) > 0, "sizes": sized,
				} {
					typed[what] = typed[what] || is
				}
			}
			if trials != len(before["trials"]) {
				t.Errorf("%d trials are found, %d were there", trials, len(before["trials"]))
			}
			for what, is := range typed {
				if !is {
					t.Errorf("no session has %s", what)
				}
			}
			if _, err := s.Begin(t.Context(), session.Search{}); !errors.Is(err, store.ErrReadOnly) {
				t.Error(err)
			}
			s.Close()
			begin(t, open(t, path, Options{}), session.Search{}) // and it can be written
		})
	}
}

// What a store holds in a former spelling of a parameter, as the Gridloom that had it wrote
// it, is found in that of today.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		s := fresh(t)
		search := storetest.Search()
		now := "family=stream,vec=2," + x.Now
		search.Space = session.Space{Restrictions: []session.Restriction{{Kind: session.Limit, Text: x.Now}},
			Begin: []string{now}}
		r, err := s.Begin(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		kernel := storetest.Tried(now, verdict.OK, 2, 3)
		kernel.Kernel = "heat[0:1]"
		add(t, r, kernel, storetest.Tried("heat[0:1]@1{"+now+"};norm[0:1]@1{family=tile}", verdict.OK, 3, 3))
		if err := r.Report(t.Context(), &session.Event{Kind: session.Condemned, Config: now}); err != nil {
			t.Fatal(err)
		}
		path := s.Path()
		s.Close()
		for _, column := range []struct{ table, name string }{
			{"words", "text"}, {"sessions", "space"}, {"events", "detail"},
		} {
			count := fmt.Sprintf("SELECT count(*) FROM %s WHERE instr(%s, '%s')", column.table, column.name, x.Former)
			statement(fmt.Sprintf("UPDATE %s SET %s = replace(%[2]s, '%s', '%s')", column.table, column.name, x.Now,
				x.Former))(t, path)
			if n := rows(t, path, count); n[0] == "0" {
				t.Fatalf("%s has no %s", column.table, x.Former)
			}
		}
		s = open(t, path, Options{})
		if storetest.FindsSpelling(t, s, x); t.Failed() {
			t.Fatalf("stored as %s", x.Former)
		}
		// What is stored of it now is the same variant.
		search.Started = search.Started.Add(time.Minute)
		again, err := s.Begin(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		kernel.Median = 1
		kernel.Samples = []float64{1, 1, 1, 1}
		add(t, again, kernel)
		k, err := store.Known(t.Context(), s, search.Scenario)
		if err != nil || k.Len() != 2 {
			t.Errorf("%d variants are known, %v", k.Len(), err)
		}
	}
}

// So it is in stores of every former version.
func TestFormerSpellingsInFormerStores(t *testing.T) {
	for _, version := range formers(t) {
		for _, x := range scheduletest.Spellings() {
			path := former(t, version)
			statement("UPDATE words SET text = replace(text, 'threads=', '"+x.Former+",threads=')")(t, path)
			s := open(t, path, Options{ReadOnly: true})
			found := 0
			for r, err := range s.Records(t.Context(), store.Filter{}) {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(r.Config, x.Former) {
					t.Fatalf("%s", r.Config)
				}
				if strings.Contains(r.Config, x.Now+",threads=") {
					found++
				}
			}
			if found < 30 {
				t.Errorf("version %d: %d trials are found as %s", version, found, x.Now)
			}
			s.Close()
		}
	}
}

// A session of a former version whose definitions are those of now goes on.
func TestFormerSessionGoesOn(t *testing.T) {
	s := open(t, former(t, 2), Options{})
	for i, err := range s.Sessions(t.Context(), store.Filter{Versions: store.CurrentVersions}) {
		if err != nil {
			t.Fatal(err)
		}
		n := len(log(t, s, i.ID))
		x, err := s.Resume(t.Context(), i.ID, "now")
		if err != nil || x.Len() != n {
			t.Fatalf("%d of %d trials, %v", x.Len(), n, err)
		}
		add(t, x, session.Trial{Config: "family=loops", Median: 1})
		k, err := store.Known(t.Context(), s, i.Scenario)
		if err != nil || k.Len() < n/2 {
			t.Errorf("%d variants are known of %d, %v", k.Len(), n, err)
		}
	}
	sound(t, s)
}

// A later version of the store is refused by this one, as this one is by former ones:
// nothing of it is touched.
func TestDowngrade(t *testing.T) {
	path := former(t, 1)
	statement(fmt.Sprintf("PRAGMA user_version = %d", latestVersion(t)+1))(t, path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		_, err := Open(t.Context(), path, o)
		expect(t, err, store.ErrNewer, path,
			fmt.Sprintf("PATH: it was written by a newer Gridloom (version %d of the store; this one knows %d), and "+
				"has not been touched (use that Gridloom, or name another file with --store or GRIDLOOM_STORE)",
				latestVersion(t)+1, latestVersion(t)))
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the file was touched")
	}
}

// While another process writes to an old store, it cannot be brought up to date.
func TestOldStoreThatIsBusy(t *testing.T) {
	path := former(t, 1)
	s := &Store{path: path, wait: time.Second}
	db, err := s.connect("rw&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{ReadOnly: true, Wait: time.Millisecond}); !errors.Is(err,
		store.ErrBusy) {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	open(t, path, Options{ReadOnly: true})
}

// A migration that fails in the middle leaves the store as it was.
func TestMigrationThatFails(t *testing.T) {
	path := former(t, 1)
	scripts, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	const dump = "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2"
	before := rows(t, path, dump)
	s := &Store{path: path, wait: time.Second}
	db, err := s.connect("rw&_txlock=immediate", "foreign_keys(on)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	broken := append(slices.Clone(scripts[:2]), scripts[2]+"; INSERT INTO absent VALUES (1)")
	if err := migrate(t.Context(), db, broken); err == nil {
		t.Fatal("it did not fail")
	}
	if after := rows(t, path, dump); !slices.Equal(after, before) || rows(t, path, "PRAGMA user_version")[0] != "1" {
		t.Errorf("%q, was %q", after, before)
	}
}

// What sessions share is stored once.
func TestShared(t *testing.T) {
	s := fresh(t)
	for range 3 {
		begin(t, s, storetestSearch())
	}
	got := rows(t, s.Path(),
		"SELECT (SELECT count(*) FROM programs), (SELECT count(*) FROM devices), (SELECT count(*) FROM scenarios), "+
			"(SELECT count(*) FROM sessions)")
	if got[0] != "1 | 1 | 1 | 3" {
		t.Errorf("%q", got)
	}
}

func storetestSearch() session.Search {
	s := session.Search{}
	s.Program = session.Program{Hash: "1", IR: "(program)"}
	return s
}
