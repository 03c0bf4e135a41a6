package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// longWord and longLine are how many bytes of a word and a line of an error
	// are shown whole: more than paths and lists of names have.
	longWord = 400
	longLine = 2000
	// kept is how many bytes of a longer word are shown at its start.
	kept = 100
)

// clip shortens what a user has given at great length, so that the rest of an
// error is still seen.
func clip(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		words := strings.Split(line, " ")
		for k, w := range words {
			if len(w) > longWord {
				words[k] = cut(w, kept)
			}
		}
		if lines[i] = strings.Join(words, " "); len(lines[i]) > longLine {
			lines[i] = cut(lines[i], longLine)
		}
	}
	return strings.Join(lines, "\n")
}

// cut keeps the start of a text, and says how much is missing.
func cut(text string, bytes int) string {
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return fmt.Sprintf("%s... (%d more characters)", text[:bytes], utf8.RuneCountInString(text[bytes:]))
}
