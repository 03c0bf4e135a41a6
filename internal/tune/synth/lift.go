package synth

import (
	"embed"
	"fmt"
	"regexp"
)

// Rimmelg et al. 2020, "High-level hardware feature extraction for GPU performance
// prediction of stencils", Table 2. The programs are stated from the mathematics of
// their origins, which each text names. The Gaussian is the paper's 25-point box.
// Cells beyond the edge are those at the edge, as Lift pads its grids.

//go:embed lift/*.loom
var liftFiles embed.FS

// liftPrograms are in the order of the paper's Table 2.
var liftPrograms = []struct {
	name    string
	pattern Pattern
	points  int
}{
	{"stencil2d", Dense, 9},
	{"srad1", Star, 5},
	{"srad2", Star, 5 + 3}, // of the picture and of the coefficient
	{"hotspot2d", Star, 5 + 1},
	{"gradient", Star, 5},
	{"jacobi5", Star, 5},
	{"jacobi9", Dense, 9},
	{"gaussian", Dense, 25},
}

func lift() Suite {
	return Suite{
		Name: "lift", Doc: "the eight programs of Rimmelg 2020 in two dimensions: relaxation, pictures, heat",
		Axes: []string{"M", "N"}, Sizes: []int{512, 1024, 2048, 4096, 8192}, Edge: 4096,
		Types: []string{"float", "double"},
		list: func() []Program {
			var list []Program
			for _, x := range liftPrograms {
				list = append(list, Program{
					Name: x.name, Group: x.name, Pattern: string(x.pattern), Points: x.points, Type: "float",
					write: func(size []int, typ string, _ uint64) string { return liftSource(x.name, size, typ) },
				})
			}
			return list
		},
	}
}

var (
	sizeLine  = regexp.MustCompile(`(?m)^parameter .*;$`)
	floatWord = regexp.MustCompile(`\bfloat\b`)
)

// liftSource returns the file of a program with another size and type.
func liftSource(name string, size []int, typ string) string {
	text, err := liftFiles.ReadFile("lift/" + name + ".loom")
	if err != nil {
		panic(err) // it is embedded
	}
	line := fmt.Sprintf("parameter M = %d, N = %d;", size[0], size[1])
	return floatWord.ReplaceAllString(sizeLine.ReplaceAllString(string(text), line), typ)
}
