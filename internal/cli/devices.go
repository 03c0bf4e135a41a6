package cli

import "github.com/gridloom/gridloom/internal/engine"

type devicesCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *devicesCmd) Help() string {
	return `What --device of other commands takes stands first; then what the device is, its limits and
the state that it is in, how its code is compiled, and why it cannot be used if it cannot.

Examples:

	gridloom devices
	CC=clang gridloom devices --json`
}

// deviceResult is a device as --json prints it.
type deviceResult struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Threads  int      `json:"threads,omitempty"`
	Memory   int64    `json:"memory_bytes,omitempty"`
	Usable   bool     `json:"usable"`
	Unusable string   `json:"unusable,omitempty"` // why
	Notes    []string `json:"notes,omitempty"`

	Figures map[string]int64 `json:"figures,omitempty"` // limits and state
}

func (c *devicesCmd) Run(a *app) error {
	list, err := engine.Describe(a.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		out := []deviceResult{}
		for _, d := range list {
			figures := map[string]int64{}
			for _, f := range d.Figures {
				figures[f.Name] = f.Value
			}
			out = append(out, deviceResult{
				d.ID, d.Name, d.Threads, d.Memory, d.Unusable == "", d.Unusable, d.Notes, figures,
			})
		}
		return a.printJSON(out)
	}
	a.row("%-9s %s", "--device", "what it is")
	for _, d := range list {
		a.row("%-9s %s", d.ID, d.Name)
		if d.Unusable != "" {
			a.row("          cannot be used: %s", d.Unusable)
		}
		for _, n := range d.Notes {
			a.row("          %s", n)
		}
	}
	return nil
}
