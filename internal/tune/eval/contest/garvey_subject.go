package contest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

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

// GarveyPart says which kernels of Garvey 2018 are recorded, on which grids, and how much of their spaces.
type GarveyPart struct {
	Suite string   // "garvey" or "garvey416"
	Names []string // all of them without any
	Size  [3]int   // cells on z, y and x
	// OneIn is of how many configurations one is recorded, drawn by a hash; 0 and 1 are all. Of a sample, the size is
	// part of a recording's name.
	OneIn int
}

// GarveySubjects returns the kernels of some names on cubes, whose spaces are recorded as a whole.
func GarveySubjects(names []string, edge int64) ([]*Subject, error) {
	return GarveyPart{Suite: "garvey", Names: names, Size: [3]int{int(edge), int(edge), int(edge)}}.Subjects()
}

// sizedKernels are those of which other sizes and shapes are sampled, seven of all patterns as in the paper (section
// 8.3.6).
var sizedKernels = []string{
	"dense-zyx-r1", "dense-yx-r2", "star-zyx-r2", "star-zx-r3", "diamond-zyx-r2", "no-corners-zyx-r1",
	"thumbtack-zyx-r3",
}

// mostIntense are the points of kernels with more arithmetic that are sampled: larger ones take minutes of compilers.
// Those of one point are left out, too: cells share nothing that a technique could load better.
const mostIntense = 52

// intenseOneIn is of how many of the kernels with more arithmetic one is sampled.
const intenseOneIn = 5

// names are those of the kernels: with more arithmetic a sample of those that have some.
func (p GarveyPart) names() ([]string, error) {
	switch {
	case len(p.Names) > 0:
		return p.Names, nil
	case p.Suite == "garvey" && p.OneIn <= 1:
		return garveyKernels, nil
	case p.Suite == "garvey":
		return sizedKernels, nil
	}
	suite, err := synth.FindSuite(p.Suite)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, x := range suite.Programs() {
		if !strings.HasSuffix(x.Name, "-a1m1") && x.Points > 1 && x.Points <= mostIntense &&
			drawn(x.Name, intenseOneIn) {
			list = append(list, x.Name)
		}
	}
	return list, nil
}

// drawn draws one of so many texts by a hash.
func drawn(text string, oneIn int) bool {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()%uint64(max(1, oneIn)) == 0
}

// sampled leaves one of so many configurations.
func sampled(oneIn int) schedule.Constraint {
	params := []string{"block", "repeat", "vec", "load", "stages"}
	return schedule.Constraint{
		Name: fmt.Sprintf("one in %d by a hash", oneIn), Doc: "the others are not in the sample", Params: params,
		Holds: func(c schedule.Config) bool {
			var parts []string
			for _, name := range params {
				v, _ := c.Get(name)
				parts = append(parts, v.String())
			}
			return drawn(strings.Join(parts, ","), oneIn)
		},
	}
}

// Subjects returns the kernels.
func (p GarveyPart) Subjects() ([]*Subject, error) {
	suite, err := synth.FindSuite(p.Suite)
	if err != nil {
		return nil, err
	}
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	var list []*Subject
	for _, name := range names {
		x, err := suite.Find(name)
		if err != nil {
			return nil, err
		}
		text, err := x.Source(synth.Options{Size: p.Size[:]})
		if err != nil {
			return nil, err
		}
		src := diag.NewSource(name+".loom", text)
		program, errs := lang.Load(src)
		if errs.HasErrors() {
			return nil, errors.New(diag.Render(src, errs, diag.Style{}))
		}
		s := &Subject{Program: name, DType: "float", Constraints: one}
		for _, n := range p.Size {
			s.Sizes = append(s.Sizes, int64(n))
		}
		if p.OneIn > 1 {
			s.Constraints, s.suffix = append(slices.Clip(one), sampled(p.OneIn)), "-"+s.Grid()
		}
		if err := s.bind(program.In(arith.Contract)); err != nil {
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
