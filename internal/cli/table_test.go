package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func tableText(t *testing.T, limit int, rows ...[]string) string {
	t.Helper()
	var b bytes.Buffer
	columns := []column{{head: "plan"}, {head: "time", right: true}, {head: "configuration"}}
	x := &table{to: &b, limit: limit, columns: columns}
	for _, r := range rows {
		if err := x.row(r...); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.end(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	rows := [][]string{
		{"default", "6.000 µs", "block=8x8"}, {"found 1 (best)", "13 s", strings.Repeat("b", 40)}, {"none", "", ""},
	}
	want := `plan                time  configuration
default         6.000 µs  block=8x8
found 1 (best)      13 s  ` + strings.Repeat("b", 40) + "\nnone\n"
	if got := tableText(t, 0, rows...); got != want {
		t.Errorf("%s", got)
	}
	// A terminal breaks the last column; it has room for all others.
	if got := tableText(t, 60, rows...); got != want {
		t.Errorf("%s", got)
	}
	// On a narrow one each row is a list, no line of which is longer.
	want = `default  time: 6.000 µs
    configuration: block=8x8
found 1 (best)  time: 13 s
    configuration: ` + strings.Repeat("b", 40) + "\nnone\n"
	if got := tableText(t, 30, rows...); got != want {
		t.Errorf("%s", got)
	}
	if got := tableText(t, 0); got != "" {
		t.Errorf("a table without rows: %q", got)
	}
}

// Rows after those that are held are printed as they come, under the same heads.
func TestLongTable(t *testing.T) {
	var b bytes.Buffer
	x := &table{to: &b, columns: []column{{head: "n", right: true}}}
	for n := range mostHeld + 5 {
		if err := x.row("1"); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(b.String(), "\n"); n < mostHeld-1 && lines != 0 || n >= mostHeld-1 && lines != n+2 {
			t.Fatalf("%d lines after %d rows", lines, n+1)
		}
	}
	err := x.end()
	heads, runes := strings.Count(b.String(), "n"), utf8.RuneCountInString(b.String())
	if err != nil || heads != 1 || runes != 2*(mostHeld+6) {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

type fullPipe struct{}

func (fullPipe) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestTableThatCannotBeWritten(t *testing.T) {
	x := &table{to: fullPipe{}, columns: []column{{head: "n"}}}
	if err := errors.Join(x.row("1"), x.end()); err == nil {
		t.Error("nobody was told")
	}
}
