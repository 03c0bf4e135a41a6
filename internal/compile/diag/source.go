package diag

import (
	"sort"
	"unicode/utf8"
)

// Source is a named text.
type Source struct {
	Name string
	Text string

	lines []int // offset of the first byte of every line
}

// NewSource returns a source whose positions can be asked for.
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Position is a place as people count it: from 1, columns in characters.
type Position struct {
	File   string
	Offset int
	Line   int
	Col    int
}

// Position returns the place of a byte offset. Offsets outside the text are
// taken to its nearest end.
func (s *Source) Position(offset int) Position {
	offset = max(0, min(offset, len(s.Text)))
	line := sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	col := utf8.RuneCountInString(s.Text[s.lines[line-1]:offset]) + 1
	return Position{File: s.Name, Offset: offset, Line: line, Col: col}
}

// line returns the text of a line, counted from 1, without its line end, and
// the offset at which it starts.
func (s *Source) line(n int) (text string, start int) {
	start = s.lines[n-1]
	end := len(s.Text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	if end > start && s.Text[end-1] == '\r' {
		end--
	}
	return s.Text[start:end], start
}
