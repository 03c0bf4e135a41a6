package gridio

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless gives bytes without end, and counts them.
type endless struct{ given int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.given += int64(len(p))
	return len(p), nil
}

func TestReadSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.plan")
	for _, c := range []struct {
		text string
		want string // the error, without the path
	}{
		{"", ""}, {"exactly 10", ""}, {"eleven byte",
			"it has more than 10 bytes, which is the most that is read of such a file"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := ReadSmall(path, 10)
		switch {
		case c.want == "" && (err != nil || string(text) != c.text):
			t.Errorf("%q is read as %q, %v", c.text, text, err)
		case c.want != "" && (err == nil || err.Error() != path+": "+c.want):
			t.Errorf("%q: %v", c.text, err)
		}
	}
	if _, err := ReadSmall(path+"x", 10); err == nil || err.Error() != path+"x: there is no such file" {
		t.Errorf("%v", err)
	}
	if _, err := ReadSmall("/dev/zero", 1<<20); err == nil ||
		err.Error() != "/dev/zero: it has more than 1 MiB, which is the most that is read of such a file" {
		t.Errorf("%v", err)
	}
}

func TestPortions(t *testing.T) {
	p := NewPortions(strings.NewReader(strings.Repeat("a", 100)), "one word", 40, 100)
	for range 2 {
		p.Next()
		if text, err := io.ReadAll(io.LimitReader(p, 40)); len(text) != 40 || err != nil {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	}
	if _, err := p.Read(make([]byte, 1)); err == nil || err.Error() != "one word takes more than 40 bytes" {
		t.Errorf("%v", err)
	}
	e := &endless{}
	p = NewPortions(e, "one word", 4<<10, 16<<10)
	var err error
	for err == nil {
		p.Next()
		_, err = p.Read(make([]byte, 1<<10))
	}
	if err.Error() != "there is more than 16 KiB of text, which is the most that is read of such a file" ||
		e.given != 16<<10 {
		t.Errorf("%v after %d bytes", err, e.given)
	}
}
