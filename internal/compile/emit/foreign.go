package emit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreign is text from outside the compiler that stands in generated files: the
// name of a source file, the text of a plan. Templates print it by the method of
// their language. Each method writes what could end a comment or a string there,
// or continue its line, as in a URL: %0A. The rest stays as it is. Generated
// programs are ASCII: compilers disagree about anything else, and an invisible
// character could show a reader another program than the compiler's.
type foreign string

// String is safe in every language.
func (f foreign) String() string {
	return f.escape(specialC + specialPython + specialFortran + specialCMake + specialMarkdown)
}

// What each language treats specially in comments and strings. A question mark
// may begin a trigraph, a backslash may continue a line.
const (
	specialC        = `*?"\`
	specialPython   = `"\`
	specialFortran  = `&!'"\`
	specialCMake    = `[]$;"\`
	specialMarkdown = "`|"
)

// C returns the text for a comment of C, C++, CUDA or OpenCL.
func (f foreign) C() string { return f.escape(specialC) }

// Python returns the text for a docstring.
func (f foreign) Python() string { return f.escape(specialPython) }

// fortranText is how much of a text a comment of Fortran shows: lines of the
// free form end at column 132.
const fortranText = 48

// Fortran returns the text for a comment, or its beginning.
func (f foreign) Fortran() string {
	text := f.escape(specialFortran)
	if len(text) > fortranText {
		text = text[:fortranText-3] + "..."
	}
	return text
}

// CMake returns the text for a comment.
func (f foreign) CMake() string { return f.escape(specialCMake) }

// Markdown returns the text for a code span. People read it, so that letters of
// all languages stay.
func (f foreign) Markdown() string {
	return f.keep(func(r rune) bool { return unicode.IsPrint(r) && !strings.ContainsRune(specialMarkdown, r) })
}

func (f foreign) escape(special string) string {
	return f.keep(func(r rune) bool { return r >= ' ' && r <= '~' && !strings.ContainsRune(special, r) })
}

// keep returns the text with the bytes of all that is not plain escaped.
func (f foreign) keep(plain func(r rune) bool) string {
	var b strings.Builder
	text := string(f)
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r != '%' && (r != utf8.RuneError || n > 1) && plain(r) {
			b.WriteString(text[:n])
		} else {
			for _, c := range []byte(text[:n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		text = text[n:]
	}
	return b.String()
}
