package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Restrictions are what a user leaves of the spaces of a program's kernels.
type Restrictions []Restriction

// Misfit is a restriction that leaves nothing.
type Misfit struct {
	Restriction
	Err  error  // what the first of the kernels that it is about has against it
	Hint string // what to do about it; may be empty
}

// Error says what is wrong, and where.
func (m *Misfit) Error() string { return fmt.Sprintf("%s %s: %v", m.Where, m.Text, m.Err) }

// Unwrap returns the reason.
func (m *Misfit) Unwrap() error { return m.Err }

// Apply returns what is left of the spaces of a program's kernels. A restriction
// holds for every kernel of which it leaves something; the notes name the others,
// unless they have nothing that it is about. One that leaves nothing of any kernel
// is a Misfit.
func (list Restrictions) Apply(kernels []string, spaces []Space) (left []Space, notes []string, err error) {
	left = slices.Clone(spaces)
	for n, r := range list {
		var first error
		var others []string
		fits := false
		for i, s := range left {
			if r.kernel != "" && r.kernel != kernels[i] {
				continue
			}
			less, err := r.apply(s)
			switch {
			case err == nil:
				left[i], fits = less, true
				continue
			case first == nil:
				first = err
			}
			if r.param == "" || r.param == FamilyName || spaces[i].has(r.param) {
				others = append(others, fmt.Sprintf("%s %s does not hold for %s: %v", r.Where, r.Text, kernels[i], err))
			}
		}
		switch {
		case fits:
			notes = append(notes, others...)
		case first != nil:
			return nil, nil, &Misfit{r, first, r.whyNot(list[:n], spaces)}
		}
	}
	return left, notes, nil
}

// has reports whether some family has a parameter.
func (s Space) has(name string) bool {
	return slices.ContainsFunc(s.Families, func(f Family) bool { return f.Param(name) != nil })
}

// whyNot looks for the reason why a restriction leaves nothing: one before it
// that it contradicts, or numbers in the order of another notation.
func (r Restriction) whyNot(before []Restriction, whole []Space) string {
	leaves := func(list ...Restriction) bool {
		return slices.ContainsFunc(whole, func(s Space) bool {
			for _, r := range list {
				less, err := r.apply(s)
				if err != nil {
					return false
				}
				s = less
			}
			return true
		})
	}
	if leaves(r) {
		for _, b := range before {
			if leaves(b) && !leaves(b, r) {
				return fmt.Sprintf("%s %s leaves nothing of it", b.Where, b.Text)
			}
		}
		return "it leaves nothing together with what comes before it"
	}
	name, values, _ := strings.Cut(r.Text, "=")
	if numbers := strings.Split(values, "x"); len(numbers) > 1 {
		slices.Reverse(numbers)
		text := name + "=" + strings.Join(numbers, "x")
		if turned, err := FixTo(r.Where, text); err == nil && leaves(turned) {
			return fmt.Sprintf("the inner axis comes last: %s", text)
		}
	}
	return ""
}

// Restrictions are what a plan's settings leave of the spaces of kernels: those
// for all kernels of the ones that they fit, and each kernel's of that one.
// Settings that choose between programs, such as local=fused, are no parameters of
// kernels: the caller takes them out.
func (p Plan) Restrictions(where string) Restrictions {
	var list Restrictions
	add := func(kernel string, c Config) {
		settings := c.Values
		if c.Family != "" {
			settings = append([]Setting{{FamilyName, Word(c.Family)}}, settings...)
		}
		for _, set := range settings {
			list = append(list, Restriction{
				Where: where, Kind: FixKind, Text: set.String(), kernel: kernel, param: set.Name,
				apply: func(s Space) (Space, error) { return s.Fix(set.Name, set.Value) },
			})
		}
	}
	add("", p.Every)
	for _, k := range p.Kernels {
		add(k.ID(), k.Config)
	}
	return list
}
