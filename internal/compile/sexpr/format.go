package sexpr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A returns an atom with a formatted text.
func A(format string, args ...any) Node { return Node{Text: fmt.Sprintf(format, args...)} }

// Name returns a text as an atom, or as a string if no atom holds it.
func Name(text string) Node {
	if text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c) || strings.ContainsRune(`();"`, c)
	}) {
		return Node{Kind: String, Text: text}
	}
	return Node{Text: text}
}

// L returns a list that starts with the atom head.
func L(head string, rest ...Node) Node {
	return Node{Kind: List, List: append([]Node{{Text: head}}, rest...)}
}

// width is the length of a line within which a list is kept together.
const width = 100

// deepest is the largest indentation: without a limit the text of a long chain
// of operands would grow with the square of its length.
const deepest = 20

// Format prints the node with lists that are too long for a line broken: what
// comes before the first inner list stays on the first line, everything from
// there on goes below, indented. The text ends with a newline.
func (n Node) Format() string {
	var b strings.Builder
	measure(n).format(&b, 0)
	b.WriteByte('\n')
	return b.String()
}

// measured is a node with the length of its one-line form.
type measured struct {
	node   Node
	list   []measured
	length int
}

func measure(n Node) measured {
	m := measured{node: n}
	if n.Kind != List {
		m.length = utf8.RuneCountInString(n.String())
		return m
	}
	m.length = 1 + max(1, len(n.List))
	for _, c := range n.List {
		inner := measure(c)
		m.list = append(m.list, inner)
		m.length += inner.length
	}
	return m
}

func (m measured) format(b *strings.Builder, indent int) {
	indent = min(indent, deepest)
	if m.node.Kind != List || 2*indent+m.length <= width {
		m.node.write(b)
		return
	}
	b.WriteByte('(')
	broken := false
	for k, c := range m.list {
		broken = broken || k > 0 && c.node.Kind == List
		switch {
		case broken:
			b.WriteByte('\n')
			b.WriteString(strings.Repeat("  ", indent+1))
		case k > 0:
			b.WriteByte(' ')
		}
		c.format(b, indent+1)
	}
	b.WriteByte(')')
}
