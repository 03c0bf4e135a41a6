package kernel

import (
	"strconv"
	"strings"
)

// names are those that are taken where a pass stands.
type names struct {
	taken map[string]bool
	next  map[string]int // by a name without its number: numbers from 2 to below this are taken
}

func newNames() *names { return &names{taken: map[string]bool{}, next: map[string]int{}} }

// take takes base if it is free, else the first free one of base_2, base_3, ..., and returns it. For a base of that
// form it counts on. Numbers below next are not tried anew, since a long list of statements may take a thousand.
func (n *names) take(base string) string {
	name := base
	if n.taken[base] {
		root, number := numbered(base)
		next := max(n.next[root], 2)
		for n.taken[withNumber(root, next)] {
			next++
		}
		n.next[root] = next
		number = max(number+1, next)
		for name = withNumber(root, number); n.taken[name]; name = withNumber(root, number) {
			number++
		}
	}
	n.taken[name] = true
	return name
}

// release makes a name free.
func (n *names) release(name string) {
	delete(n.taken, name)
	if root, number := numbered(name); number > 1 && number < n.next[root] {
		n.next[root] = number
	}
}

// numbered takes a name like base_2 apart. The number of another is 1.
func numbered(name string) (root string, number int) {
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 1 {
			return name[:i], n
		}
	}
	return name, 1
}

func withNumber(root string, number int) string { return root + "_" + strconv.Itoa(number) }
