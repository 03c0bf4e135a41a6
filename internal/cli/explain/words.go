package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// list joins names, or says what there is instead.
func list(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ")
}

func plural(n int, noun string) string { return plural64(int64(n), noun) }

func plural64(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// count prints a number of things that may be a fraction.
func count(n float64, noun string, plural ...string) string {
	switch {
	case n == 1:
	case len(plural) > 0:
		noun = plural[0]
	default:
		noun += "s"
	}
	return number(n) + " " + noun
}

// number prints four significant digits, and all digits before the point.
func number(x float64) string {
	if x >= 1000 {
		x = math.Round(x)
	}
	if x == float64(int64(x)) {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func product(shape []int) string {
	var parts []string
	for _, n := range shape {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, " x ")
}

func size(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	unit, x := 0, float64(bytes)
	for ; x >= 999.5 && unit < 5; unit++ {
		x /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + " " + "kMGTP"[unit-1:unit] + "B"
}

func seconds(s float64) string {
	switch {
	case s >= 1:
		return strconv.FormatFloat(s, 'g', 4, 64) + " s"
	case s >= 1e-3:
		return strconv.FormatFloat(s*1e3, 'g', 4, 64) + " ms"
	}
	if s < 1e-6 {
		return strconv.FormatFloat(s*1e9, 'g', 4, 64) + " ns"
	}
	return strconv.FormatFloat(s*1e6, 'g', 4, 64) + " us"
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-3]) + "..."
}

// table is text in columns. Columns that hold nothing are left out, and the
// last column is clipped to the terminal.
type table struct {
	heads []string
	right []int // columns of numbers
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (e *explainer) table(t *table) {
	const limit = 100
	width := make([]int, len(t.heads))
	for c := range t.heads {
		used := false
		for _, row := range t.rows {
			used = used || row[c] != ""
			width[c] = max(width[c], utf8.RuneCountInString(row[c]))
		}
		if used {
			width[c] = max(width[c], utf8.RuneCountInString(t.heads[c]))
		}
	}
	right := make([]bool, len(t.heads))
	for _, c := range t.right {
		right[c] = true
	}
	for _, row := range append([][]string{t.heads}, t.rows...) {
		line := ""
		for c, text := range row {
			if width[c] == 0 {
				continue
			}
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(text))
			if right[c] {
				text = pad + text
			} else {
				text += pad
			}
			line += "  " + text
		}
		e.printf("%s\n", clip(strings.TrimRight(line, " "), limit))
	}
}
