package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Commit names the source, where the build sets it:
//
//	go build -ldflags "-X github.com/gridloom/gridloom/internal/cli.Commit=$(git rev-parse --short=12 HEAD)"
var Commit string

// Version is the release that this source is on its way to.
const Version = "0.2.0-dev"

type versionCmd struct {
	JSON bool `name:"json" help:"Print as JSON."`
}

func (c *versionCmd) Help() string {
	return `Examples:

	gridloom version
	gridloom version --json`
}

func (c *versionCmd) Run(a *app) error {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Go       string `json:"go"`
		System   string `json:"system"`
	}{Version, revision(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if c.JSON {
		return a.printJSON(v)
	}
	fmt.Fprintf(a.stdout, "gridloom %s", v.Version)
	if v.Revision != "" {
		fmt.Fprintf(a.stdout, " (%s)", v.Revision)
	}
	fmt.Fprintf(a.stdout, ", %s, %s\n", v.Go, v.System)
	return nil
}

// revision returns the commit that the binary was built from, if Go noted it.
func revision() string {
	if Commit != "" {
		return Commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
