package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// checkpoint saves and restores the state of a run.
type checkpoint struct {
	path  string
	now   stateManifest
	bound *ir.Binding
}

// stateManifest describes a saved state: what was run, and where it stood.
type stateManifest struct {
	Format     int        `json:"format"`
	Program    string     `json:"program"`
	Source     string     `json:"source_sha256"`
	Sizes      []int64    `json:"sizes"`
	Scalars    []string   `json:"scalars"`
	Device     string     `json:"device"`
	FP         string     `json:"fp"`
	Iterations int64      `json:"iterations"`
	Place      exec.Place `json:"place"`
}

const stateFormat = 1

func newCheckpoint(c *runCmd, p *ir.Program, b *ir.Binding, source string) *checkpoint {
	sum := sha256.Sum256([]byte(source))
	ck := &checkpoint{path: c.State, bound: b, now: stateManifest{
		Format: stateFormat, Program: p.Name, Source: hex.EncodeToString(sum[:]), Sizes: b.Params, Device: c.Device, FP: c.FP,
	}}
	for i, s := range p.Scalars {
		if !s.Reduced {
			ck.now.Scalars = append(ck.now.Scalars, s.Name+"="+b.Scalars[i].String())
		}
	}
	if ck.path == "" {
		ck.path = p.Name + ".ckpt"
	}
	return ck
}

// save writes the state as it is now; an older state of that name is replaced
// once the new one is complete.
func (c *checkpoint) save(r exec.Runner, iterations int64) error {
	c.now.Iterations, c.now.Place = iterations, r.Place()
	var fields []gridio.Field
	for _, g := range c.bound.Program.Grids {
		cells, err := r.Grid(g.Name)
		if err != nil {
			return err
		}
		fields = append(fields, gridio.Field{Name: g.Name, Array: &gridio.Array{Type: g.Type, Shape: c.bound.Shape(g.Dims), Data: cells}})
	}
	return gridio.WriteArchive(c.path, &c.now, fields)
}

// restore puts a runner into a saved state and returns its iterations.
func (c *checkpoint) restore(r exec.Runner, path string) (int64, error) {
	var was stateManifest
	a, err := gridio.OpenArchive(path, &was)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	switch {
	case was.Format != stateFormat:
		return 0, fmt.Errorf("%s: a saved state of format %d, and this program reads format %d", path, was.Format, stateFormat)
	case was.Source != c.now.Source:
		return 0, usage("--resume %s: the state is of another program, or the source of %s has changed", path, was.Program)
	case !slices.Equal(was.Sizes, c.now.Sizes):
		return 0, usage("--resume %s: the state was saved with other sizes: %s", path, c.sizes(was.Sizes))
	case !slices.Equal(was.Scalars, c.now.Scalars):
		return 0, usage("--resume %s: the state was saved with other values: %v", path, was.Scalars)
	case was.FP != c.now.FP:
		return 0, usage("--resume %s: the state was saved with --fp %s", path, was.FP)
	}
	if err := r.Restore(was.Place); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	for _, g := range c.bound.Program.Grids {
		cells, err := r.Grid(g.Name)
		if err != nil {
			return 0, err
		}
		if err := a.ReadInto(gridio.Want{Grid: g.Name, Type: g.Type, Shape: c.bound.Shape(g.Dims)}, cells); err != nil {
			return 0, err
		}
	}
	return was.Iterations, nil
}

func (c *checkpoint) sizes(values []int64) string {
	text := ""
	for i, q := range c.bound.Program.Params {
		if i < len(values) {
			text += fmt.Sprintf(" %s=%d", q.Name, values[i])
		}
	}
	return text
}
