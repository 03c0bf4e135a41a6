package search

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Specification files and hierarchies of users may name parameters in former
// spellings. A name of today comes first: spaces of other programs have parameters
// that are called as Gridloom's once were.

// named returns the number of a parameter by its name, or by one that it had; -1 if
// there is none.
func named(params []Param, name string) int {
	if i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name }); i >= 0 {
		return i
	}
	now, _ := schedule.Respell(name, "")
	return slices.IndexFunc(params, func(p Param) bool { return p.Name == now })
}

// fits reports whether a pattern fits a parameter: its name, what the whole is called
// that it is a part of, or a name that it had.
func (p *Param) fits(pattern, whole string) bool {
	return glob(pattern, p.Name) || glob(pattern, whole) ||
		slices.ContainsFunc(schedule.FormerNames(p.Of), func(name string) bool { return glob(pattern, name) })
}

// byFirstName orders parameters by the names that they first had, so that a seed means
// the same search in every spelling.
func byFirstName(a, b string) int {
	first := func(name string) string { return append(schedule.FormerNames(name), name)[0] }
	return strings.Compare(first(a), first(b))
}

// word returns the number of the value that is a word, or was spelled so; -1 if there
// is none.
func (p *Param) word(text string) int {
	at := func(text string) int {
		return slices.IndexFunc(p.Values, func(v schedule.Value) bool { return !v.IsNumber() && v.String() == text })
	}
	if i := at(text); i >= 0 {
		return i
	}
	return at(schedule.RespellValue(p.Of, text))
}
