package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// spaceFlags are the options by which users restrict the spaces of kernels.
type spaceFlags struct {
	Fix         []string `help:"Only configurations that have a parameter, with one of these values (repeatable)." placeholder:"NAME=VALUE|VALUE" sep:"none"`
	Limit       []string `help:"Only configurations in which a parameter, if there is one, is so (repeatable): vec<=4, block<512, load!=plain." placeholder:"LIMIT" sep:"none"`
	Space       string   `help:"Read such restrictions from a file: on each line fix NAME=VALUE|VALUE or limit LIMIT; # begins a comment." placeholder:"FILE"`
	Free        bool     `help:"Also what the source excludes by its #pragma and its storage hints."`
	AnyIntegers bool     `help:"Also values between powers of two."`
}

// restrictions reads the options and the file.
func (f *spaceFlags) restrictions() ([]schedule.Restriction, error) {
	var list []schedule.Restriction
	for _, text := range f.Limit {
		list = append(list, schedule.LimitTo("--limit", text))
	}
	for _, text := range f.Fix {
		r, err := schedule.FixTo("--fix", text)
		if err != nil {
			return nil, usage("%s", err)
		}
		list = append(list, r)
	}
	if f.Space == "" {
		return list, nil
	}
	contents, err := gridio.ReadSmall(f.Space, maxSmall)
	if err != nil {
		return nil, gridio.Named(f.Space, err)
	}
	more, err := schedule.ParseRestrictions(f.Space, string(contents))
	if err != nil {
		return nil, usage("%s", err)
	}
	return append(list, more...), nil
}

// restrict applies the options to all kernels that they fit. One that fits
// none is an error.
func (f *spaceFlags) restrict(choices []lower.Choice) error {
	list, err := f.restrictions()
	if err != nil {
		return err
	}
	whole := make([]schedule.Space, len(choices))
	for i := range choices {
		whole[i] = choices[i].Space
	}
	for n, r := range list {
		var first error
		fits := false
		for i := range choices {
			if less, err := r.Apply(choices[i].Space); err == nil {
				choices[i].Space, fits = less, true
			} else if first == nil {
				first = err
			}
		}
		if !fits && first != nil {
			return usage("%s %s: %s", r.Where, r.Text, first).hintf("%s", whyNot(r, list[:n], whole))
		}
	}
	return nil
}

// whyNot looks for the reason why a restriction leaves nothing: one before it
// that it contradicts, or numbers in the order of another notation.
func whyNot(r schedule.Restriction, before []schedule.Restriction, whole []schedule.Space) string {
	leaves := func(list ...schedule.Restriction) bool {
		return slices.ContainsFunc(whole, func(s schedule.Space) bool {
			for _, r := range list {
				less, err := r.Apply(s)
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
		if turned, err := schedule.FixTo(r.Where, text); err == nil && leaves(turned) {
			return fmt.Sprintf("the inner axis comes last: %s", text)
		}
	}
	return ""
}

// restriction returns what the options leave of any kernel's space.
func (f *spaceFlags) restriction() (func(string, schedule.Space) (schedule.Space, error), error) {
	list, err := f.restrictions()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return func(_ string, s schedule.Space) (schedule.Space, error) {
		for _, r := range list {
			if less, err := r.Apply(s); err == nil {
				s = less
			}
		}
		return s, nil
	}, nil
}
