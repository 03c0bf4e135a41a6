package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// checkpoint saves and restores the state of a run.
type checkpoint struct {
	path  string
	now   stateManifest
	bound *ir.Binding
	saved bool // in this run
}

// stateManifest describes a saved state: what was run, and where it stood.
type stateManifest struct {
	Format     int        `json:"format"`
	Program    string     `json:"program"`
	Meaning    string     `json:"meaning_sha256"` // of the checked program's text form
	Sizes      []string   `json:"sizes"`
	Scalars    []string   `json:"scalars"`
	Device     string     `json:"device"`
	FP         string     `json:"fp"`
	Arithmetic int        `json:"arithmetic"` // arith.Version
	Iterations int64      `json:"iterations"`
	Place      exec.Place `json:"place"`
}

// stateFormat counts the forms of the manifest. The first does not say under which
// version of the arithmetic a state was computed: that was the first. Whoever reads
// that form alone must not go on from later states.
const stateFormat = 2

// newCheckpoint checks that states can be saved, if there are to be any.
func newCheckpoint(c *runCmd, device string, b *ir.Binding) (*checkpoint, error) {
	p := b.Program
	ck := &checkpoint{path: c.State, bound: b, now: stateManifest{
		Format: stateFormat, Program: p.Name, Meaning: engine.Meaning(p),
		Device: device, FP: c.FP, Arithmetic: arith.Version,
		Sizes: []string{}, Scalars: []string{},
	}}
	for i, q := range p.Params {
		ck.now.Sizes = append(ck.now.Sizes, fmt.Sprintf("%s=%d", q.Name, b.Params[i]))
	}
	for i, s := range p.Scalars {
		if !s.Reduced {
			ck.now.Scalars = append(ck.now.Scalars, s.Name+"="+b.Scalars[i].String())
		}
	}
	if ck.path == "" {
		ck.path = p.Name + ".ckpt"
	}
	if c.Checkpoint == 0 {
		return ck, nil
	}
	return ck, gridio.CheckFile(ck.path)
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
		array := &gridio.Array{Type: g.Type, Shape: c.bound.Shape(g.Dims), Data: cells}
		fields = append(fields, gridio.Field{Name: g.Name, Array: array})
	}
	err := gridio.WriteArchive(c.path, &c.now, fields)
	c.saved = c.saved || err == nil
	return err
}

// open opens a saved state and refuses one that another run has left.
func (c *checkpoint) open(path string) (*gridio.Archive, stateManifest, error) {
	var was stateManifest
	a, err := gridio.OpenArchive(path, &was)
	if err != nil {
		return nil, was, err
	}
	if err := c.fits(path, was); err != nil {
		a.Close()
		return nil, was, err
	}
	return a, was, nil
}

// restore puts a runner into a saved state and returns its description.
func (c *checkpoint) restore(r exec.Runner, path string) (stateManifest, error) {
	a, was, err := c.open(path)
	if err != nil {
		return was, err
	}
	defer a.Close()
	if err := r.Restore(was.Place); err != nil {
		return was, failf(exitDevice, "%s: %w", path, err)
	}
	for _, g := range c.bound.Program.Grids {
		cells, err := r.Grid(g.Name)
		if err != nil {
			return was, err
		}
		if err := a.ReadInto(gridio.Want{Grid: g.Name, Type: g.Type, Shape: c.bound.Shape(g.Dims)}, cells); err != nil {
			return was, err
		}
	}
	return was, nil
}

func (c *checkpoint) fits(path string, was stateManifest) error {
	switch {
	case was.Format == 0:
		return failf(exitDevice, "%s: it is an archive, but no checkpoint", path)
	case was.Format < 1 || was.Format > stateFormat:
		return failf(exitDevice, "%s: a checkpoint of format %d, and this program reads formats up to %d",
			path, was.Format, stateFormat)
	case was.Arithmetic != c.now.Arithmetic:
		return usage("--resume %s: the state was computed under arithmetic %d, and this Gridloom has arithmetic %d, "+
			"under which it would not go on to the same bits", path, max(was.Arithmetic, 1), c.now.Arithmetic).
			hintf("begin anew, or go on with the Gridloom that saved it")
	case was.Meaning != c.now.Meaning:
		return usage("--resume %s: the state is of another program, or the source of %s has changed", path, was.Program)
	case !slices.Equal(was.Sizes, c.now.Sizes):
		return usage("--resume %s: the state has the sizes %s, and this run %s",
			path, strings.Join(was.Sizes, " "), strings.Join(c.now.Sizes, " "))
	case !slices.Equal(was.Scalars, c.now.Scalars):
		return usage("--resume %s: the state has the values %s, and this run %s",
			path, strings.Join(was.Scalars, " "), strings.Join(c.now.Scalars, " "))
	case was.FP != c.now.FP:
		return usage("--resume %s: the state was saved with --fp %s", path, was.FP).hintf("use the same")
	}
	return nil
}
