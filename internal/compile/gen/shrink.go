package gen

import "strings"

// Shrink makes a source text smaller while holds says that what is wrong with
// it is still there: it leaves out lines and bodies, then puts small things in
// the place of parts of expressions, until nothing more can go. holds must
// hold for source; it sees texts that are no valid programs too.
func Shrink(source string, holds func(source string) bool) string {
	for {
		before := source
		source = shrinkLines(source, holds)
		source = shrinkParts(source, holds)
		if source == before {
			return source
		}
	}
}

// shrinkLines leaves out runs of lines, long ones first. Runs whose braces do
// not match are left alone.
func shrinkLines(source string, holds func(string) bool) string {
	lines := strings.SplitAfter(source, "\n")
	for n := len(lines) / 2; n > 0; n /= 2 {
		for i := 0; i+n <= len(lines); {
			rest := append(append([]string{}, lines[:i]...), lines[i+n:]...)
			text := strings.Join(rest, "")
			if matched(lines[i:i+n]) && holds(text) {
				lines = rest
			} else {
				i++
			}
		}
	}
	// A whole block, or its head and end while what is inside stays.
	for i := 0; i < len(lines); i++ {
		end := blockEnd(lines, i)
		if end < 0 {
			continue
		}
		for _, inside := range [][]string{nil, lines[i+1 : end]} {
			rest := append(append(append([]string{}, lines[:i]...), inside...), lines[end+1:]...)
			if holds(strings.Join(rest, "")) {
				lines = rest
				i--
				break
			}
		}
	}
	return strings.Join(lines, "")
}

func depth(line string) int { return strings.Count(line, "{") - strings.Count(line, "}") }

func matched(lines []string) bool {
	d := 0
	for _, l := range lines {
		if d += depth(l); d < 0 {
			return false
		}
	}
	return d == 0
}

// blockEnd returns the line that closes the block which line i opens, or -1.
func blockEnd(lines []string, i int) int {
	if depth(lines[i]) <= 0 {
		return -1
	}
	d := 0
	for k := i; k < len(lines); k++ {
		if d += depth(lines[k]); d == 0 {
			return k
		}
	}
	return -1
}

// shrinkParts replaces what stands in parentheses or brackets, and operands of
// commas, colons and assignments, by less.
func shrinkParts(source string, holds func(string) bool) string {
	for i := 0; i < len(source); i++ {
		try := func(end int, with string) bool {
			if end <= i || end > len(source) || source[i:end] == with || len(with) >= end-i {
				return false
			}
			text := source[:i] + with + source[end:]
			if !holds(text) {
				return false
			}
			source = text
			return true
		}
		switch {
		case source[i] == '(' || source[i] == '[':
			end := closing(source, i)
			if end < 0 {
				continue
			}
			try(end, "") // a domain, a list of offsets, a call's arguments
			if i < len(source) && source[i] == '(' && end <= len(source) {
				try(end, "1")
				try(end, "0.5")
			}
		case strings.IndexByte("+-*/%&|<>=?:,.", source[i]) >= 0:
			// An operator with what follows it up to a place where a part ends.
			for _, end := range partEnds(source, i+1) {
				if try(end, "") {
					i--
					break
				}
			}
		case i > 0 && strings.IndexByte("(=?:, ", source[i-1]) >= 0:
			// A part up to such a place becomes one leaf.
			for _, end := range partEnds(source, i) {
				if try(end, "1") || try(end, "0.5") || try(end, "") {
					break
				}
			}
		}
	}
	return source
}

// closing returns the offset after the bracket that closes the one at i.
func closing(s string, i int) int {
	d := 0
	for k := i; k < len(s) && s[k] != '\n'; k++ {
		switch s[k] {
		case '(', '[':
			d++
		case ')', ']':
			if d--; d == 0 {
				return k + 1
			}
		}
	}
	return -1
}

// partEnds returns places after i where a part of an expression may end, the
// furthest first.
func partEnds(s string, i int) []int {
	var ends []int
	d := 0
scan:
	for k := i; k < len(s); k++ {
		switch s[k] {
		case '(', '[':
			d++
		case ')', ']':
			if d == 0 {
				ends = append([]int{k}, ends...)
				break scan
			}
			d--
		case ';', '\n', '{', '}':
			ends = append([]int{k}, ends...)
			break scan
		case ',', '+', '-', '*', '/', '%', '&', '|', '?', ':', '<', '>', '=', ' ':
			if d == 0 && k > i {
				ends = append([]int{k}, ends...)
			}
		}
	}
	return ends[:min(len(ends), 12)]
}
