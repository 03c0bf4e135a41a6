package contest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Subject is a program with its sizes, and the part of its space that is
// recorded.
type Subject struct {
	Program, DType string
	Sizes          []int64
	Limits         []schedule.Restriction
	Constraints    []schedule.Constraint // on what the limits leave

	bound  *ir.Binding
	suffix string // of the name
}

// programs are those of the suite, with their sizes.
var programs = []struct {
	name  string
	sizes []int64
}{
	{"star7", []int64{512, 512, 512}},
	{"box27", []int64{512, 512, 512}},
	{"wave", []int64{512, 512, 512}},
	{"himeno", []int64{512, 256, 256}},
}

var types = []string{"double", "float"}

// ProgramNames lists the programs of the suite.
func ProgramNames() []string {
	var list []string
	for _, p := range programs {
		list = append(list, p.name)
	}
	return list
}

// Subjects returns those of some programs and types; none stands for all.
func Subjects(names, dtypes []string) ([]*Subject, error) {
	var list []*Subject
	for _, p := range programs {
		for _, t := range types {
			if len(names) > 0 && !slices.Contains(names, p.name) || len(dtypes) > 0 && !slices.Contains(dtypes, t) {
				continue
			}
			s := &Subject{Program: p.name, DType: t, Sizes: p.sizes}
			program, err := bench.SpatialProgram(p.name, t)
			if err != nil {
				return nil, err
			}
			if err := s.bind(program); err != nil {
				return nil, err
			}
			if s.Limits, err = limits(s.Name()); err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

func (s *Subject) bind(p *ir.Program) error {
	b, list := p.Bind(s.set(p))
	if list.HasErrors() {
		return fmt.Errorf("%s: %s", s.Name(), list[0].Message)
	}
	s.bound = b
	return nil
}

// set returns the sizes as a user would give them.
func (s *Subject) set(p *ir.Program) map[string]string {
	set := map[string]string{}
	for i, q := range p.Params {
		set[q.Name] = fmt.Sprint(s.Sizes[i])
	}
	return set
}

// Name returns a text like "star7-double" that names files.
func (s *Subject) Name() string { return s.Program + "-" + s.DType + s.suffix }

// Grid returns a text like "512x512x512".
func (s *Subject) Grid() string {
	var parts []string
	for _, n := range s.Sizes {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, "x")
}

// sizes returns the sizes as a recording has them.
func (s *Subject) sizes() session.Sizes {
	var list session.Sizes
	for i, q := range s.bound.Program.Params {
		list = append(list, session.Size{Name: q.Name, Value: s.bound.Params[i]})
	}
	return list
}

// points is how many cells a step updates.
func (s *Subject) points() float64 {
	return float64(analysis.Analyze(s.bound.Program, s.bound).Calls[0].Points)
}

// restrict leaves the part that is recorded.
func (s *Subject) restrict(space schedule.Space) (schedule.Space, error) {
	for _, r := range s.Limits {
		var err error
		if space, err = r.Apply(space); err != nil {
			return space, fmt.Errorf("%s %s: %w", r.Where, r.Text, err)
		}
	}
	for _, k := range s.Constraints {
		var err error
		if space, err = space.Constrain(k); err != nil {
			return space, err
		}
	}
	return space, nil
}

// restrictions is the text of what restricts the part that is recorded.
func (s *Subject) restrictions() string {
	var parts []string
	for _, r := range s.Limits {
		parts = append(parts, r.Text)
	}
	for _, k := range s.Constraints {
		parts = append(parts, k.Name)
	}
	return strings.Join(parts, "; ")
}

// limits reads a file of restrictions that comes with the suites.
func limits(name string) ([]schedule.Restriction, error) {
	file := path.Join("spaces", name+".space")
	text, err := spaces.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return schedule.ParseRestrictions(file, string(text))
}
