package gridio

import (
	"math"
	"strings"
)

// npyHeader is what the header of a .npy file states.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int
}

// maxRank bounds the number of dimensions, as NumPy does.
const maxRank = 64

// parseNpyHeader reads the Python dictionary that describes a .npy file:
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
func parseNpyHeader(text string) (npyHeader, error) {
	p := literal{text: text}
	var h npyHeader
	seen := map[string]bool{}
	p.expect('{')
	for !p.failed && !p.accept('}') {
		key := p.quoted()
		p.expect(':')
		if p.failed || seen[key] {
			break
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.peek() == '[' || p.peek() == '(' {
				return h, refuse("it holds records, and a cell is one number").hint(
					"save each field as an array of its own")
			}
			h.descr = p.quoted()
		case "fortran_order":
			h.fortran = p.truth()
		case "shape":
			var err error
			if h.shape, err = p.shape(); err != nil {
				return h, err
			}
		default:
			p.failed = true
		}
		if !p.accept(',') && p.peek() != '}' {
			p.failed = true
		}
	}
	p.peek()
	if p.failed || p.text != "" || len(seen) != 3 {
		return h, refuse("its .npy header makes no sense")
	}
	return h, nil
}

// literal scans the few Python literals that headers are made of. After a
// mistake, failed is set and the rest of the answers mean nothing.
type literal struct {
	text   string
	failed bool
}

// peek returns the next byte that is not a space, 0 at the end.
func (p *literal) peek() byte {
	p.text = strings.TrimLeft(p.text, " \t\r\n")
	if p.text == "" {
		return 0
	}
	return p.text[0]
}

func (p *literal) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.text = p.text[1:]
	return true
}

func (p *literal) expect(c byte) {
	if !p.accept(c) {
		p.failed = true
	}
}

// quoted reads a string without escapes.
func (p *literal) quoted() string {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		p.failed = true
		return ""
	}
	s, rest, found := strings.Cut(p.text[1:], string(rune(quote)))
	if !found || strings.ContainsAny(s, "\\\n") {
		p.failed = true
		return ""
	}
	p.text = rest
	return s
}

func (p *literal) truth() bool {
	p.peek()
	if rest, ok := strings.CutPrefix(p.text, "True"); ok {
		p.text = rest
		return true
	}
	rest, ok := strings.CutPrefix(p.text, "False")
	p.text = rest
	p.failed = p.failed || !ok
	return false
}

// shape reads a tuple of sizes. Python 2 wrote them as 3L.
func (p *literal) shape() ([]int, error) {
	shape := []int{}
	p.expect('(')
	for !p.failed && !p.accept(')') {
		negative := p.accept('-')
		n, digits := 0, 0
		for ; p.text != "" && p.text[0] >= '0' && p.text[0] <= '9'; digits++ {
			digit := int(p.text[0] - '0')
			if n > (math.MaxInt-digit)/10 {
				return nil, refuse("its header states a size that no memory holds")
			}
			n = 10*n + digit
			p.text = p.text[1:]
		}
		p.text = strings.TrimPrefix(p.text, "L")
		switch {
		case digits == 0:
			p.failed = true
		case negative:
			return nil, refuse("its header states the negative size -%d", n)
		case len(shape) == maxRank:
			return nil, refuse("its header states more than %d dimensions", maxRank)
		}
		shape = append(shape, n)
		// One size in brackets without a comma is a number, not a tuple.
		if !p.accept(',') && (p.peek() != ')' || len(shape) == 1) {
			p.failed = true
		}
	}
	return shape, nil
}
