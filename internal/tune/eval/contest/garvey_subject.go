package contest

import (
	"errors"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

// garveyKernels are of all patterns and radii, with at most 52 points: larger ones take minutes of compilers each.
var garveyKernels = []string{
	"dense-zyx-r1", "dense-yx-r2", "star-zyx-r5", "star-zx-r3", "diamond-zyx-r2", "diamond-zy-r4", "no-corners-zyx-r1",
	"thumbtack-zyx-r3",

	"dense-x-r1", "dense-z-r2", "dense-y-r3", "dense-zy-r1", "star-zyx-r1", "star-yx-r2", "star-zy-r5", "star-zyx-r2",
	"diamond-zx-r2", "diamond-yx-r3", "no-corners-zx-r2", "no-corners-yx-r2", "no-corners-zy-r3", "thumbtack-xzy-r2",
	"thumbtack-yxz-r1", "thumbtack-zyx-r1",
}

// GarveyNames lists the kernels of the suite.
func GarveyNames() []string { return append([]string(nil), garveyKernels...) }

// GarveyEdge is the length of each axis of the grids, as in the paper.
const GarveyEdge = 256

// technique is one of the ways to load data (Garvey 2018, 4.7 and 6.1).
type technique struct {
	name string
	has  func(vec, load, staged string) bool
}

var techniques = []technique{
	{"global", func(vec, load, staged string) bool { return vec == "1" && load == "plain" && staged != "1" }},
	{"global with vectors",
		func(vec, load, staged string) bool { return vec != "1" && load == "plain" && staged != "1" }},
	{"image", func(vec, load, staged string) bool { return vec == "1" && load == "image" && staged != "1" }},
	{"local", func(vec, load, staged string) bool { return vec == "1" && load == "plain" && staged == "1" }},
}

// one lets every configuration have one of the techniques.
var one = []schedule.Constraint{
	{
		Name: "vectors or images", Doc: "they are two techniques", Params: []string{"vec", "load"},
		Holds: func(c schedule.Config) bool { return c.Int("vec") == 1 || c.Word("load") == "plain" },
	},
	{
		Name: "vectors or local memory", Doc: "they are two techniques", Params: []string{"vec", "stages"},
		Holds: func(c schedule.Config) bool { return c.Int("vec") == 1 || c.Int("stages") == 0 },
	},
	{
		Name: "images or local memory", Doc: "they are two techniques", Params: []string{"load", "stages"},
		Holds: func(c schedule.Config) bool { return c.Word("load") == "plain" || c.Int("stages") == 0 },
	},
}

// GarveySubjects returns the synthetic kernels of some names, all without any,
// on cubes.
func GarveySubjects(names []string, edge int64) ([]*Subject, error) {
	if len(names) == 0 {
		names = garveyKernels
	}
	var list []*Subject
	for _, name := range names {
		k, err := synth.FindKernel(name)
		if err != nil {
			return nil, err
		}
		size := [3]int{int(edge), int(edge), int(edge)}
		src := diag.NewSource(name+".loom", k.Source(size, 1))
		p, errs := lang.Load(src)
		if errs.HasErrors() {
			return nil, errors.New(diag.Render(src, errs, diag.Style{}))
		}
		s := &Subject{Program: name, DType: "float", Sizes: []int64{edge, edge, edge}, Constraints: one}
		if err := s.bind(p.In(arith.Contract)); err != nil {
			return nil, err
		}
		if s.Limits, err = limits("garvey"); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// of returns the part of a recording with a technique; an error if nothing of it
// works.
func (t technique) of(r *replay.Recording) (*replay.Recording, error) {
	part := *r
	part.Trials = nil
	for _, x := range r.Trials {
		set := map[string]string{}
		for p, n := range x.Config {
			if n != replay.Missing {
				set[r.Params[p].Name] = r.Params[p].Values[n].String()
			}
		}
		if t.has(set["vec"], set["load"], set["stages"]) {
			part.Trials = append(part.Trials, x)
		}
	}
	if len(part.Trials) == 0 {
		return nil, errors.New("no configuration is recorded")
	}
	return reread(&part)
}
