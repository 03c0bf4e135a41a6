package synth

import (
	"fmt"
	"slices"
	"strings"
)

// Pattern is the shape of a stencil of Garvey 2018 (Figure 1).
type Pattern string

// Of all patterns, r is the radius.
const (
	Dense     Pattern = "dense"      // all cells within r on every axis
	Star      Pattern = "star"       // the cells on the axes
	Diamond   Pattern = "diamond"    // the cells whose distances on the axes add up to r at most
	NoCorners Pattern = "no-corners" // dense, without those that are r away on every axis
	// Thumbtack is dense in a plane, with a pin of r cells on the third axis. The
	// paper draws it and does not define it: the pin is taken to point one way,
	// to where indices grow.
	Thumbtack Pattern = "thumbtack"
)

// Kernel is one of the stencils of Garvey 2018: a weighted sum of the cells of a
// pattern around a point. Grids always have the axes z, y and x.
type Kernel struct {
	Pattern Pattern
	// Axes are those that the stencil extends on, outermost first: "yx" is a
	// stencil of two dimensions in the inner plane. Of a thumbtack, the last is
	// the one of its pin.
	Axes   string
	Radius int
}

// Name returns a text like "star-zyx-r2" by which the kernel can be found.
func (k Kernel) Name() string { return fmt.Sprintf("%s-%s-r%d", k.Pattern, k.Axes, k.Radius) }

// Kernels returns the 104 kernels: those that differ, of all patterns, orientations
// and radii up to 5.
func Kernels() []Kernel {
	var list []Kernel
	add := func(p Pattern, from int, orientations ...string) {
		for _, axes := range orientations {
			for r := from; r <= 5; r++ {
				list = append(list, Kernel{p, axes, r})
			}
		}
	}
	planes := []string{"zy", "zx", "yx"}
	list = append(list, Kernel{Dense, "x", 0})
	add(Dense, 1, "z", "y", "x")
	add(Dense, 1, planes...)
	add(Dense, 1, "zyx")
	add(Star, 1, planes...)
	add(Star, 1, "zyx")
	add(Diamond, 2, planes...) // of radius 1 they are stars
	add(Diamond, 2, "zyx")
	add(NoCorners, 2, planes...)
	add(NoCorners, 1, "zyx")
	add(Thumbtack, 1, "zyx", "xzy", "yxz")
	return list
}

// FindKernel returns the kernel of a name.
func FindKernel(name string) (Kernel, error) {
	all := Kernels()
	i := slices.IndexFunc(all, func(k Kernel) bool { return k.Name() == name })
	if i < 0 {
		return Kernel{}, fmt.Errorf("no synthetic kernel is called %q; names look like %q", name, all[0].Name())
	}
	return all[i], nil
}

// Offset is a cell of a pattern, by its distances on the axes z, y and x.
type Offset [3]int

// Cells returns the cells of the pattern, those of the outer axes first.
func (k Kernel) Cells() []Offset {
	var list []Offset
	r := k.Radius
	for z := -r; z <= r; z++ {
		for y := -r; y <= r; y++ {
			for x := -r; x <= r; x++ {
				if o := (Offset{z, y, x}); k.has(o) {
					list = append(list, o)
				}
			}
		}
	}
	return list
}

func (k Kernel) has(o Offset) bool {
	beside, far, sum := 0, 0, 0 // axes with a distance, with one of r, and all distances
	for i, axis := range "zyx" {
		d := max(o[i], -o[i])
		if d > 0 && !strings.ContainsRune(k.Axes, axis) {
			return false
		}
		sum += d
		if d > 0 {
			beside++
		}
		if d == k.Radius {
			far++
		}
	}
	switch k.Pattern {
	case Star:
		return beside <= 1
	case Diamond:
		return sum <= k.Radius
	case NoCorners:
		return far < len(k.Axes)
	case Thumbtack:
		pin := strings.IndexByte("zyx", k.Axes[len(k.Axes)-1])
		return o[pin] == 0 || o[pin] > 0 && beside == 1
	}
	return true
}

// Source returns the kernel as a program over grids of a size, in single
// precision; the seed decides the weights. Recordings were made of these texts:
// they never change.
func (k Kernel) Source(size [3]int, seed uint64) string {
	return Intense{k, 1, 1}.Source(size, "float", seed)
}

func at(axis string, d int) string {
	if d == 0 {
		return axis
	}
	return fmt.Sprintf("%s%+d", axis, d)
}
