package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style says how diagnostics are drawn.
type Style struct {
	Color bool // with ANSI colours
}

const (
	tabWidth = 4   // columns a tab is drawn with
	maxWidth = 120 // columns of a source line that are shown
)

// Render returns every diagnostic of the list as text, in the list's order:
//
//	heat.loom:3:7: error: nothing is called "nxt"
//	    3 | heat (nxt, u);
//	      |       ^~~
//	      hint: did you mean "next"?
func Render(src *Source, list List, style Style) string {
	var b strings.Builder
	for _, d := range list {
		renderOne(&b, src, d, style)
	}
	return b.String()
}

// Write renders the list to w.
func Write(w io.Writer, src *Source, list List, style Style) error {
	_, err := io.WriteString(w, Render(src, list, style))
	return err
}

func renderOne(b *strings.Builder, src *Source, d *Diagnostic, style Style) {
	paint := style.painter()
	tone := red
	switch d.Severity {
	case Warning:
		tone = yellow
	case Remark:
		tone = cyan
	}
	pos := src.Position(d.Range.Start)
	fmt.Fprintf(b, "%s %s %s\n", paint(bold, where(pos)), paint(tone, d.Severity.String()+":"),
		paint(bold, Visible(d.Message)))
	if d.Brief {
		return
	}
	excerpt(b, src, d.Range, tone, paint)
	for _, n := range d.Notes {
		fmt.Fprintf(b, "%s %s %s\n", paint(bold, where(src.Position(n.Range.Start))), paint(cyan, "note:"),
			Visible(n.Message))
		excerpt(b, src, n.Range, cyan, paint)
	}
	if d.Hint != "" {
		fmt.Fprintf(b, "      %s %s\n", paint(cyan, "hint:"), Visible(d.Hint))
	}
}

func where(p Position) string { return fmt.Sprintf("%s:%d:%d:", Line(p.File), p.Line, p.Col) }

// excerpt draws the line on which r starts and underlines r on it.
func excerpt(b *strings.Builder, src *Source, r Range, tone string, paint func(tone, s string) string) {
	n := src.Position(r.Start).Line
	text, start := src.line(n)
	from := min(max(r.Start-start, 0), len(text))
	to := min(max(r.End-start, from), len(text))
	before, marked, after := draw(text[:from]), draw(text[from:to]), draw(text[to:])

	pad, under := width(before), max(width(marked), 1)
	before, after, pad, under = window(before, marked, after, pad, under)
	shown := before + clip(marked, under) + after
	fmt.Fprintf(b, "%5d | %s\n", n, strings.TrimRight(shown, " "))
	fmt.Fprintf(b, "      | %s%s\n", strings.Repeat(" ", pad), paint(tone, "^"+strings.Repeat("~", under-1)))
}

// window cuts a line that is too wide to the part around its mark.
func window(before, marked, after string, pad, under int) (string, string, int, int) {
	const lead = maxWidth / 2
	if pad+width(marked)+width(after) <= maxWidth {
		return before, after, pad, under
	}
	if pad > lead {
		before = "..." + tail(before, lead)
		pad = width(before)
	}
	under = min(under, maxWidth-pad)
	if room := maxWidth - pad - min(width(marked), under); width(after) > room {
		after = clip(after, max(room, 0)) + "..."
	}
	return before, after, pad, under
}

// draw returns s as it can be shown on a terminal: tabs as spaces, characters
// that draw nothing or would move the cursor as a replacement character.
func draw(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString(strings.Repeat(" ", tabWidth))
		case !visible(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns the columns that a terminal gives to r.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
		return 0
	case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3,
		r >= 0xF900 && r <= 0xFAFF, r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60,
		r >= 0xFFE0 && r <= 0xFFE6, r >= 0x1F300 && r <= 0x1F9FF, r >= 0x20000 && r <= 0x3FFFD:
		return 2
	}
	return 1
}

// clip returns the first columns of s.
func clip(s string, columns int) string {
	n := 0
	for i, r := range s {
		if n += runeWidth(r); n > columns {
			return s[:i]
		}
	}
	return s
}

// tail returns the last columns of s.
func tail(s string, columns int) string {
	skip := width(s) - columns
	for i, r := range s {
		if skip <= 0 {
			return s[i:]
		}
		skip -= runeWidth(r)
	}
	return ""
}

const (
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	cyan   = "\x1b[1;36m"
	bold   = "\x1b[1m"
	reset  = "\x1b[0m"
)

func (s Style) painter() func(tone, text string) string {
	if !s.Color {
		return func(_, text string) string { return text }
	}
	return func(tone, text string) string { return tone + text + reset }
}
