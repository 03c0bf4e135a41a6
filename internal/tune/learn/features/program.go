package features

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// OfProgram are the features of a call of a program at its sizes, in the order of Program's numbers. x is the innermost
// axis; a program without an axis has 0 there.
var OfProgram = []Feature{
	{"rank", "axes", "Axes of the grids.", "heat in three dimensions: 3", garvey},
	{"stencil_size", "cells", "Cells that one cell is computed from, each once.", "a star of radius 1 in 3D: 7",
		garvey},
	{"density", "", "Stencil size by the cells of the smallest box around it.", "that star: 7 / 27 = 0.26", garvey},
	{"unique_axis", "", "The axis whose halo differs from that of all others: 1 for x, 2 for y, 3 for z; 0 if none " +
		"does.", "a star in the plane of x and y: 3", garvey},
	{"order", "cells", "The largest halo on any side.", "a star of radius 2: 2", zhang},
	{"halo_x", "cells", "The halo along x, both sides together.", "a star of radius 2: 4", zhang},
	{"halo_y", "cells", "The halo along y, both sides together.", "a star of radius 2: 4", zhang},
	{"halo_z", "cells", "The halo along z, both sides together.", "a star of radius 2: 4", zhang},
	{"corner_axes", "axes", "Axes along which points of one plane share inputs on another plane.",
		"a box in 3D: 3; a star: 0", zhang},
	{"arrays", "arrays", "Grids that are read or written.", "u and its next values: 2", own},
	{"arrays_around", "arrays", "Grids that are read at several cells.", "an acoustic wave: 1 of 3", own},
	{"arrays_pointwise", "arrays", "Grids that are read at the cell itself alone.", "a power map: 1", own},
	{"arrays_written", "arrays", "Grids that are written.", "one result: 1", own},
	{"element_bytes", "bytes", "The widest element of a grid.", "double: 8", own},
	{"narrow_bytes", "bytes", "The narrowest element of a grid.", "float beside double: 4", own},
	{"extent_x", "log2 of cells", "The domain along x.", "512 cells: 9", own},
	{"extent_y", "log2 of cells", "The domain along y.", "512 cells: 9", own},
	{"extent_z", "log2 of cells", "The domain along z.", "512 cells: 9", own},
	{"cells", "log2 of cells", "The whole domain.", "512 cubed: 27", own},
	{"working_set", "log2 of bytes", "All grids that the call touches.", "two grids of 512 cubed doubles: 31", own},
	{"adds", "a cell", "Additions and subtractions of floating-point numbers.", "a sum of 7 products: 6", garveyMore},
	{"muls", "a cell", "Multiplications of floating-point numbers.", "a sum of 7 products: 7", garveyMore},
	{"divides", "a cell", "Divisions and square roots.", "none in a weighted sum: 0", own},
	{"functions", "a cell", "Other mathematical functions.", "an exponential: 1", own},
	{"compares", "a cell", "Comparisons, minima, maxima, selections.", "a flux limiter: several", own},
	{"integers", "a cell", "Operations on integers.", "the game of life: some", own},
	{"fused", "a cell", "Products that sums take in.", "a sum of 7 products: 6", own},
	{"statements", "statements", "Statements of the call.", "one assignment: 1", own},
	{"loads", "a cell", "Values that are loaded, each once.", "a star of radius 1 in 3D: 7", own},
	{"reloads", "a cell", "Loads of the text that are not the first of their value.", "none: 0", own},
	{"bytes", "a cell", "Bytes that must be moved: each grid once for each direction.", "two grids of doubles: 16",
		rawat},
	{"intensity", "operations a byte", "Floating-point operations by those bytes.", "13 / 16 = 0.81", rawat},
}

// OfGarvey are the names of those that choose a technique of loading in Garvey and Abdelrahman 2018, section 6.1: the
// first of OfProgram.
var OfGarvey = []string{"rank", "stencil_size", "density", "unique_axis"}

const (
	garvey     = "Garvey and Abdelrahman 2018, section 6.1"
	garveyMore = "Garvey and Abdelrahman 2018, table 11"
	zhang      = "Zhang and Mueller 2012, section 2"
	rawat      = "Rawat et al. 2019, table I"
	own        = "Gridloom"
)

// Program returns the features of a call at the sizes that its program is bound to.
func Program(b *ir.Binding, call *ir.Call) []float64 {
	return ofCall(b, analysis.Analyze(b.Program, b).Call(call))
}

func ofCall(b *ir.Binding, f *analysis.CallFacts) []float64 {
	axes := b.Program.Axes
	at := func(values []float64, fromInner int) float64 {
		if i := len(axes) - 1 - fromInner; i >= 0 {
			return values[i]
		}
		return 0
	}
	halo := make([]float64, len(axes))
	for i, h := range f.Shape.Halo {
		halo[i] = float64(h.Low + h.High)
	}
	unique := 0.0
	if i := slices.Index(axes, f.Shape.Unique); i >= 0 {
		unique = float64(len(axes) - i)
	}
	domain := domainOf(b, f.IR)
	cells := 0.0
	extent := make([]float64, len(axes))
	for i, n := range domain {
		extent[i] = math.Log2(float64(max(1, n)))
		cells += extent[i]
	}
	var around, pointwise, written, wide, narrow float64
	for _, a := range f.Arrays {
		size := float64(a.IR.Type.Size())
		wide = max(wide, size)
		if narrow == 0 || size < narrow {
			narrow = size
		}
		switch {
		case a.Shape.Points > 1:
			around++
		case a.Shape.Points == 1:
			pointwise++
		}
		if a.Stores > 0 {
			written++
		}
	}
	o := f.Ops
	return []float64{
		float64(len(axes)), float64(f.Shape.Points), f.Shape.Density, unique, float64(f.Shape.Order),
		at(halo, 0), at(halo, 1), at(halo, 2), float64(len(f.Shape.Corners)),
		float64(len(f.Arrays)), around, pointwise, written, wide, narrow,
		at(extent, 0), at(extent, 1), at(extent, 2), cells, math.Log2(float64(max(1, f.WorkingSet))),
		o.Add, o.Mul, o.Div + o.Sqrt, o.Special, o.Compare, o.Int, o.FMA, float64(len(f.Statements)),
		f.Loads, max(0, f.LoadsAsWritten-f.Loads), f.Traffic.Compulsory, f.Intensity.Compulsory,
	}
}

// domainOf returns the cells of the largest domain of the call's statements on each axis.
func domainOf(b *ir.Binding, call *ir.Call) []int64 {
	domain := make([]int64, len(b.Program.Axes))
	for _, s := range call.Body {
		if s.Temp != nil {
			continue
		}
		for _, axis := range s.Axes {
			domain[axis] = max(domain[axis], b.Range(s.Domain[axis]).Len())
		}
	}
	return domain
}
