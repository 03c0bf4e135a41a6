package cli

import (
	"os"

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
	contents, err := os.ReadFile(f.Space)
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
	for _, r := range list {
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
			return usage("%s %s: %s", r.Where, r.Text, first)
		}
	}
	return nil
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
