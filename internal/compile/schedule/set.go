package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Members returns the numbers of the statements, or of the calls and rotations of a loop, that the kernel has.
func (k Kernel) Members() []int {
	var list []int
	for n := k.From; n < k.To; n++ {
		if !slices.Contains(k.Gaps, n) {
			list = append(list, n)
		}
	}
	return list
}

// Having returns the kernel with other statements, or calls and rotations of its loop: those of the numbers, which
// ascend.
func (k Kernel) Having(members []int) Kernel {
	k.From, k.To, k.Gaps = members[0], members[len(members)-1]+1, nil
	for n := k.From; n < k.To; n++ {
		if !slices.Contains(members, n) {
			k.Gaps = append(k.Gaps, n)
		}
	}
	return k
}

// SetText returns the text of a set of ascending numbers, as kernels of plans have it.
func SetText(members []int) string {
	k := Kernel{}.Having(members)
	return setText(k.From, k.To, k.Gaps)
}

// setText returns a set as text: from:to without gaps, and otherwise its ranges and single numbers, such as 0:2,4.
func setText(from, to int, gaps []int) string {
	if len(gaps) == 0 {
		return fmt.Sprintf("%d:%d", from, to)
	}
	var parts []string
	for n := from; n < to; n++ {
		first := n
		for n < to && !slices.Contains(gaps, n) {
			n++
		}
		switch n - first {
		case 0:
		case 1:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, fmt.Sprintf("%d:%d", first, n))
		}
	}
	return strings.Join(parts, ",")
}

// errNoSet says that a text is no set at all.
var errNoSet = errors.New("is no set")

// parseSet sets the statements of a kernel to those of a text as setText writes it, in any order.
func (k *Kernel) parseSet(text string) error {
	var members []int
	parts := strings.Split(text, ",")
	for _, part := range parts {
		from, to, err := parseRange(part)
		switch {
		case err != nil:
			return err
		case len(parts) == 1:
			k.From, k.To = from, to
			return nil
		case to > mostMembers:
			return fmt.Errorf("names statement %d: sets are of the first %d at most", to-1, mostMembers)
		}
		for n := from; n < to; n++ {
			if slices.Contains(members, n) {
				return fmt.Errorf("names %d twice: name each statement once", n)
			}
			members = append(members, n)
		}
	}
	slices.Sort(members)
	*k = k.Having(members)
	return nil
}

// parseRange reads from:to, or a single number.
func parseRange(text string) (from, to int, err error) {
	low, high, isRange := strings.Cut(text, ":")
	from, ok := parseNumber(low)
	if to = from + 1; isRange && ok {
		to, ok = parseNumber(high)
	}
	switch {
	case !ok:
		return 0, 0, errNoSet
	case from < 0 || to <= from:
		return 0, 0, fmt.Errorf("holds no statement: it means the statements from %d to before %d", from, to)
	}
	return from, to, nil
}

// mostMembers bounds the numbers of a set with gaps: a kernel has fewer statements.
const mostMembers = 4096

// parseNumber reads a number as strconv writes it.
func parseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && strconv.Itoa(n) == text
}
