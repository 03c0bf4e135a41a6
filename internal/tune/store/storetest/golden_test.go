package storetest

import (
	"bytes"
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/store"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The forms of exchange are these.
func TestForms(t *testing.T) {
	s := sample(t, inMemory(func(m *Memory) store.Store { return m }))
	golden(t, "results.jsonl", lines(t, s))
	var b bytes.Buffer
	if err := store.ExportT4(t.Context(), s, &b, store.Filter{Sizes: "L=512,M=512,N=512"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "results.t4.json", b.Bytes())
	b.Reset()
	if err := store.ExportCSV(t.Context(), s, &b, store.Filter{Session: "b"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "results.csv", b.Bytes())
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// A name that a spreadsheet would run is a text in the table.
func TestHarmlessTable(t *testing.T) {
	s := NewMemory()
	about := Search()
	about.Program.Name = `=HYPERLINK("x")`
	add(t, begin(t, s, about), Trial())
	var b bytes.Buffer
	if err := store.ExportCSV(t.Context(), s, &b, store.Filter{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `,"'=HYPERLINK(""x"")",`) {
		t.Errorf("%s", b.String())
	}
}
