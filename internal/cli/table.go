package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// column is a column of a table.
type column struct {
	head  string
	right bool // numbers end in the same place
	width int  // of what it was made to fit
}

// table prints rows under heads. Where a row is wider than the terminal, each row
// is a list of heads with their cells instead, broken between them.
//
// Columns fit the first rows. Further ones are printed as they come, so that a
// list of millions is not held; a cell that is wider moves the others of its row.
type table struct {
	to      io.Writer
	columns []column
	limit   int // columns of the terminal; 0 for none
	held    [][]string
	begun   bool
}

// mostHeld rows are held to find out how wide columns are.
const mostHeld = 1000

// newTable returns a table for standard output.
func newTable(a *app, columns ...column) *table {
	return &table{to: a.stdout, columns: columns, limit: terminalWidth(a.out.to)}
}

// row prints a row, at the latest when the table ends: one line, whatever the
// texts in it are.
func (t *table) row(cells ...string) error {
	for i := range cells {
		cells[i] = diag.Line(cells[i])
	}
	if !t.begun {
		if t.held = append(t.held, cells); len(t.held) < mostHeld {
			return nil
		}
		return t.end()
	}
	return t.print(cells)
}

// end prints what is held, after the heads. A table without rows has none.
func (t *table) end() error {
	held := t.held
	t.held = nil
	if t.begun || len(held) == 0 {
		return nil
	}
	t.begun = true
	heads := make([]string, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		heads[i] = c.head
		c.width = max(c.width, utf8.RuneCountInString(c.head))
		for _, r := range held {
			c.width = max(c.width, utf8.RuneCountInString(r[i]))
		}
	}
	if !t.narrow() {
		held = append([][]string{heads}, held...)
	}
	for _, r := range held {
		if err := t.print(r); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) print(cells []string) error {
	var b strings.Builder
	if t.narrow() {
		t.list(&b, cells)
	} else {
		t.line(&b, cells)
	}
	_, err := io.WriteString(t.to, b.String())
	return err
}

const between = "  "

// narrow reports whether the terminal has no room for the columns. Where the last
// one is text, room for some of it is enough: the terminal breaks the rest.
func (t *table) narrow() bool {
	n := len(between) * (len(t.columns) - 1)
	for i, c := range t.columns {
		if last := i == len(t.columns)-1; last && !c.right {
			c.width = min(c.width, leastText)
		}
		n += c.width
	}
	return t.limit > 0 && n > t.limit
}

// leastText is the room that a last column of text needs.
const leastText = 24

func (t *table) line(b *strings.Builder, cells []string) {
	var line strings.Builder
	for i, c := range t.columns {
		if i > 0 {
			line.WriteString(between)
		}
		width := c.width
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
