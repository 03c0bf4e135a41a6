package emit

import "strings"

// wrapCommas breaks lines after commas once they are too long. tail ends a
// broken line. Inside quotes none is broken, nor in what follows a remark's mark.
func wrapCommas(text, quote, remark, tail string, width, indent int) string {
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		if len(line) <= width || isRemark(line) {
			continue
		}
		lead := line[:len(line)-len(strings.TrimLeft(line, " "))]
		next := lead + strings.Repeat(" ", indent)
		var b strings.Builder
		col := 0
		for i, part := range splitCommas(line, quote, remark) {
			switch {
			case i == 0:
			case col+1+len(part)+len(tail) > width:
				b.WriteString(tail + "\n" + next)
				col = len(next)
			default:
				b.WriteString(" ")
				col++
			}
			b.WriteString(part)
			col += len(part)
		}
		lines[n] = b.String()
	}
	return strings.Join(lines, "\n")
}

// isRemark reports whether a line is a comment or a directive.
func isRemark(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "//") || strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*") ||
		strings.HasPrefix(line, "#")
}

// splitCommas splits a line after every comma and space outside quotes and
// remarks.
func splitCommas(line, quote, remark string) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch {
		case !quoted && strings.HasPrefix(line[i:], remark):
			return append(parts, line[start:])
		case strings.IndexByte(quote, line[i]) >= 0:
			quoted = !quoted
		case !quoted && line[i] == ',' && i+1 < len(line) && line[i+1] == ' ':
			parts = append(parts, line[start:i+1])
			start = i + 2
		}
	}
	return append(parts, line[start:])
}

func wrapC(text string) string { return wrapCommas(text, `"`, "//", "", lineWidth, 8) }

// wrapFortran keeps lines within the 132 columns of the free form.
func wrapFortran(text string) string { return wrapCommas(text, `"`, "!", " &", 100, 4) }

func wrapPython(text string) string { return wrapCommas(text, `"`, "#", "", 99, 8) }

// wrapComment breaks a text into the lines of a C comment.
func wrapComment(text string) string { return wrapWords(text, "\n *     ") }

// wrapLines breaks a text into the lines of a C++ comment.
func wrapLines(text string) string { return wrapWords(text, "\n// ") }

func wrapWords(text, next string) string {
	var b strings.Builder
	col := 20
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case col+1+len(w) > 90:
			b.WriteString(next)
			col = len(next)
		default:
			b.WriteString(" ")
			col++
		}
		b.WriteString(w)
		col += len(w)
	}
	return b.String()
}
