package bench

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// spatialCase is one step of a program at the size that it is timed at.
type spatialCase struct {
	gpuCase
	title string
	// arrays are the grids' worth of memory that a step cannot do without:
	// every grid that is read, once, and every grid that is written, once.
	arrays int
	// must and aim are the fractions of the copy bound to reach.
	must, aim float64
}

// spatialCases are the rows of the suite, in its order. The programs lie under
// cases/spatial.
var spatialCases = []spatialCase{
	{gpuCase{"star7", "double", []int64{512, 512, 512}, ""}, "3D 7-point star", 2, 0.93, 0.96},
	{gpuCase{"star7", "float", []int64{1024, 1024, 1024}, ""}, "3D 7-point star", 2, 0.90, 0.94},
	{gpuCase{"star13", "double", []int64{512, 512, 512}, ""}, "3D 13-point star", 2, 0.85, 0.93},
	{gpuCase{"star13", "float", []int64{512, 512, 512}, ""}, "3D 13-point star", 2, 0.85, 0.93},
	{gpuCase{"star25", "double", []int64{512, 512, 512}, ""}, "3D 25-point star", 2, 0.85, 0.93},
	{gpuCase{"star25", "float", []int64{512, 512, 512}, ""}, "3D 25-point star", 2, 0.85, 0.93},
	{gpuCase{"box27", "double", []int64{512, 512, 512}, ""}, "3D 27-point box", 2, 0.85, 0.93},
	{gpuCase{"box27", "float", []int64{512, 512, 512}, ""}, "3D 27-point box", 2, 0.85, 0.93},
	{gpuCase{"star5", "double", []int64{16384, 16384}, ""}, "2D 5-point star", 2, 0.90, 0.95},
	{gpuCase{"star5", "float", []int64{16384, 16384}, ""}, "2D 5-point star", 2, 0.90, 0.95},
	{gpuCase{"box9", "double", []int64{16384, 16384}, ""}, "2D 9-point box", 2, 0.90, 0.95},
	{gpuCase{"box9", "float", []int64{16384, 16384}, ""}, "2D 9-point box", 2, 0.90, 0.95},
	{gpuCase{"box25", "double", []int64{16384, 16384}, ""}, "2D 25-point box", 2, 0.85, 0.93},
	{gpuCase{"box25", "float", []int64{16384, 16384}, ""}, "2D 25-point box", 2, 0.85, 0.93},
	{gpuCase{"wave", "float", []int64{512, 512, 512}, ""}, "acoustic wave of order 8", 4, 0.85, 0.92},
	{gpuCase{"himeno", "float", []int64{512, 256, 256}, ""}, "Himeno 19-point", 14, 0.88, 0.93},
	{gpuCase{"grayscott", "double", []int64{512, 512, 512}, ""}, "Gray-Scott in 3D", 4, 0.80, 0.90},
	{gpuCase{"hotspot", "float", []int64{16384, 16384}, ""}, "hotspot", 3, 0.80, 0.90},
	{gpuCase{"hdiff", "double", []int64{160, 1024, 1024}, ""}, "horizontal diffusion", 3, 0.80, 0.90},
}

// SpatialNames returns the names of the suite's cases, each once.
func SpatialNames() []string {
	var names []string
	for _, c := range spatialCases {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// findSpatial returns the rows of a case: all, or that of one type.
func findSpatial(name, dtype string) []spatialCase {
	var list []spatialCase
	for _, c := range spatialCases {
		if (name == "" || c.name == name) && (dtype == "" || c.dtype == dtype) {
			list = append(list, c)
		}
	}
	return list
}

// program compiles the case's source.
func (c spatialCase) program() (*ir.Program, error) {
	c.name = "spatial/" + c.name
	return c.load("")
}

// SpatialProgram compiles the source of a case, with grids of a type.
func SpatialProgram(name, dtype string) (*ir.Program, error) {
	return spatialCase{gpuCase: gpuCase{name: name, dtype: dtype}}.program()
}

// points returns how many points a step computes: the cells of the first grid
// that it writes.
func points(b *ir.Binding) float64 {
	for _, st := range b.Program.Calls[0].Body {
		if st.Array == nil || st.Array.Local {
			continue
		}
		n := 1.0
		for _, axis := range st.Axes {
			n *= float64(b.Range(st.Domain[axis]).Len())
		}
		return n
	}
	panic("bench: a case that writes nothing")
}

// usefulBytes returns the bytes a point that a step cannot do without: every
// cell that is read, once, the rim with it, and every cell that is written.
func (c spatialCase) usefulBytes(b *ir.Binding) float64 {
	return analysis.Analyze(b.Program, b).Calls[0].Traffic.Compulsory
}

// SpatialProblem is a program of the suite at the sizes that it is timed at.
type SpatialProblem struct {
	Name, DType string
	Sizes       []int64 // of its parameters
}

// SpatialProblems returns those of all rows.
func SpatialProblems() []SpatialProblem {
	var list []SpatialProblem
	for _, c := range spatialCases {
		list = append(list, SpatialProblem{c.name, c.dtype, c.sizes})
	}
	return list
}
