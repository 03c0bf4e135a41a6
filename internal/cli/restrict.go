package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// spaceFlags are the options by which users restrict the spaces of kernels.
type spaceFlags struct {
	Fix   []string `help:"Only configurations that have a parameter, with one of these values (repeatable)." placeholder:"NAME=VALUE|VALUE" sep:"none"`
	Limit []string `help:"Only configurations in which a parameter, if there is one, is so (repeatable): vec<=4, block<512, load!=plain." placeholder:"LIMIT" sep:"none"`
	Space string   `help:"Read such restrictions from a file: on each line fix NAME=VALUE|VALUE or limit LIMIT; # begins a comment." placeholder:"FILE"`
	Free  bool     `help:"Also what the source excludes by its #pragma and its storage hints."`
}

// restriction is one of them.
type restriction struct {
	where string // "--limit", or "space.txt:3: limit"
	text  string
	apply func(schedule.Space) (schedule.Space, error)
}

// restrictions reads the options and the file.
func (f *spaceFlags) restrictions() ([]restriction, error) {
	var list []restriction
	for _, text := range f.Limit {
		list = append(list, limitTo("--limit", text))
	}
	for _, text := range f.Fix {
		r, err := fixTo("--fix", text)
		if err != nil {
			return nil, err
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
	more, err := spaceFile(f.Space, string(contents))
	return append(list, more...), err
}

// spaceFile reads the lines of a file of restrictions.
func spaceFile(name, contents string) ([]restriction, error) {
	var list []restriction
	number := 0
	for line := range strings.Lines(contents) {
		number++
		line, _, _ = strings.Cut(line, "#")
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		where := name + ":" + strconv.Itoa(number) + ": " + word
		switch word {
		case "":
		case "limit":
			list = append(list, limitTo(where, rest))
		case "fix":
			r, err := fixTo(where, rest)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		default:
			return nil, usage("%s:%d: a line begins with fix or limit, not with %s", name, number, word)
		}
	}
	return list, nil
}

func limitTo(where, text string) restriction {
	return restriction{where, text, func(s schedule.Space) (schedule.Space, error) { return s.Limit(text) }}
}

func fixTo(where, text string) (restriction, error) {
	name, list, found := strings.Cut(text, "=")
	var values []schedule.Value
	for part := range strings.SplitSeq(list, "|") {
		v, err := schedule.ParseValue(part)
		if !found || err != nil {
			return restriction{}, usage("%s %s: write NAME=VALUE, or NAME=VALUE|VALUE", where, text)
		}
		values = append(values, v)
	}
	return restriction{where, text, func(s schedule.Space) (schedule.Space, error) { return s.Fix(name, values...) }}, nil
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
			if less, err := r.apply(choices[i].Space); err == nil {
				choices[i].Space, fits = less, true
			} else if first == nil {
				first = err
			}
		}
		if !fits && first != nil {
			return usage("%s %s: %s", r.where, r.text, first)
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
			if less, err := r.apply(s); err == nil {
				s = less
			}
		}
		return s, nil
	}, nil
}
