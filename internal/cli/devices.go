package cli

import (
	"fmt"
	"os"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/ref"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

type devicesCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *devicesCmd) Run(a *app) error {
	var list []device.Info
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return trouble(err)
	}
	defer cache.Close()
	compiler, err := toolchain.Find(a.ctx, os.Getenv, cache)
	list = append(list, cpu.Describe(compiler, err), ref.Describe())
	if c.JSON {
		return a.printJSON(list)
	}
	for _, d := range list {
		fmt.Fprintf(a.stdout, "%-5s %s\n", d.ID, d.Name)
		if d.Unusable != "" {
			fmt.Fprintf(a.stdout, "      cannot be used: %s\n", d.Unusable)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(a.stdout, "      %s\n", n)
		}
	}
	return nil
}
