package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
)

// Generated files go into the folder that was named, whatever lies in it.
func TestLinksInFolders(t *testing.T) {
	for _, c := range []struct{ link, to string }{
		{"out/a.c", "mine"}, {"out/a.c", "nowhere"}, {"out/library", "elsewhere"}, {"out/library/b.c", "mine"},
	} {
		dir := t.TempDir()
		out, mine := filepath.Join(dir, "out"), filepath.Join(dir, "mine")
		for _, d := range []string{filepath.Join(dir, "elsewhere"), filepath.Join(out, "library")} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(mine, []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, c.link)
		os.RemoveAll(link)
		if err := os.Symlink(filepath.Join(dir, c.to), link); err != nil {
			t.Fatal(err)
		}
		err := writeTree(out, []emit.File{{Name: "a.c", Text: "a"}, {Name: "library/b.c", Text: "b"}})
		const want = ": it is a link; what is generated does not follow links (remove it, or name another folder)"
		if err == nil || err.Error() != link+want {
			t.Errorf("%s: %v", c.link, err)
		}
		if text, _ := os.ReadFile(mine); string(text) != "as it was" {
			t.Errorf("%s: the user's file says %q", c.link, text)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "elsewhere")); len(left) > 0 {
			t.Errorf("%s: %v was written elsewhere", c.link, left)
		}
	}
	// The folder itself is the user's choice.
	dir := t.TempDir()
	real, out := filepath.Join(dir, "real"), filepath.Join(dir, "out")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, out); err != nil {
		t.Fatal(err)
	}
	if err := writeTree(out, []emit.File{{Name: "library/b.c", Text: "b"}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(real, "library", "b.c")); string(text) != "b" {
		t.Errorf("%q, %v", text, err)
	}
	// Nor does the page of a report go where nobody said.
	if err := os.Symlink(filepath.Join(dir, "mine"), filepath.Join(real, "report.html")); err != nil {
		t.Fatal(err)
	}
	if err := noLink(filepath.Join(real, "report.html")); err == nil || !strings.Contains(err.Error(), "it is a link") {
		t.Errorf("%v", err)
	}
}
