package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// old are the versions of what names none.
var old = Versions{Arithmetic: 1, IR: 1}

// earlier are sessions of a store as the first migration made it.
type earlier struct {
	change func(*Search)
	trials []Trial
}

// oldStore makes a store by the first migration alone.
func oldStore(t *testing.T, list ...earlier) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.db")
	scripts, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{path: path, wait: time.Second, words: newVocabulary()}
	if s.write, err = s.connect("rwc", "journal_mode(wal)", "foreign_keys(on)"); err != nil {
		t.Fatal(err)
	}
	defer s.write.Close()
	if err := migrate(ctx, s.write, scripts[:1]); err != nil {
		t.Fatal(err)
	}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		w := s.writing(ctx, tx)
		for n, e := range list {
			i := Info{ID: fmt.Sprintf("01d%09d", n), Search: search1()}
			e.change(&i.Search)
			i.Finished, i.Outcome = i.Started.Add(time.Hour), "time is up"
			i.Runs = []Run{{0, i.Started, i.Commit}, {1, i.Started.Add(time.Minute), "later"}}
			d, k := i.Device, i.Compiler
			var err [3]error
			var program, device, compiler int64
			program, err[0] = w.program(&i.Program)
			device, err[1] = w.row("devices", []string{"api", "name", "uuid", "driver", "clocks", "units"}, d.API, d.Name, d.UUID, d.Driver, d.Clocks, d.Units)
			compiler, err[2] = w.row("compilers", []string{"name", "version", "options"}, k.Name, k.Version, k.Options)
			if err := errors.Join(err[:]...); err != nil {
				return err
			}
			scenario, failed := w.row("scenarios", []string{"program", "device", "compiler", "host", "sizes", "dtype", "fp"},
				program, device, compiler, i.Host, i.Sizes, i.DType, i.FP)
			if failed != nil {
				return failed
			}
			i.row, failed = w.insert("sessions",
				[]string{"uid", "scenario", "strategy", "seed", "budget", "space", "started", "finished", "outcome"},
				i.ID, scenario, i.Strategy, int64(i.Seed), i.Budget, i.Space, i.Started.UnixMilli(), i.Finished.UnixMilli(), i.Outcome)
			for _, r := range i.Runs {
				failed = errors.Join(failed, w.run(i.row, r))
			}
			for n := range e.trials {
				e.trials[n].Index = n
				_, err := w.trial(&i, &e.trials[n])
				failed = errors.Join(failed, err)
			}
			if failed != nil {
				return failed
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mode changes the mode of arithmetic.
func mode(fp string, n int) func(*Search) {
	return func(s *Search) { later(n)(s); s.FP = fp }
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

// columnsOf are those of the tables that the second migration makes anew.
var columnsOf = map[string]string{
	"scenarios": "id, program, device, compiler, host, sizes, dtype, fp",
	"sessions":  "id, uid, scenario, strategy, seed, budget, space, started, finished, outcome",
	"runs":      "session, trial, started, revision",
	"trials":    "id, kernel, config, verdict, median, note, hex(detail)",
}

// A store of the time before versions keeps every row, and all of them are of the
// first versions, whatever their mode of arithmetic.
func TestVersionsOfOldStore(t *testing.T) {
	ctx := context.Background()
	list := []earlier{
		{mode("strict", 0), []Trial{tried("a", OK, 1, 3), tried("b", Wrong, 0, 0)}},
		{mode("contract", 1), []Trial{trial1()}},
		{mode("fast", 2), []Trial{tried("a", OK, 3, 1)}},
		{mode("fast", 3), []Trial{tried("c", Crash, 0, 0)}},
	}
	path := oldStore(t, list...)
	before := map[string][]string{}
	for table, columns := range columnsOf {
		before[table] = rows(t, path, "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2, 3")
	}
	if n := []int{len(before["scenarios"]), len(before["sessions"]), len(before["runs"]), len(before["trials"])}; !slices.Equal(n, []int{3, 4, 8, 5}) {
		t.Fatalf("%d rows", n)
	}
	// To be read is enough.
	s := open(t, path, Options{ReadOnly: true})
	n := 0
	for i, err := range s.Sessions(ctx, Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		want := search1()
		list[n].change(&want)
		want.Versions = old
		if !reflect.DeepEqual(i.Search, want) || len(i.Runs) != 2 || i.Outcome != "time is up" {
			t.Errorf("%+v, want %+v", i, want)
		}
		if got := log(t, s, i.ID); !reflect.DeepEqual(got, list[n].trials) {
			t.Errorf("%+v, want %+v", got, list[n].trials)
		}
		n++
	}
	if n != len(list) {
		t.Errorf("%d sessions", n)
	}
	for table, columns := range columnsOf {
		if after := rows(t, path, "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2, 3"); !slices.Equal(after, before[table]) {
			t.Errorf("%s: %q, was %q", table, after, before[table])
		}
	}
	sound(t, s)
	// It is a store like a new one, and all constraints hold.
	const schema = "SELECT type, name, tbl_name FROM sqlite_schema ORDER BY 1, 2, 3"
	if got, want := rows(t, path, schema), rows(t, fresh(t).Path(), schema); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := rows(t, path, `SELECT "table", "from" FROM pragma_foreign_key_list('sessions')`); !slices.Equal(got, []string{"scenarios | scenario"}) {
		t.Errorf("sessions refer to %q", got)
	}
}

// While another process writes to an old store, it cannot be brought up to date.
func TestOldStoreThatIsBusy(t *testing.T) {
	path := oldStore(t)
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
	if _, err := Open(t.Context(), path, Options{ReadOnly: true, Wait: time.Millisecond}); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	open(t, path, Options{ReadOnly: true})
}

// configs are those of records.
func configs(list []Record) []string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s %s %g", r.Session.Sizes, r.Config, r.Median))
	}
	return out
}

// What was measured under the first versions is no measurement of now: not known,
// not best, not refused, not wrong, not a plan, under any mode. It is where searches begin,
// and what runs fall back on.
func TestVersionsAreNotMixed(t *testing.T) {
	ctx := context.Background()
	for _, fp := range []string{"strict", "contract", "fast"} {
		sized := func(sizes string, n int) func(*Search) {
			return func(s *Search) { mode(fp, n)(s); s.Sizes = sizes }
		}
		path := oldStore(t,
			earlier{sized("N=8", 0), []Trial{tried("fast", OK, 1, 9), tried("slow", OK, 2, 9), tried("refused", Crash, 0, 0), tried("wrong", Wrong, 0, 0), tried("since", OK, 0.5, 9)}},
			earlier{sized("N=64", 1), []Trial{tried("wide", OK, 7, 9), tried("wider", OK, 6, 9)}})
		s := open(t, path, Options{})
		c := search1().Scenario
		c.FP, c.Sizes = fp, "N=8"
		nothing := func(when string) {
			t.Helper()
			k, err := s.Known(ctx, c)
			if err != nil || k.Len() != 0 {
				t.Errorf("%s: %d variants are known, %v", when, k.Len(), err)
			}
			if best, found, err := s.Best(ctx, c, ""); found || err != nil {
				t.Errorf("%s: the best is %+v, %v", when, best, err)
			}
			if list, err := s.Plans(ctx, c); len(list) != 0 || err != nil {
				t.Errorf("%s: plans %q, %v", when, configs(list), err)
			}
		}
		nothing("old")
		older := func(want ...string) {
			t.Helper()
			if list, err := s.OlderPlans(ctx, c); err != nil || !slices.Equal(configs(list), want) {
				t.Errorf("older plans %q, want %q, %v", configs(list), want, err)
			}
		}
		older("N=64 wider 6", "N=64 wide 7", "N=8 since 0.5", "N=8 fast 1", "N=8 slow 2")
		begins := func(want ...string) {
			t.Helper()
			if list, err := s.BestOfSizes(ctx, c, ""); err != nil || !slices.Equal(configs(list), want) {
				t.Errorf("begins with %q, want %q, %v", configs(list), want, err)
			}
		}
		begins("N=64 wider 6", "N=8 since 0.5")

		// Now it is measured again, slower: that counts, alone.
		with(t, s, sized("N=8", 2), tried("fast", OK, 4, 1), tried("refused", OK, 5, 1), tried("wrong", OK, 6, 1), tried("since", Wrong, 0, 0))
		k, err := s.Known(ctx, c)
		if err != nil || k.Len() != 4 {
			t.Errorf("%d variants are known, %v", k.Len(), err)
		}
		if best, _, err := s.Best(ctx, c, ""); err != nil || best.Config != "fast" || best.Median != 4 || !best.Session.IsCurrent() {
			t.Errorf("the best is %+v, %v", best, err)
		}
		if list, err := s.Plans(ctx, c); err != nil || !slices.Equal(configs(list), []string{"N=8 fast 4", "N=8 refused 5", "N=8 wrong 6"}) {
			t.Errorf("plans %q, %v", configs(list), err)
		}
		begins("N=64 wider 6", "N=8 fast 4")
		older("N=64 wider 6", "N=64 wide 7", "N=8 fast 1", "N=8 slow 2") // the other is wrong now
		sound(t, s)
	}
}

// Of a similar program the latest versions count, though an older session is later.
func TestSimilarOfVersions(t *testing.T) {
	ctx := context.Background()
	twin := func(n int) func(*Search) {
		return func(s *Search) {
			later(n)(s)
			s.Program.Hash, s.Program.Name, s.Sizes = "twin", "twin.loom", fmt.Sprintf("N=%d", n)
		}
	}
	then := tried("old", OK, 1, 1)
	then.At = noon.Add(time.Hour)
	s := open(t, oldStore(t, earlier{twin(60), []Trial{then}}), Options{})
	similar := func(want string) {
		t.Helper()
		list, err := s.Similar(ctx, search1().Scenario, 4)
		if err != nil || len(list) != 1 || list[0].Config != want {
			t.Errorf("%+v, want %s, %v", list, want, err)
		}
	}
	similar("old")
	with(t, s, twin(1), tried("new", OK, 2, 1))
	similar("new")
}

// A session of other versions does not go on.
func TestResumeOfVersions(t *testing.T) {
	ctx := context.Background()
	path := oldStore(t, earlier{mode("contract", 0), []Trial{tried("a", OK, 1, 1)}})
	s := open(t, path, Options{})
	_, err := s.Resume(ctx, "01d", "commit")
	expect(t, err, ErrVersions, path, fmt.Sprintf("PATH: session 01d000000000 was measured under arithmetic 1 and program IR 1, and this Gridloom has arithmetic %d and program IR %d (begin another session)",
		arith.Version, ir.Version))
	if i, err := s.Session(ctx, "01d"); err != nil || i.Finished.IsZero() || len(i.Runs) != 2 {
		t.Errorf("the session has become %+v, %v", i, err)
	}
}

// Versions go with what is exported, and come back.
func TestVersionsAreExported(t *testing.T) {
	ctx := context.Background()
	s := open(t, oldStore(t, earlier{mode("contract", 0), []Trial{tried("a", OK, 1, 1)}}), Options{})
	with(t, s, mode("contract", 1), tried("a", OK, 2, 1))
	text := lines(t, s)
	to := fresh(t)
	if _, err := to.Import(ctx, bytes.NewReader(text), Source{}); err != nil {
		t.Fatal(err)
	}
	if again := lines(t, to); !bytes.Equal(again, text) {
		t.Errorf("came back as\n%s\nnot\n%s", again, text)
	}
	var table bytes.Buffer
	if err := to.ExportCSV(ctx, &table, Filter{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{",fp,arithmetic,ir,", ",contract,1,1,", fmt.Sprintf(",contract,%d,%d,", arith.Version, ir.Version)} {
		if line := strings.Split(table.String(), "\n")[i]; !strings.Contains(line, want) {
			t.Errorf("line %d is %s, without %s", i+1, line, want)
		}
	}
	// A file of T4 has one scenario, and so one version.
	var b bytes.Buffer
	err := to.ExportT4(ctx, &b, Filter{})
	if want := fmt.Sprintf(`these are of several: versions "arithmetic 1 and program IR 1" and "arithmetic %d and program IR %d" (choose with`, arith.Version, ir.Version); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	for _, want := range []Versions{old, Current()} {
		b.Reset()
		if err := to.ExportT4(ctx, &b, Filter{Arithmetic: want.Arithmetic}); err != nil {
			t.Fatal(err)
		}
		one := fresh(t)
		if _, err := one.Import(ctx, &b, Source{}); err != nil {
			t.Fatal(err)
		}
		for r, err := range one.Records(ctx, Filter{}) {
			if err != nil || r.Session.Versions != want {
				t.Errorf("%+v, want %+v, %v", r.Session, want, err)
			}
		}
		if report := sound(t, one); report.Trials != 1 {
			t.Errorf("%+v", report)
		}
	}
}

// Files of the time before versions are of the first ones, and those of others,
// who have no versions, too.
func TestImportOfOldFiles(t *testing.T) {
	ctx := context.Background()
	texts := map[string]string{"a result of others": foreignT4, "Kernel Tuner": kernelTuner}
	for _, name := range []string{"versions1.jsonl", "versions1.t4.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		s := fresh(t)
		if _, err := s.Import(ctx, strings.NewReader(text), Source{"p", "d"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		for i, err := range s.Sessions(ctx, Filter{}) {
			if err != nil || i.Versions != old {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
			n++
		}
		if n == 0 {
			t.Errorf("%s: no sessions", name)
		}
	}
}

// What a later Gridloom has measured is refused, whole.
func TestImportOfNewFiles(t *testing.T) {
	ctx := context.Background()
	s := sample(t)
	text := string(lines(t, s))
	var b bytes.Buffer
	if err := s.ExportT4(ctx, &b, Filter{Sizes: "L=64,M=64,N=64"}); err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf(`"arithmetic":%d,"ir":%d`, arith.Version, ir.Version)
	const hint = " (use the Gridloom that wrote the file, or a later one)"
	for _, c := range []struct{ text, versions, want string }{
		{text, `"arithmetic":99,"ir":1`, fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under arithmetic 99, and this Gridloom knows %d", arith.Version) + hint},
		{text, `"arithmetic":1,"ir":99`, fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under program IR 99, and this Gridloom knows %d", ir.Version) + hint},
		{text, `"arithmetic":-1,"ir":1`, fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under arithmetic -1, and this Gridloom knows %d", arith.Version) + hint},
		{b.String(), `"arithmetic":99,"ir":1`, fmt.Sprintf("result 1: session cccccccccccc was measured under arithmetic 99, and this Gridloom knows %d", arith.Version) + hint},
	} {
		changed := strings.ReplaceAll(c.text, now, c.versions)
		if changed == c.text {
			t.Fatalf("the file has no versions: %.300s", c.text)
		}
		to := fresh(t)
		if _, err := to.Import(ctx, strings.NewReader(changed), Source{}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		if report := sound(t, to); report.Sessions+report.Trials > 0 {
			t.Errorf("%+v", report)
		}
	}
	// A session keeps the versions that it began under.
	_, err := s.Import(ctx, strings.NewReader(strings.ReplaceAll(text, now, `"arithmetic":1,"ir":1`)), Source{})
	if want := "line 2: session aaaaaaaaaaaa is of arithmetic 1 and program IR 1 here, and of " + Current().Definitions() + " in the store"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
