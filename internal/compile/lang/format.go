package lang

import (
	"strings"
	"unicode/utf8"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// Format returns a source text in canonical form. Only white space changes:
// every token and comment stays, one blank line stays where there were any, and
// so do the user's line breaks inside a statement. A block that was on one line
// stays there if it fits. The text must be free of syntax errors; otherwise it
// is returned as it is, with the errors.
func Format(src *diag.Source) (string, diag.List) {
	f, diags := Parse(src)
	if diags.HasErrors() {
		return src.Text, diags
	}
	return f.Format(), diags
}

// Format returns the text of a file that was parsed without errors in
// canonical form.
func (f *File) Format() string {
	p := &printer{text: f.Source.Text, toks: f.tokens, closers: matchBlocks(f.tokens)}
	p.print(0, len(p.toks))
	if len(p.out) > 0 {
		p.newline(0)
	}
	return alignComments(string(p.out), p.trailing)
}

const (
	indentWidth   = 2   // columns a block is indented by
	hangWidth     = 4   // columns the rest of a broken statement is indented by
	maxInline     = 100 // columns within which a block may stay on one line
	maxAlignWidth = 60  // columns of code beyond which a comment is not aligned
)

// matchBlocks returns the index of the } that closes each block's {.
func matchBlocks(toks []Token) map[int]int {
	match := make(map[int]int)
	var open []int
	for i, t := range toks {
		switch {
		case t.role == blockOpen:
			open = append(open, i)
		case t.role == blockClose && len(open) > 0:
			match[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return match
}

// printer lays out a list of tokens.
type printer struct {
	text    string
	toks    []Token
	closers map[int]int

	layout
}

// layout is the part of a printer's state that a failed attempt to keep a
// block on one line restores.
type layout struct {
	out        []byte
	trailing   []int // offsets in out of the comments that follow code
	col        int   // columns written on this line
	lineIndent int   // with which this line began
	blocks     int   // open blocks
	inline     bool  // within a block that stays on one line
	inStmt     bool  // between the first token of a statement and its end
	directive  int   // the line of the directive that is being printed, or 0
	brackets   []bracket
	prev       *Token // last printed, comments included
	afterCode  bool   // prev is a comment that follows code on its line
}

// bracket is an open bracket of the current statement.
type bracket struct {
	kind     Kind
	index    bool // of an index: lines do not break inside
	col      int  // at which a line inside it begins
	closeCol int  // at which a line begins that closes it
	fresh    bool // nothing was printed since it was opened
}

func (p *printer) print(from, to int) {
	for i := from; i < to; i++ {
		t := &p.toks[i]
		if t.role == empty || t.Kind == EOF {
			continue
		}
		p.place(t)
		p.write(t)
		if t.role == blockOpen && !p.inline {
			if j, ok := p.tryInline(i); ok {
				i = j
			}
		}
	}
}

// tryInline prints the block that opens at token i, whose { is printed, on one
// line, if it was on one and fits.
func (p *printer) tryInline(i int) (last int, ok bool) {
	j, closed := p.closers[i]
	if !closed || p.toks[i].Line != p.toks[j].Line {
		return 0, false
	}
	before := p.layout
	before.brackets = append([]bracket(nil), p.brackets...)
	p.inline = true
	for k := i + 1; k <= j; k++ {
		p.print(k, k+1)
		if p.col > maxInline {
			before.out = p.out[:len(before.out)]
			p.layout = before
			return 0, false
		}
	}
	p.inline = false
	return j, true
}

// lineBreaks returns the number of line ends in the source between two tokens.
func (p *printer) lineBreaks(a, b *Token) int {
	return strings.Count(p.text[a.End:b.Start], "\n")
}

// place moves to where t is to stand.
func (p *printer) place(t *Token) {
	if p.directive != 0 && t.Line != p.directive {
		p.directive, p.inStmt = 0, false
	}
	if p.prev == nil {
		return
	}
	breaks := p.lineBreaks(p.prev, t)
	if p.inStmt {
		p.placeInside(t, breaks)
		return
	}
	switch {
	case t.role == blockClose && p.prev.role == blockOpen:
	case t.isComment() && breaks == 0:
		p.spaces(t)
	case p.inline, p.prev.isComment() && !p.afterCode && breaks == 0:
		p.put(" ")
	default:
		if breaks > 1 && p.prev.role != blockOpen && t.role != blockClose {
			p.newline(0)
		}
		depth := p.blocks
		if t.role == blockClose {
			depth--
		}
		p.newline(depth * indentWidth)
	}
}

// placeInside moves to where t is to stand inside a statement.
func (p *printer) placeInside(t *Token, breaks int) {
	switch {
	case p.prev.Kind == LineComment,
		breaks > 0 && (t.isComment() || p.prev.isComment() || p.mayBreak(p.prev, t)):
		p.hang(t)
	case t.isComment():
		p.spaces(t)
	case spaced(p.prev, t), p.wouldJoin(p.prev, t):
		p.put(" ")
	}
}

// wouldJoin reports whether two tokens would read as others without a space
// between them: 1. and .. do.
func (p *printer) wouldJoin(a, b *Token) bool {
	return a.Kind == Number && b.Kind == DotDot && p.text[a.End-1] == '.'
}

// spaces separates a comment from the code before it.
func (p *printer) spaces(t *Token) {
	if t.Kind == LineComment {
		p.put("  ")
		p.trailing = append(p.trailing, len(p.out))
		return
	}
	p.put(" ")
}

// hang begins a new line inside a statement.
func (p *printer) hang(t *Token) {
	if len(p.brackets) == 0 {
		p.newline(p.blocks*indentWidth + hangWidth)
		return
	}
	b := &p.brackets[len(p.brackets)-1]
	if b.fresh {
		b.closeCol = p.lineIndent
		b.col = p.lineIndent + hangWidth
	}
	if closes(t) {
		p.newline(b.closeCol)
		return
	}
	p.newline(b.col)
}

func closes(t *Token) bool {
	return t.Kind == RParen || t.Kind == RBracket || t.Kind == RBrace && t.role != blockClose
}

// mayBreak reports whether the user's line break between two tokens is kept.
func (p *printer) mayBreak(a, b *Token) bool {
	if n := len(p.brackets); n > 0 && p.brackets[n-1].index {
		return false
	}
	opens := a.Kind == LParen || a.Kind == LBrace || a.Kind == LBracket && a.role == prefix
	return a.Kind == Comma || opens || closes(b) || breaksLine(a) || breaksLine(b) && b.Kind != Assign
}

// breaksLine reports whether a line may end or begin with an operator.
func breaksLine(t *Token) bool {
	switch {
	case t.role == tight:
		return t.Kind >= Plus && t.Kind <= Ge
	case t.role == loose:
		return true
	}
	return t.Kind == Assign
}

// spaced reports whether a space stands between two tokens on one line.
func spaced(a, b *Token) bool {
	switch {
	case b.Kind == Comma, b.Kind == Semicolon, closes(b):
		return false
	case a.isComment():
		return true
	case a.role == tight, b.role == tight, a.role == prefix, b.role == callParen:
		return false
	}
	return a.Kind != LParen && a.Kind != LBracket
}

// write prints t where the printer stands.
func (p *printer) write(t *Token) {
	text := p.text[t.Start:t.End]
	if t.isComment() {
		p.afterCode = p.col > p.lineIndent
		p.put(trimLines(text))
		p.prev = t
		return
	}
	p.put(text)
	p.prev = t
	if n := len(p.brackets); n > 0 {
		p.brackets[n-1].fresh = false
	}
	switch {
	case t.role == blockOpen:
		p.blocks++
		p.endStmt()
		return
	case t.role == blockClose:
		p.blocks--
		p.endStmt()
		return
	case t.role == stmtEnd:
		p.endStmt()
		return
	case t.Kind == LParen, t.Kind == LBracket, t.Kind == LBrace:
		p.brackets = append(p.brackets, bracket{
			kind: t.Kind, index: t.Kind == LBracket && t.role == tight, col: p.col, closeCol: p.col - 1, fresh: true,
		})
	case closes(t) && len(p.brackets) > 0:
		p.brackets = p.brackets[:len(p.brackets)-1]
	case t.Kind == Hash:
		p.directive = t.Line
	}
	p.inStmt = true
}

func (p *printer) endStmt() {
	p.inStmt = false
	p.brackets = p.brackets[:0]
}

// trimLines drops the white space at the ends of a comment's lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.Join(lines, "\n")
}

func (p *printer) put(s string) {
	p.out = append(p.out, s...)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.col, p.lineIndent = 0, 0
		s = s[i+1:]
	}
	p.col += utf8.RuneCountInString(s)
}

func (p *printer) newline(indent int) {
	p.out = append(p.out, '\n')
	p.col, p.lineIndent = 0, indent
	if indent > 0 {
		p.put(strings.Repeat(" ", indent))
	}
}

// alignComments moves the line comments that follow code on successive lines
// to one column. Offsets are where they begin, ascending.
func alignComments(text string, offsets []int) string {
	var out strings.Builder
	done := 0
	for i := 0; i < len(offsets); {
		// The run of comments on successive lines that begins with i.
		j, widest := i, 0
		for {
			if w := codeWidth(text, offsets[j]); w <= maxAlignWidth {
				widest = max(widest, w)
			}
			if j+1 == len(offsets) || strings.Count(text[offsets[j]:offsets[j+1]], "\n") != 1 {
				break
			}
			j++
		}
		for ; i <= j; i++ {
			out.WriteString(text[done:offsets[i]])
			if w := codeWidth(text, offsets[i]); w <= maxAlignWidth {
				out.WriteString(strings.Repeat(" ", widest-w))
			}
			done = offsets[i]
		}
	}
	out.WriteString(text[done:])
	return out.String()
}

// codeWidth returns the columns before offset on its line.
func codeWidth(text string, offset int) int {
	start := strings.LastIndexByte(text[:offset], '\n') + 1
	return utf8.RuneCountInString(text[start:offset])
}
