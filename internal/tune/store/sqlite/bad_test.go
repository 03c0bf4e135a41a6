package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/storetest"
)

// expect checks an error's kind and its words, in which PATH stands for the file.
func expect(t *testing.T, err error, kind error, path, want string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%v is not %v", err, kind)
	}
	if err != nil && err.Error() != strings.ReplaceAll(want, "PATH", path) {
		t.Errorf("got  %v\nwant %s", err, strings.ReplaceAll(want, "PATH", path))
	}
}

// full makes a store with trials and closes it, so that all is in one file.
func full(t *testing.T, trials int) (path, session string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, Options{})
	x := begin(t, s, storetest.Search())
	for range trials {
		trial := storetest.Trial()
		add(t, x, trial)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, x.ID()
}

// Files that are no whole stores are refused and left as they are.
func TestRefused(t *testing.T) {
	const nameAnother = "name another file with --store or GRIDLOOM_STORE"
	latest := 0
	if scripts, err := migrations(embedded); err == nil {
		latest = len(scripts)
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		kind  error
		want  string
	}{
		{"text", write("#!/bin/sh\n"), store.ErrNotStore,
			"PATH: the file is no store, or its beginning is damaged; it has not been touched (move it away to begin " +
				"a new one, or " + nameAnother + ")"},
		{"garbage", edit(func(b []byte) []byte { copy(b, bytes.Repeat([]byte{0xA5}, 64)); return b }),
			store.ErrNotStore,
			"PATH: the file is no store, or its beginning is damaged; it has not been touched (move it away to begin " +
				"a new one, or " + nameAnother + ")"},
		{"truncated", edit(func(b []byte) []byte { return b[:len(b)-5000] }), store.ErrDamaged,
			"PATH: the file ends too early, after SIZE of WHOLE bytes; it has not been touched (fetch a copy, or " +
				"move it away to begin a new one)"},
		{"application", statement("PRAGMA application_id = 77"), store.ErrNotStore,
			"PATH: it is a database of another program, and has not been touched (" + nameAnother + ")"},
		{"newer", statement("PRAGMA user_version = 99"), store.ErrNewer,
			fmt.Sprintf("PATH: it was written by a newer Gridloom (version 99 of the store; this one knows %d), and "+
				"has not been touched (use that Gridloom, or %s)", latest, nameAnother)},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := full(t, 30)
			whole, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("SIZE", fmt.Sprint(len(before)), "WHOLE",
				fmt.Sprint(whole.Size())).Replace(c.want)
			for _, o := range []Options{{}, {ReadOnly: true}} {
				_, err = Open(context.Background(), path, o)
				expect(t, err, c.kind, path, want)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Error("the file was touched")
			}
			if list, _ := filepath.Glob(path + "*"); len(list) != 1 {
				t.Errorf("left behind: %q", list)
			}
		})
	}
}

func write(text string) func(*testing.T, string) {
	return edit(func([]byte) []byte { return []byte(text) })
}

func edit(f func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, f(b), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// statement runs one on the file, past the store.
func statement(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		s := &Store{path: path, wait: time.Second}
		db, err := s.connect("rw")
		if err == nil {
			_, err = db.Exec(text)
			err = errors.Join(err, db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A database of another program that has not marked its files is told by its tables.
func TestUnmarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	s := &Store{path: path, wait: time.Second}
	db, err := s.connect("rwc")
	if err == nil {
		_, err = db.Exec("CREATE TABLE birds (name TEXT)")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), path, Options{})
	expect(t, err, store.ErrNotStore, path,
		"PATH: it is a database of another program, and has not been touched (name another file with --store or "+
			"GRIDLOOM_STORE)")
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	_, err := Open(context.Background(), path, Options{ReadOnly: true})
	expect(t, err, store.ErrNone, path,
		"PATH: there is no store (gridloom tune makes one; --store and GRIDLOOM_STORE name another)")
	if _, err := os.Stat(path); err == nil {
		t.Error("looking for the store has made one")
	}
	path = filepath.Join(dir, "absent", "store.db")
	_, err = Open(context.Background(), path, Options{})
	expect(t, err, os.ErrNotExist, path,
		"PATH: there is no folder "+filepath.Dir(path)+" (make it, or name another file with --store or "+
			"GRIDLOOM_STORE)")
	_, err = Open(context.Background(), dir, Options{})
	expect(t, err, store.ErrNotStore, dir, "PATH: it is a folder (name a file with --store or GRIDLOOM_STORE)")
	_, err = Open(context.Background(), os.DevNull, Options{})
	expect(t, err, store.ErrNotStore, os.DevNull,
		"PATH: it is no regular file (name a file with --store or GRIDLOOM_STORE)")

	// The usual folder is made.
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	usual, err := DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	open(t, usual, Options{})
	if info, err := os.Stat(filepath.Join(dir, "data", "gridloom")); err != nil || !info.IsDir() {
		t.Error(err)
	}

	// Names that a URL would take apart are names.
	odd := filepath.Join(dir, "a?b#c%20 d.db")
	open(t, odd, Options{})
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
}

// A file that was only just made holds nothing, and one of an older version
// cannot be read before it is brought up to date.
func TestUnready(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(ctx, path, Options{ReadOnly: true})
	expect(t, err, store.ErrNone, path,
		"PATH: there is no store (gridloom tune makes one; --store and GRIDLOOM_STORE name another)")
	open(t, path, Options{}).Close()

	s := &Store{path: path, wait: time.Second}
	err = s.openToRead(ctx, latestVersion(t)+1)
	s.read.Close()
	expect(t, word(ctx, path, 0, err), store.ErrOlder, path,
		fmt.Sprintf("PATH: it is of version %d of the store, this Gridloom reads version %d (it is brought up to "+
			"date where it can be written: give write permission, or copy it)", latestVersion(t), latestVersion(t)+1))
}

func TestDefaultPath(t *testing.T) {
	home := func() (string, error) { return "/home/u", nil }
	for _, c := range []struct {
		system, name, value, want string
	}{
		{"linux", "", "", "/home/u/.local/share"},
		{"linux", "XDG_DATA_HOME", "/data", "/data"},
		{"linux", "XDG_DATA_HOME", "data", "/home/u/.local/share"},
		{"darwin", "", "", "/home/u/Library/Application Support"},
		{"windows", "LocalAppData", "/c/local", "/c/local"},
		{"windows", "", "", "/home/u/AppData/Local"},
	} {
		got, err := dataFolder(c.system, func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		}, home)
		if err != nil || got != c.want {
			t.Errorf("%s, %s=%s: %s, %v", c.system, c.name, c.value, got, err)
		}
	}
	if _, err := dataFolder("linux", func(string) string { return "" },
		func() (string, error) { return "", errors.New("no home") }); err == nil {
		t.Error("there is a folder without a home")
	}
}

// Damage in the middle is found by whoever reads there, and by Check.
func TestDamagedPages(t *testing.T) {
	path, id := full(t, 2000)
	edit(func(b []byte) []byte {
		for at := len(b) / 2 &^ 4095; at < len(b); at += 4096 { // where the trials are
			if b[at] == 0x0d { // leaves of tables
				copy(b[at+8:], bytes.Repeat([]byte{0xFF}, 2000))
			}
		}
		return b
	})(t, path)
	s, err := Open(context.Background(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var failed error
	for _, err := range store.Log(context.Background(), s, id) {
		failed = err
	}
	if !errors.Is(failed, store.ErrDamaged) || !strings.HasPrefix(failed.Error(), path+": the store is damaged: ") {
		t.Error(failed)
	}
	report, err := s.Check(context.Background())
	if err != nil || len(report.Problems) == 0 {
		t.Errorf("Check finds %q, %v", report.Problems, err)
	}
}

// A session of which a part cannot be read keeps its trials. Check finds it, and it does not go on: without its limits
// it would be another search.
func TestDamagedSession(t *testing.T) {
	for _, column := range []string{"sessions SET budget", "sessions SET space", "scenarios SET host",
		"devices SET clocks",
		"devices SET properties", "scenarios SET decomposition"} {
		path, id := full(t, 3)
		statement("UPDATE "+column+" = '{broken'")(t, path)
		s := open(t, path, Options{})
		if list := log(t, s, id); len(list) != 3 {
			t.Errorf("%s: %d trials", column, len(list))
		}
		report, err := s.Check(t.Context())
		if err != nil || len(report.Problems) != 1 || !strings.HasPrefix(report.Problems[0], "session "+id+": ") ||
			report.Trials != 3 {
			t.Errorf("%s: %+v, %v", column, report, err)
		}
		if _, err := s.Resume(t.Context(), id, ""); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", column, err)
		}
		if i, err := store.Session(t.Context(), s, id); err != nil || len(i.Runs) != 1 {
			t.Errorf("%s: %+v, %v", column, i, err)
		}
	}
}

// A store that is full refuses the next trial, keeps those before, and goes on
// once there is room.
func TestFull(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, Options{maxPages: 40})
	x := begin(t, s, storetest.Search())
	var stored []session.Trial
	var failed error
	for i := range 5000 {
		trial := storetest.Trial()
		trial.Config = fmt.Sprintf("family=loops,block=%d,threads=2", i)
		trial.Note = strings.Repeat("x", 100)
		if failed = x.Append(ctx, &trial); failed != nil {
			break
		}
		stored = append(stored, trial)
	}
	if !errors.Is(failed, store.ErrFull) || !strings.HasPrefix(failed.Error(),
		path+": the disk is full, or a quota is used up; what was stored before is safe (make room, then go on)") {
		t.Fatal(failed)
	}
	if got := log(t, s, x.ID()); len(got) != len(stored) || len(got) != x.Len() || len(got) < 100 {
		t.Fatalf("%d of %d trials are left", len(got), len(stored))
	}
	if _, err := s.write.Exec("PRAGMA max_page_count = 1000"); err != nil {
		t.Fatal(err)
	}
	next := storetest.Trial()
	add(t, x, next)
	if got := log(t, s, x.ID()); len(got) != len(stored)+1 || got[len(stored)].Index != len(stored) {
		t.Errorf("%d trials after there was room", len(got))
	}
	sound(t, s)
}

func sound(t *testing.T, s *Store) store.Report {
	t.Helper()
	report, err := s.Check(context.Background())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%q, %v", report.Problems, err)
	}
	return report
}

// A writer waits for another process, and says who it was if that takes too long.
func TestLocked(t *testing.T) {
	ctx := context.Background()
	path, id := full(t, 1)
	other := child(t, "hold", path)
	s := open(t, path, Options{Wait: 50 * time.Millisecond})
	_, err := s.Resume(ctx, id, "")
	text := fmt.Sprintf("PATH: process %d (%s) is writing to it (waited 50ms) (wait until it is done, end it, or "+
		"name another file with --store or GRIDLOOM_STORE)",
		other.Process.Pid, comm(t, other.Process.Pid))
	expect(t, err, store.ErrBusy, path, text)

	// Whoever reads need not wait.
	if got := log(t, s, id); len(got) != 1 {
		t.Errorf("%d trials can be read", len(got))
	}
	// The wait ends when the user ends it, or when the other process does.
	s.Close()
	s = open(t, path, Options{Wait: time.Hour})
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := s.Begin(short, storetest.Search()); err != context.DeadlineExceeded {
		t.Error(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { other.Process.Kill() })
	if _, err := s.Resume(ctx, id, ""); err != nil {
		t.Error(err)
	}
}

// Who opens a store twice keeps the locks of the first.
func TestOpenedTwice(t *testing.T) {
	path, id := full(t, 1)
	s := open(t, path, Options{})
	if _, err := s.Resume(context.Background(), id, ""); err != nil {
		t.Fatal(err)
	}
	before := locks(t, s.file)
	if len(before) == 0 {
		t.Fatal("nothing is locked")
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		open(t, path, o).Close()
	}
	if after := locks(t, s.file); !slices.Equal(after, before) {
		t.Errorf("locked was %q, now %q", before, after)
	}
	if n := len(claimed.files); n != 1 {
		t.Errorf("%d claims", n)
	}
	s.Close()
	s.Close()
	if n := len(claimed.files); n != 0 {
		t.Errorf("%d claims", n)
	}
}

// locks returns the locks of this process on a file.
func locks(t *testing.T, file os.FileInfo) (list []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ": ")
		if strings.Contains(line, fmt.Sprintf(" %d ", os.Getpid())) &&
			strings.Contains(line, fmt.Sprintf(":%d ", file.Sys().(*syscall.Stat_t).Ino)) {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

func comm(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(name))
}

func TestLockedBy(t *testing.T) {
	for _, c := range []struct {
		line string
		want int
	}{
		{"1: POSIX  ADVISORY  WRITE 1234 00:2d:5678 120 120", 1234},
		{"1: POSIX  ADVISORY  WRITE 1234 00:2d:5678 0 EOF", 1234},
		{"1: POSIX  ADVISORY  READ  1234 00:2d:5678 120 120", 0},
		{"1: POSIX  ADVISORY  WRITE 1234 00:2d:5678 123 127", 0},
		{"1: POSIX  ADVISORY  WRITE 1234 00:2d:5679 120 120", 0},
		{"1: -> POSIX  ADVISORY  WRITE 1234 00:2d:5678 120 120", 0},
		{"1: POSIX  ADVISORY  WRITE x 00:2d:5678 120 120", 0},
		{"", 0},
	} {
		if got := lockedBy(c.line, 5678); got != c.want {
			t.Errorf("%q: %d", c.line, got)
		}
	}
}

// Where nothing can be written, a store can be read and says what it lacks.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		dir := filepath.Dir(readOnlyStore(t))
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o755) })
		tryReadOnly(t, filepath.Join(dir, "store.db"))
		return
	}
	// For root all can be written, so the test goes on as nobody.
	path := readOnlyStore(t)
	for dir := filepath.Dir(path); len(dir) >= len(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if dir != filepath.Clean(os.TempDir()) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	program := filepath.Join(filepath.Dir(path), "program")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(program, "-test.run=^TestReadOnlyAsNobody$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_READ_ONLY="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestReadOnlyAsNobody")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReadOnlyAsNobody(t *testing.T) {
	path := os.Getenv("STORE_TEST_READ_ONLY")
	if path == "" {
		t.Skip("it is a part of TestReadOnly")
	}
	tryReadOnly(t, path)
}

// readOnlyStore makes a store, and one of the first version beside it.
func readOnlyStore(t *testing.T) string {
	t.Helper()
	path, _ := full(t, 3)
	old := filepath.Join(filepath.Dir(path), "old.db")
	err := errors.Join(os.Rename(former(t, 1), old), os.Chmod(old, 0o444), os.Chmod(path, 0o444))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func tryReadOnly(t *testing.T, path string) {
	ctx := context.Background()
	_, err := Open(ctx, path, Options{})
	expect(t, err, store.ErrReadOnly, path,
		"PATH: the file or its folder cannot be written (give write permission, or name another file with --store or "+
			"GRIDLOOM_STORE)")
	s, err := Open(ctx, path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for _, err := range s.Records(ctx, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d trials", n)
	}
	_, err = s.Begin(ctx, storetest.Search())
	expect(t, err, store.ErrReadOnly, path, "PATH: the store was opened to be read only")
	_, err = Open(ctx, filepath.Join(filepath.Dir(path), "new.db"), Options{})
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a store in a folder that cannot be written: %v", err)
	}
	old := filepath.Join(filepath.Dir(path), "old.db")
	_, err = Open(ctx, old, Options{ReadOnly: true})
	expect(t, err, store.ErrOlder, old,
		fmt.Sprintf("PATH: it is of version 1 of the store, this Gridloom reads version %d (it is brought up to date "+
			"where it can be written: give write permission, or copy it)", latestVersion(t)))
}

// Migrations run once, in order, whole or not at all.
func TestMigrate(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	scripts, err := migrations(embedded)
	if err != nil {
		t.Fatal(err)
	}
	old := len(scripts)
	next := append(scripts, "CREATE TABLE extra (id INTEGER PRIMARY KEY)",
		"INSERT INTO extra VALUES (1); INSERT INTO absent VALUES (1)")
	err = migrate(ctx, s.write, next)
	if want := fmt.Sprintf("migration %d: ", old+2); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if v, err := version(ctx, s.read, 99); v != old || err != nil {
		t.Errorf("version %d after a script failed: %v", v, err)
	}
	for range 2 {
		if err := migrate(ctx, s.write, next[:old+1]); err != nil {
			t.Error(err)
		}
	}
	if v, err := version(ctx, s.read, 99); v != old+1 || err != nil {
		t.Errorf("version %d: %v", v, err)
	}
	if err := migrate(ctx, s.write, scripts); !errors.Is(err, store.ErrNewer) {
		t.Error(err)
	}
	for name, want := range map[string]string{"0002_x.sql": "migrations/0002_x.sql: the number should be 0001",
		"x.sql": "migrations/x.sql: the number should be 0001"} {
		if _, err := migrations(fstest.MapFS{"migrations/" + name: {}}); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
}
