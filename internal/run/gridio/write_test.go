package gridio

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// folder lists the names and contents of a folder's regular files.
func folder(t *testing.T, path string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(path, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// TestWriteIsAllOrNothing lets the disk fill up, and worse, in the middle of
// writing over an older file.
func TestWriteIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "u.npy")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	unchanged := func(name string) {
		t.Helper()
		if files := folder(t, dir); len(files) != 1 || files["u.npy"] != "old" {
			t.Errorf("%s left %q", name, files)
		}
	}
	err := WriteFile(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 3*chunk)); err != nil {
			return err
		}
		return &os.PathError{Op: "write", Path: "t.tmp", Err: syscall.ENOSPC}
	})
	if errText(err) != path+": the disk is full" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	unchanged("a full disk")

	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		WriteFile(path, func(io.Writer) error { panic("bug") })
	}()
	unchanged("a panic")

	if err := WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		if content := folder(t, dir)["u.npy"]; content != "old" {
			t.Errorf("a reader sees %q before all is written", content)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files := folder(t, dir); len(files) != 1 || files["u.npy"] != "new" {
		t.Errorf("the folder holds %q", files)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v, %v", info.Mode(), err)
	}
}

// TestWriteFiles fails at the second of two files: the first keeps its old
// content, and the other way round.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a.h"), filepath.Join(dir, "a.c")}
	if err := os.WriteFile(paths[0], []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	text := func(i int, w io.Writer) error {
		_, err := io.WriteString(w, []string{"header", "source"}[i])
		return err
	}
	for fails := range paths {
		err := WriteFiles(paths, func(i int, w io.Writer) error {
			if i == fails {
				return syscall.ENOSPC
			}
			return text(i, w)
		})
		if errText(err) != paths[fails]+": the disk is full" {
			t.Errorf("file %d fails: %v", fails, err)
		}
		if files := folder(t, dir); len(files) != 1 || files["a.h"] != "old" {
			t.Errorf("file %d fails and leaves %q", fails, files)
		}
	}
	if err := WriteFiles(paths, text); err != nil {
		t.Fatal(err)
	}
	if files := folder(t, dir); len(files) != 2 || files["a.h"] != "header" || files["a.c"] != "source" {
		t.Errorf("there are %q", files)
	}
}

// TestEndings asks for formats alone: nothing on the disk matters.
func TestEndings(t *testing.T) {
	for _, c := range []struct{ path, read, write string }{
		{"absent/u.npy", "", ""},
		{"absent/u.jpg", "",
			`absent/u.jpg: files ending in ".jpg" cannot be written (known endings: .npy .raw .bin .png .vti)`},
		{"absent/u.vti",
			`absent/u.vti: files ending in ".vti" cannot be read (known endings: .npy .raw .bin .png .jpg .jpeg)`, ""},
	} {
		if err := CheckRead(c.path); errText(err) != c.read {
			t.Errorf("read %s: %v, want %s", c.path, err, c.read)
		}
		if err := CheckFormat(c.path, types.F32, []int{2}, Options{}); errText(err) != c.write {
			t.Errorf("write %s: %v, want %s", c.path, err, c.write)
		}
	}
	deep := CheckFormat("u.vti", types.F32, []int{2, 2, 2, 2}, Options{})
	if deep == nil {
		t.Error("a .vti file takes four dimensions")
	}
}

func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o777); err != nil {
		t.Fatal(err)
	}
	target, link := filepath.Join(dir, "real", "u.raw"), filepath.Join(dir, "u.raw")
	if err := errors.Join(os.WriteFile(target, nil, 0o666), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, filled(t, types.U8, []int{2}, 'h', 'i'), Options{}); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(target); string(content) != "hi" {
		t.Errorf("the link's target holds %q", content)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
}

// TestPathErrors gives bad paths to reading, to writing and to the check
// before writing, in words and without traces.
func TestPathErrors(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(dir, "d.npy"), 0o777),
		os.WriteFile(filepath.Join(dir, "protected.npy"), nil, 0o444),
		os.WriteFile(filepath.Join(dir, "empty.npy"), nil, 0o666),
		syscall.Mkfifo(filepath.Join(dir, "pipe.npy"), 0o666),
	); err != nil {
		t.Fatal(err)
	}
	a := filled(t, types.F32, []int{2}, 1, 2)
	for _, c := range []struct{ path, read, write string }{
		{"absent.npy", "there is no such file", ""},
		{"absent/u.npy", "there is no such file", "there is no folder DIR/absent (create it first)"},
		{"empty.npy", "it is not a .npy file", ""},
		{"d.npy", "it is a folder", "it is a folder"},
		{"pipe.npy", "it is not a regular file", "it is not a regular file"},
		{"protected.npy", "it is not a .npy file", "it is write-protected"},
		{"u.txt", `files ending in ".txt" cannot be read (known endings: .npy .raw .bin .png .jpg .jpeg)`,
			`files ending in ".txt" cannot be written (known endings: .npy .raw .bin .png .vti)`},
		{"u", "its name has no ending that tells its format (known endings: .npy .raw .bin .png .jpg .jpeg)",
			"its name has no ending that tells its format (known endings: .npy .raw .bin .png .vti)"},
		{"u.vti", `files ending in ".vti" cannot be read (known endings: .npy .raw .bin .png .jpg .jpeg)`, ""},
		{"u.jpg", "there is no such file",
			`files ending in ".jpg" cannot be written (known endings: .npy .raw .bin .png .vti)`},
		{"U.NPY", "there is no such file", ""},
	} {
		path := filepath.Join(dir, c.path)
		before := len(folder(t, dir))
		check := func(what string, err error, want string) {
			t.Helper()
			if want != "" {
				want = path + ": " + strings.ReplaceAll(want, "DIR", dir)
			}
			if errText(err) != want {
				t.Errorf("%s %s:\n got %s\nwant %s", what, c.path, errText(err), want)
			}
		}
		_, err := Read(path, Want{})
		check("read", err, c.read)
		check("check", CheckWrite(path, a.Type, a.Shape, Options{}), c.write)
		if after := len(folder(t, dir)); after != before {
			t.Errorf("checking %s left %d files behind", c.path, after-before)
		}
		check("write", Write(path, a, Options{}), c.write)
		if after := len(folder(t, dir)); c.write != "" && after != before {
			t.Errorf("failing to write %s left %d files behind", c.path, after-before)
		} else if c.write == "" {
			os.Remove(path)
			os.WriteFile(filepath.Join(dir, "empty.npy"), nil, 0o666)
		}
	}
}

func TestUnwritableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "u.raw")
	want := path + ": nothing can be written to the folder " + dir + ": permission denied"
	if err := Write(path, filled(t, types.U8, []int{1}, 1), Options{}); errText(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWriteRefusesInconsistentArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.npy")
	bad := &Array{Type: types.F32, Shape: []int{3}, Data: make([]byte, 8)}
	if err := Write(path, bad, Options{}); errText(err) != path+": an array of 3 float takes 12 bytes, not 8" {
		t.Errorf("got %v", err)
	}
}

func TestReadIntoNeedsRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "u.npy")
	if err := Write(path, filled(t, types.F32, []int{3}, 1, 2, 3), Options{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Want{Type: types.F64})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Bytes() != 24 || f.Type != types.F64 {
		t.Errorf("%d bytes of %s", f.Bytes(), f.Type)
	}
	if err := f.ReadInto(make([]byte, 23)); errText(err) != path+": its cells take 24 bytes, and there is room for 23" {
		t.Errorf("got %v", err)
	}
}
