package gridio

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func archiveOf(t *testing.T) (path string, u, n *Array) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.ckpt")
	u, err := New(types.F64, 3, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range View[float64](u) {
		View[float64](u)[i] = 1 / float64(i+1)
	}
	n, err = New(types.U8, 7)
	if err != nil {
		t.Fatal(err)
	}
	copy(n.Data, "gridiom")
	if err := WriteArchive(path, map[string]int{"step": 12}, []Field{{"u", u}, {"n", n}}); err != nil {
		t.Fatal(err)
	}
	return path, u, n
}

func TestArchiveRoundTrip(t *testing.T) {
	path, u, n := archiveOf(t)
	var m map[string]int
	a, err := OpenArchive(path, &m)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if m["step"] != 12 {
		t.Errorf("manifest %v", m)
	}
	for _, f := range []Field{{"u", u}, {"n", n}} {
		got := make([]byte, len(f.Array.Data))
		if err := a.ReadInto(Want{Grid: f.Name, Type: f.Array.Type, Shape: f.Array.Shape}, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, f.Array.Data) {
			t.Errorf("%s: got %v want %v", f.Name, got, f.Array.Data)
		}
	}
	got := make([]byte, len(u.Data))
	err = a.ReadInto(Want{Grid: "u", Type: types.F64, Shape: []int{5, 3}}, got)
	if err == nil || !strings.Contains(err.Error(), "grid u: it holds 3 x 5 cells, but grid u is 5 x 3") {
		t.Errorf("another shape: %v", err)
	}
	if err := a.ReadInto(Want{Grid: "v"}, got); err == nil || !strings.HasSuffix(err.Error(), "it holds no grid v") {
		t.Errorf("another name: %v", err)
	}
}

// No prefix and no flipped byte of an archive gives other values than it held.
func TestArchiveDamage(t *testing.T) {
	path, u, _ := archiveOf(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		var m map[string]int
		a, err := OpenArchive(path, &m)
		if err != nil {
			return
		}
		defer a.Close()
		got := make([]byte, len(u.Data))
		if err := a.ReadInto(Want{Grid: "u", Type: u.Type, Shape: u.Shape}, got); err == nil &&
			!bytes.Equal(got, u.Data) {
			t.Errorf("%s: other values without an error", what)
		}
	}
	for n := range whole {
		try("cut short", whole[:n])
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x10
		try("damaged", damaged)
	}
}
