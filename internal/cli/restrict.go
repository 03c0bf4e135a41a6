package cli

import (
	"errors"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// spaceFlags are the options by which users restrict the spaces of kernels.
type spaceFlags struct {
	Fix         []string `help:"Only configurations that have a parameter, with one of these values (repeatable)." placeholder:"NAME=VALUE|VALUE" sep:"none"`
	Limit       []string `help:"Only configurations in which a parameter, if there is one, is so (repeatable): vec<=4, block<512, load!=plain." placeholder:"LIMIT" sep:"none"`
	Space       string   `help:"Read such restrictions from a file: on each line fix NAME=VALUE|VALUE or limit LIMIT; # begins a comment. zhang-mueller is a file that comes with gridloom, and search show prints it." placeholder:"FILE"`
	Free        bool     `help:"Also what the source excludes by its #pragma and its storage hints."`
	AnyIntegers bool     `help:"Also values between powers of two."`
}

// restrictions reads the options and the file.
func (f *spaceFlags) restrictions() (schedule.Restrictions, error) {
	var list schedule.Restrictions
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
	text, ok := search.SpaceFile(f.Space)
	if !ok {
		contents, err := gridio.ReadSmall(f.Space, maxSmall)
		if err != nil {
			return nil, gridio.Named(f.Space, err)
		}
		text = string(contents)
	}
	more, err := schedule.ParseRestrictions(f.Space, text)
	if err != nil {
		return nil, usage("%s", err)
	}
	return append(list, more...), nil
}

// restrict leaves of the kernels' spaces what a plan keeps and the options ask for.
// The notes name what does not hold for some kernel; what holds for none is an error.
func (f *spaceFlags) restrict(plan schedule.Plan, choices []lower.Choice) (notes []string, err error) {
	list, err := f.restrictions()
	if err != nil {
		return nil, err
	}
	var names []string
	var spaces []schedule.Space
	for _, c := range choices {
		names, spaces = append(names, c.ID()), append(spaces, c.Space)
	}
	spaces, notes, err = append(lower.OfKernels(plan).Restrictions("--plan"), list...).Apply(names, spaces)
	if err != nil {
		return nil, misfit(err)
	}
	for i := range choices {
		choices[i].Space = spaces[i]
	}
	return notes, nil
}

// misfit words a restriction that leaves nothing as an error of usage.
func misfit(err error) error {
	if m, ok := errors.AsType[*schedule.Misfit](err); ok {
		return usage("%s", m).hintf("%s", m.Hint)
	}
	return err
}
