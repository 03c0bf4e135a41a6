package diag

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// visible reports whether a character may be shown to people as it is. Control
// characters move the cursor, change colours and set titles; format characters,
// such as those that turn the direction of writing, let a text look like another.
func visible(r rune) bool {
	return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != '\u2028' && r != '\u2029'
}

// Visible returns a text with a replacement character for all that is not to be
// shown as it is, but for ends of lines and tabs. Bytes that are no text count
// as such.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if visible(r) || r == '\n' || r == '\t' {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Line returns a text as one line: like Visible, ends of lines and tabs
// included. A text from outside cannot pretend to be several rows of a table.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if visible(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Screen passes text on to a terminal or a log, with a replacement for what is
// not to be shown as it is, as Visible does. Close passes on the beginning of a
// character whose rest never came.
type Screen struct {
	to      io.Writer
	replace func(r rune) string
	rest    []byte // the beginning of a character
}

// NewScreen returns a screen with the replacements of Visible.
func NewScreen(to io.Writer) *Screen {
	return &Screen{to: to, replace: func(rune) string { return string(utf8.RuneError) }}
}

// NewJSONScreen returns a screen for JSON, which loses nothing: outside ASCII,
// and at its end, what is to be replaced stands in strings, which can spell it.
func NewJSONScreen(to io.Writer) *Screen {
	return &Screen{to: to, replace: func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}}
}

func (s *Screen) Write(p []byte) (int, error) {
	text := p
	if len(s.rest) > 0 {
		text = append(s.rest, p...)
		s.rest = nil
	}
	if begun := unfinished(text); begun > 0 {
		s.rest = append([]byte(nil), text[len(text)-begun:]...)
		text = text[:len(text)-begun]
	}
	if err := s.pass(string(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close passes on what is left. The writer underneath stays open.
func (s *Screen) Close() error {
	rest := s.rest
	s.rest = nil
	return s.pass(string(rest))
}

func (s *Screen) pass(text string) error {
	if text == "" {
		return nil
	}
	var b strings.Builder
	for at, r := range text {
		broken := r == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError))
		if r == '\n' || r == '\t' || visible(r) && !broken {
			b.WriteRune(r)
		} else {
			b.WriteString(s.replace(r))
		}
	}
	_, err := io.WriteString(s.to, b.String())
	return err
}

// unfinished returns how many bytes at the end of a text begin a character.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return 0
			}
			return n
		}
	}
	return 0
}
