package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/search"
)

type searchEval struct {
	Space      []string `required:"" help:"A recorded space: a cache of Kernel Tuner, T4 results or CSV, as it is or compressed by gzip (repeatable)." placeholder:"FILE" sep:"none"`
	Definition string   `help:"The definition of the spaces in the T1 format, for defaults; recordings are held to its conditions." placeholder:"FILE.json"`
	Strategy   []string `help:"A strategy that gridloom search list names, or all (repeatable). Default: auto." placeholder:"NAME" sep:"none"`
	Seeds      int      `default:"50" help:"How many searches, with seeds from 1. Default: 50." placeholder:"N"`
	OwnTime    bool     `default:"true" negatable:"" help:"Count the strategy's own processor time, too; without it, results are the same on every machine. Default: yes."`
	JSON       bool     `name:"json" help:"Print as JSON."`
	Out        string   `help:"Also write the JSON to a file." placeholder:"FILE.json"`
}

func (c *searchEval) Help() string {
	return `Every configuration takes what it took when it was recorded. The score is that of Willemsen et al. 2024: 0 is random search, 1 is having the optimum at once. With several spaces the last row is the mean.

Examples:

	gridloom search eval --space convolution_milo_A4000.json.gz
	gridloom search eval --space convolution_milo_A4000.json.gz --strategy all --seeds 10
	gridloom search eval --space a.json.gz --space b.json.gz --json --out score.json`
}

// defaultStrategy is what a search uses unless told otherwise.
const defaultStrategy = "auto"

// everyStrategy stands for all of them.
const everyStrategy = "all"

// scoreRow is one score. Space is meanOfSpaces in the row over all spaces.
type scoreRow struct {
	Strategy string  `json:"strategy"`
	Space    string  `json:"space"`
	Score    float64 `json:"score"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Seeds    int     `json:"seeds"`
	Trials   float64 `json:"trials"`      // of a search, on average
	Own      float64 `json:"own_seconds"` // that the strategy took of a search, on average
}

const meanOfSpaces = "mean"

func (c *searchEval) Run(a *app) error {
	if c.Seeds < 1 {
		return usage("--seeds %d: at least one search is needed", c.Seeds)
	}
	if c.Out != "" {
		if err := gridio.CheckFile(c.Out); err != nil {
			return err
		}
	}
	spaces, err := c.spaces(a)
	if err != nil {
		return err
	}
	names, err := c.strategies(a, replay.NewSpace(spaces[0]))
	if err != nil {
		return err
	}
	rows, err := c.score(a, names, spaces)
	if err != nil {
		return err
	}
	if c.Out != "" {
		err := gridio.WriteFile(c.Out, func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(rows)
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(rows)
	}
	return printScores(a, rows)
}

// strategies returns the names to score; they are tried on a space.
func (c *searchEval) strategies(a *app, space search.Space) ([]string, error) {
	if len(c.Strategy) == 0 {
		return []string{defaultStrategy}, nil
	}
	var names []string
	for _, s := range c.Strategy {
		if s != everyStrategy {
			if _, err := search.New(s, search.Problem{Space: space}); err != nil {
				return nil, usage("--strategy %s: %v", s, err)
			}
			names = append(names, s)
			continue
		}
		for _, info := range search.Names() {
			if _, err := search.New(info.Name, search.Problem{Space: space}); err != nil {
				fmt.Fprintf(a.stderr, "gridloom: %s is left out: %v\n", info.Name, err)
				continue
			}
			names = append(names, info.Name)
		}
	}
	return names, nil
}

// spaces reads the recordings, and says what there is in them.
func (c *searchEval) spaces(a *app) ([]*replay.Recording, error) {
	var definition *replay.Definition
	if c.Definition != "" {
		var err error
		if definition, err = replay.ReadDefinitionFile(c.Definition); err != nil {
			return nil, err
		}
	}
	var list []*replay.Recording
	for _, file := range c.Space {
		r, err := replay.ReadFile(file, definition)
		if err != nil {
			return nil, err
		}
		for _, note := range r.Notes {
			fmt.Fprintf(a.stderr, "gridloom: %s: %s\n", file, note)
		}
		y, err := replay.NewBaseline(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if slices.ContainsFunc(list, func(o *replay.Recording) bool { return o.Name == r.Name }) {
			return nil, usage("--space %s: two spaces are called %s", file, r.Name)
		}
		fmt.Fprintf(a.stderr, "%s: %d configurations, %d of them valid; the best takes %.4g ms, the median %.4g ms; "+
			"random search comes within 5 %% of the way after %d evaluations, %.0f s\n",
			r.Name, len(r.Trials), r.Valid(), 1e3*y.Best(), 1e3*y.Median(), y.Evaluations(0.95), y.Time(0.95))
		list = append(list, r)
	}
	return list, nil
}

func (c *searchEval) score(a *app, names []string, spaces []*replay.Recording) ([]scoreRow, error) {
	o := replay.Options{Seeds: c.Seeds}
	if c.OwnTime {
		o.Clock = replay.ThreadClock
	}
	var rows []scoreRow
	for _, name := range names {
		add := func(space string, s *replay.Score) {
			rows = append(rows, scoreRow{
				Strategy: name, Space: space, Seeds: c.Seeds,
				Score: thousandths(s.Score), Low: thousandths(s.Low), High: thousandths(s.High),
				Trials: math.Round(10*s.Trials) / 10, Own: thousandths(s.Own),
			})
		}
		make := func(p search.Problem) (search.Strategy, error) { return search.New(name, p) }
		var scores []*replay.Score
		for _, r := range spaces {
			s, err := replay.Evaluate(a.ctx, r, make, o)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", name, r.Name, err)
			}
			scores = append(scores, s)
			add(r.Name, s)
		}
		if len(spaces) > 1 {
			add(meanOfSpaces, replay.Mean(scores))
		}
	}
	return rows, nil
}

func thousandths(x float64) float64 { return math.Round(1000*x) / 1000 }

func printScores(a *app, rows []scoreRow) error {
	t := newTable(a, column{head: "strategy"}, column{head: "space"},
		column{head: "score", right: true}, column{head: "95 % interval", right: true},
		column{head: "seeds", right: true}, column{head: "trials", right: true}, column{head: "own time", right: true})
	for _, r := range rows {
		err := t.row(r.Strategy, r.Space, fmt.Sprintf("%.3f", r.Score), fmt.Sprintf("%.3f to %.3f", r.Low, r.High),
			fmt.Sprint(r.Seeds), fmt.Sprintf("%.1f", r.Trials), fmt.Sprintf("%.3f s", r.Own))
		if err != nil {
			return err
		}
	}
	return t.end()
}
