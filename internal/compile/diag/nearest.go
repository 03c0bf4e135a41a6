package diag

import "strings"

// Nearest returns the candidate that name is most likely a misspelling of, or
// "" if none is near enough. Of equally near ones it takes the first.
func Nearest(name string, candidates []string) string {
	limit := max(1, len(name)/3)
	best, found := limit+1, ""
	for _, c := range candidates {
		if c == "" || c == name {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(c), best)
		// A name of one or two letters has no letter to spare: any other
		// short name would be near.
		if d >= min(len(name), len(c)) && d > 0 {
			continue
		}
		if d < best {
			best, found = d, c
		}
	}
	return found
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b; it may stop at limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
