package disk

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("GRIDLOOM_TEST_DIR"); dir != "" {
		use(dir)
	}
	os.Exit(m.Run())
}

// use begins a folder and a draft, says so, and never ends.
func use(dir string) {
	f, err := NewFolder(dir, "tmp-")
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Path, "kernels.c"), nil, 0o600)
	}
	if err == nil {
		_, err = Create(filepath.Join(dir, "state.ckpt"), 0o600)
	}
	fmt.Println(err)
	for {
		time.Sleep(time.Hour)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// afresh makes this process look at folders as if it had just begun.
func afresh() {
	left.Clear()
	swept.Clear()
}

// What a process uses stays, however often others clean up, and goes once the
// process was killed.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "GRIDLOOM_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "<nil>" {
		t.Fatal(lines.Text())
	}
	before := names(t, dir)
	if len(before) != 2 {
		t.Fatalf("%q", before)
	}
	// Files that only look alike are nobody's leftovers.
	for _, name := range []string{"state.ckpt", ".state.ckpt.tmp", ".state.ckpt.bak.1-0.txt", ".other.ckpt.1-0.tmp",
		"tmpfile"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	others := names(t, dir)
	others = slices.DeleteFunc(others, func(n string) bool { return slices.Contains(before, n) })
	clean := func() []string {
		afresh()
		Sweep(dir, "tmp-")
		if err := Replace(filepath.Join(dir, "state.ckpt"), []byte("new"), 0o600, true); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(names(t, dir), func(n string) bool { return slices.Contains(others, n) })
	}
	if got := clean(); !slices.Equal(got, before) {
		t.Errorf("while a process uses %q there is %q", before, got)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := clean(); len(got) != 0 {
		t.Errorf("after it was killed there is %q", got)
	}
	if got := names(t, dir); !slices.Equal(got, others) {
		t.Errorf("%q are there, want %q", got, others)
	}
	SweepDrafts(dir)
	if got := names(t, dir); slices.Contains(got, ".other.ckpt.1-0.tmp") || len(got) != len(others)-1 {
		t.Errorf("%q", got)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"one", "two, longer", ""} {
		if err := Replace(path, []byte(text), 0o640, text == "one"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q: %v", got, err)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	d, err := Create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	d.WriteString("half")
	d.Discard()
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if err := Replace("/no/such/folder/file", nil, 0o600, true); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// What is to last is on the disk before it takes its name, and then the name is.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var list []string
	toDisk = func(f *os.File) error {
		text, _ := os.ReadFile(path)
		what := "draft"
		if f.Name() == dir {
			what = "folder"
		}
		list = append(list, fmt.Sprintf("%s while the file is %q", what, text))
		return nil
	}
	defer func() { toDisk = (*os.File).Sync }()
	for _, lasting := range []bool{false, true} {
		if err := Replace(path, fmt.Append(nil, lasting), 0o600, lasting); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{`draft while the file is "false"`, `folder while the file is "true"`}; !slices.Equal(list,
		want) {
		t.Errorf("%q, want %q", list, want)
	}
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o775: false, 0o702: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil || Private(info) != want {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

// A process that ends at once leaves no draft, and nothing half-written.
func TestAbandon(t *testing.T) {
	defer func() { drafts.abandoned = false }()
	dir := t.TempDir()
	whole, fresh := filepath.Join(dir, "whole"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(whole, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	var list []*Draft
	for _, path := range []string{whole, fresh} {
		d, err := Create(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.WriteString("other"); err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	Abandon()
	if n, err := Publish(list); n != 0 || err == nil {
		t.Errorf("%d drafts that were abandoned have got their names: %v", n, err)
	}
	for _, d := range list {
		d.Discard()
	}
	left, _ := os.ReadDir(dir)
	if text, _ := os.ReadFile(whole); len(left) != 1 || string(text) != "as it was" {
		t.Errorf("there are %v, and the file says %q", left, text)
	}
	if err := Replace(whole, nil, 0o600, false); !errors.Is(err, ErrAbandoned) {
		t.Errorf("a file is begun after all were abandoned: %v", err)
	}
}
