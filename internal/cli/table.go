package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// column is a column of a table. A cell that is wider than its column moves the
// others of its row.
type column struct {
	head  string
	width int  // at least; that of the head is the least
	right bool // numbers end in the same place
}

// table prints rows under heads as they come. Where a row is wider than the
// terminal, each row is a list of heads with their cells instead, broken between
// them.
type table struct {
	to      io.Writer
	columns []column
	limit   int // columns of the terminal; 0 for none
	begun   bool
}

// newTable returns a table for standard output.
func newTable(a *app, columns ...column) *table {
	return &table{to: a.stdout, columns: columns, limit: terminalWidth(a.stdout)}
}

// fit makes columns as wide as the cells of rows.
func (t *table) fit(rows [][]string) {
	for _, r := range rows {
		for i, c := range r {
			t.columns[i].width = max(t.columns[i].width, utf8.RuneCountInString(c))
		}
	}
}

// rows prints all rows, in columns that fit them.
func (t *table) rows(rows [][]string) error {
	t.fit(rows)
	for _, r := range rows {
		if err := t.row(r...); err != nil {
			return err
		}
	}
	return nil
}

// row prints a row, before the first the heads.
func (t *table) row(cells ...string) error {
	var b strings.Builder
	if t.narrow() {
		t.list(&b, cells)
	} else {
		if !t.begun {
			heads := make([]string, len(t.columns))
			for i, c := range t.columns {
				heads[i] = c.head
			}
			t.line(&b, heads)
		}
		t.line(&b, cells)
	}
	t.begun = true
	_, err := io.WriteString(t.to, b.String())
	return err
}

const between = "  "

// narrow reports whether the terminal has no room for the columns. The last one
// may be cut by the terminal's own line breaks if there is room for some of it.
func (t *table) narrow() bool {
	n := 0
	for i, c := range t.columns {
		w := max(c.width, utf8.RuneCountInString(c.head))
		if i == len(t.columns)-1 && !c.right {
			w = min(w, 20)
		}
		n += w
	}
	return t.limit > 0 && n+len(between)*(len(t.columns)-1) > t.limit
}

func (t *table) line(b *strings.Builder, cells []string) {
	var line strings.Builder
	for i, c := range t.columns {
		width := max(c.width, utf8.RuneCountInString(c.head))
		if i > 0 {
			line.WriteString(between)
		}
		if !c.right {
			width = -width
		}
		fmt.Fprintf(&line, "%*s", width, cells[i])
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}

// list writes "head: cell, head: cell", in lines that the terminal has room for.
// Further lines of a row begin further in.
func (t *table) list(b *strings.Builder, cells []string) {
	used := 0
	for i, c := range t.columns {
		if cells[i] == "" {
			continue
		}
		item := cells[i]
		if c.head != "" && i > 0 {
			item = c.head + ": " + item
		}
		n := utf8.RuneCountInString(item)
		switch {
		case used == 0:
		case used+len(between)+n > t.limit:
			b.WriteString("\n    ")
			used = 4
		default:
			b.WriteString(between)
			used += len(between)
		}
		b.WriteString(item)
		used += n
	}
	b.WriteByte('\n')
}

// terminalWidth returns the columns of the terminal that w is; 0 if it is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
