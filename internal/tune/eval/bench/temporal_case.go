package bench

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// The cases of the suite temporal: a source each, in double.

//go:embed temporal/*.loom temporal/rivals.json
var temporalFiles embed.FS

// TemporalNames returns the cases.
func TemporalNames() []string {
	return []string{
		"star5", "box9", "star9", "box25", "star7", "star13", "poisson19", "box27",
		"star5-axes", "star9-axes", "star7-axes", "star13-axes", "wave", "grayscott",
	}
}

// boundaries are what grids may have at all their ends, with the source's word for it. None
// leaves the cells there as they are.
var boundaries = map[string]string{
	"none": "", "clamp": "clamp", "periodic": "periodic", "mirror": "mirror", "reflect": "reflect",
	"constant": "constant(0.25)",
}

// TemporalBoundaries returns the boundaries that cases may have.
func TemporalBoundaries() []string {
	return []string{"none", "clamp", "periodic", "mirror", "reflect", "constant"}
}

// temporalCase is a case in one type with one boundary.
type temporalCase struct{ name, dtype, boundary string }

func (c temporalCase) String() string {
	if c.boundary == "none" {
		return c.name + " " + c.dtype
	}
	return c.name + " " + c.dtype + " " + c.boundary
}

// source returns the case's program. The boundary is that of all grids that are copied in.
func (c temporalCase) source() (*diag.Source, error) {
	file, err := temporalFiles.ReadFile("temporal/" + c.name + ".loom")
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(file), "double", c.dtype)
	word, known := boundaries[c.boundary]
	if !known {
		return nil, fmt.Errorf("the boundaries are %s, not %q", strings.Join(TemporalBoundaries(), ", "), c.boundary)
	}
	if word != "" {
		const mark = "\ncopyin "
		head, rest, found := strings.Cut(text, mark)
		grids, _, ends := strings.Cut(rest, ";")
		if !found || !ends {
			return nil, fmt.Errorf("%s.loom copies no grids in", c.name)
		}
		text = head + "\nboundary " + grids + " : " + word + ";" + mark + rest
	}
	return diag.NewSource(c.name+".loom", text), nil
}

// bind gives the case's program sizes. N alone is the size of every axis. The loop is long:
// it is stopped.
func (c temporalCase) bind(set map[string]string) (*ir.Binding, error) {
	p, sizes, err := c.sized(set, 1_000_000_000)
	if err != nil {
		return nil, err
	}
	return bindTo(p, sizes)
}

// sized returns the case's program, and the values of its sizes for so many iterations.
func (c temporalCase) sized(set map[string]string, iterations int64) (*ir.Program, map[string]string, error) {
	src, err := c.source()
	if err != nil {
		return nil, nil, err
	}
	p, list := lang.Load(src)
	if list.HasErrors() {
		return nil, nil, errors.New(diag.Render(src, list, diag.Style{}))
	}
	sizes := map[string]string{steps: strconv.FormatInt(iterations, 10)}
	n, square := set["N"]
	for _, q := range p.Params {
		if value, ok := set[q.Name]; ok && q.Name != steps {
			sizes[q.Name] = value
		} else if square && q.Name != steps {
			sizes[q.Name] = n
		}
	}
	for name := range set {
		if _, ok := sizes[name]; !ok || name == steps {
			return nil, nil, fmt.Errorf("%s has no size %s", c.name, name)
		}
	}
	return p.In(arith.Contract), sizes, nil
}

// steps is the parameter that says how many iterations there are.
const steps = "T"

// gridSizes returns what sets the sizes of a program to a grid as rows have it: "509x511x521".
func gridSizes(grid string) (map[string]string, error) {
	names, parts := []string{"L", "M", "N"}, strings.Split(grid, "x")
	set := map[string]string{}
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err != nil || len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("a grid is 16384x16384 or 512x512x512, not %q", grid)
		}
		set[names[len(names)-len(parts)+i]] = part
	}
	return set, nil
}

// loopFacts returns what an iteration does at a point.
func loopFacts(b *ir.Binding) *analysis.LoopFacts {
	loops := analysis.Analyze(b.Program, b).Loops
	at := slices.IndexFunc(loops, func(l *analysis.LoopFacts) bool { return l.IR != nil && !l.IR.Sequence })
	return loops[at]
}
