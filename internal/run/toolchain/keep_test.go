package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKeep(t *testing.T) {
	c, err := OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if path, ok := c.Kept("x.bin"); ok {
		t.Errorf("%s is there before it was kept", path)
	}
	for _, text := range []string{"code", "other code"} {
		path, err := c.Keep("x.bin", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, ok := c.Kept("x.bin")
		got, err := Read(path)
		if !ok || again != path || err != nil || string(got) != text {
			t.Errorf("%q: %q, %v, %q %v", text, got, err, again, ok)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(c.Dir, "*")); len(list) != 1 {
		t.Errorf("%q", list)
	}
	path := filepath.Join(c.Dir, "x.bin")
	if err := os.WriteFile(path, []byte("code, cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || err.Error() != path+": the file is damaged" {
		t.Error(err)
	}
	if _, ok := c.Kept("x.bin"); ok {
		t.Error("a damaged file counts as kept")
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a damaged file stays: %v", err)
	}
}
