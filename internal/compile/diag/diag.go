// Package diag holds what the compiler has to say to a user as values: where
// (a range of a source text), how bad, what, and what to do about it. Rendering
// comes last and knows nothing of the language.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how bad a diagnostic is.
type Severity uint8

const (
	Error   Severity = iota // the text has no meaning; nothing is made of it
	Warning                 // the text has a meaning, perhaps not the intended one
	Remark                  // nothing is wrong; it answers a question
)

// String returns the word that is shown: "error".
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Remark:
		return "note"
	}
	panic(fmt.Sprintf("diag: no severity %d", uint8(s)))
}

// Range is a piece of a source text, as byte offsets; End is exclusive. An
// empty range is a place between two characters.
type Range struct {
	Start, End int
}

// To returns the smallest range that covers r and end.
func (r Range) To(end Range) Range {
	return Range{min(r.Start, end.Start), max(r.End, end.End)}
}

// Note is a second place that helps to understand a diagnostic.
type Note struct {
	Range   Range
	Message string
}

// Diagnostic is one thing to tell the user about one place.
type Diagnostic struct {
	Severity Severity
	Range    Range
	Message  string // one sentence in the user's words, without a full stop
	Hint     string // what to do about it, or ""
	Notes    []Note
	Brief    bool // shown as one line, without the source
}

// Hintf sets the hint and returns d.
func (d *Diagnostic) Hintf(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// Notef adds a note about another place and returns d.
func (d *Diagnostic) Notef(r Range, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{r, fmt.Sprintf(format, args...)})
	return d
}

// List collects diagnostics.
type List []*Diagnostic

// Errorf adds an error and returns it, so that a hint or a note can follow.
func (l *List) Errorf(r Range, format string, args ...any) *Diagnostic {
	return l.add(Error, r, fmt.Sprintf(format, args...))
}

// Warnf adds a warning and returns it, so that a hint or a note can follow.
func (l *List) Warnf(r Range, format string, args ...any) *Diagnostic {
	return l.add(Warning, r, fmt.Sprintf(format, args...))
}

func (l *List) add(s Severity, r Range, msg string) *Diagnostic {
	d := &Diagnostic{Severity: s, Range: r, Message: msg}
	*l = append(*l, d)
	return d
}

// HasErrors reports whether anything in the list is an error.
func (l List) HasErrors() bool { return l.Count(Error) > 0 }

// Count returns how many diagnostics have severity s.
func (l List) Count(s Severity) int {
	n := 0
	for _, d := range l {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// Sort puts the list into source order, errors before warnings at one place,
// and drops repetitions: the same message about the same range.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b *Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Range.Start, b.Range.Start),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Range.End, b.Range.End),
			cmp.Compare(a.Message, b.Message),
		)
	})
	*l = slices.CompactFunc(*l, func(a, b *Diagnostic) bool {
		return a.Severity == b.Severity && a.Range == b.Range && a.Message == b.Message
	})
}
