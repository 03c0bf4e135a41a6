// Package sexpr reads S-expressions, the notation of the texts of both IRs:
// atoms, strings in double quotes as Go writes them, and lists in parentheses.
// A semicolon starts a comment that ends with the line.
package sexpr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind tells the three forms apart.
type Kind uint8

const (
	Atom Kind = iota
	String
	List
)

// Node is one S-expression.
type Node struct {
	Kind      Kind
	Text      string // of an atom, or what a string holds
	List      []Node
	Line, Col int // where it starts, from 1; columns count characters
}

// Head returns the atom that a list starts with, or "".
func (n Node) Head() string {
	if n.Kind == List && len(n.List) > 0 && n.List[0].Kind == Atom {
		return n.List[0].Text
	}
	return ""
}

// Args returns a list without its head.
func (n Node) Args() []Node {
	if len(n.List) == 0 {
		return nil
	}
	return n.List[1:]
}

// String prints the node on one line, so that it reads back.
func (n Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n Node) write(b *strings.Builder) {
	switch n.Kind {
	case Atom:
		b.WriteString(n.Text)
	case String:
		b.WriteString(strconv.Quote(n.Text))
	case List:
		b.WriteByte('(')
		for i, c := range n.List {
			if i > 0 {
				b.WriteByte(' ')
			}
			c.write(b)
		}
		b.WriteByte(')')
	}
}

// Errorf returns an error at the node.
func (n Node) Errorf(format string, args ...any) error {
	return &Error{n.Line, n.Col, fmt.Sprintf(format, args...)}
}

// Error is a mistake in a text.
type Error struct {
	Line, Col int
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// MaxDepth bounds how deep lists may nest.
const MaxDepth = 10000

// Parse reads all S-expressions of a text.
func Parse(text string) ([]Node, error) {
	r := &reader{rest: text, line: 1, col: 1}
	var out []Node
	for {
		r.space()
		if r.rest == "" {
			return out, nil
		}
		n, err := r.node(0)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
}

// ParseOne reads a text that holds one S-expression.
func ParseOne(text string) (Node, error) {
	nodes, err := Parse(text)
	switch {
	case err != nil:
		return Node{}, err
	case len(nodes) == 0:
		return Node{}, &Error{1, 1, "the text is empty"}
	case len(nodes) > 1:
		return Node{}, nodes[1].Errorf("there is more than one expression")
	}
	return nodes[0], nil
}

type reader struct {
	rest      string
	line, col int
}

// take removes n bytes of the text.
func (r *reader) take(n int) string {
	s := r.rest[:n]
	r.rest = r.rest[n:]
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		r.line += strings.Count(s, "\n")
		r.col = 1 + utf8.RuneCountInString(s[i+1:])
	} else {
		r.col += utf8.RuneCountInString(s)
	}
	return s
}

func (r *reader) space() {
	for {
		r.take(len(r.rest) - len(strings.TrimLeftFunc(r.rest, unicode.IsSpace)))
		if !strings.HasPrefix(r.rest, ";") {
			return
		}
		n := strings.IndexByte(r.rest, '\n')
		if n < 0 {
			n = len(r.rest)
		}
		r.take(n)
	}
}

func (r *reader) node(depth int) (Node, error) {
	n := Node{Line: r.line, Col: r.col}
	switch r.rest[0] {
	case '(':
		n.Kind = List
		return n, r.list(&n, depth)
	case ')':
		return n, n.Errorf("there is no list to end here")
	case '"':
		quoted, err := strconv.QuotedPrefix(r.rest)
		if err != nil {
			return n, n.Errorf("the string does not end")
		}
		n.Kind = String
		n.Text, err = strconv.Unquote(r.take(len(quoted)))
		if err != nil {
			return n, n.Errorf("the string is not well formed")
		}
		return n, nil
	}
	end := strings.IndexFunc(r.rest, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(`();"`, c)
	})
	if end < 0 {
		end = len(r.rest)
	}
	n.Text = r.take(end)
	return n, nil
}

func (r *reader) list(n *Node, depth int) error {
	if depth >= MaxDepth {
		return n.Errorf("lists nest more than %d deep", MaxDepth)
	}
	r.take(1)
	for {
		r.space()
		switch {
		case r.rest == "":
			return n.Errorf("the list does not end")
		case r.rest[0] == ')':
			r.take(1)
			return nil
		}
		c, err := r.node(depth + 1)
		if err != nil {
			return err
		}
		n.List = append(n.List, c)
	}
}
