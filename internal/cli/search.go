package cli

import (
	"github.com/gridloom/gridloom/internal/tune/search"
)

type searchCmd struct {
	Eval searchEval `cmd:"" help:"Score strategies on recorded spaces."`
	List searchList `cmd:"" help:"List the strategies."`
	Show searchShow `cmd:"" help:"Print a strategy that is a heuristic specification file."`
}

func (c *searchCmd) Help() string {
	return `Examples:

	gridloom search list
	gridloom search eval --space convolution_milo_A4000.json.gz`
}

type searchList struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *searchList) Help() string {
	return `Examples:

	gridloom search list
	gridloom search list --json`
}

// strategyRow describes a strategy.
type strategyRow struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Argument string `json:"argument,omitempty"`
}

func (c *searchList) Run(a *app) error {
	var rows []strategyRow
	for _, s := range search.Names() {
		rows = append(rows, strategyRow{s.Name, s.Doc, s.Arg})
	}
	if c.JSON {
		return a.printJSON(rows)
	}
	t := newTable(a, column{head: "strategy"}, column{head: "how it searches"})
	for _, r := range rows {
		name := r.Name
		if r.Argument != "" {
			name += "[:ARG]"
			r.Doc += "; ARG is " + r.Argument
		}
		if err := t.row(name, r.Doc); err != nil {
			return err
		}
	}
	return t.end()
}
