package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Intense is a kernel that does 1 or 2 additions and 1 or 2 multiplications with
// every cell that it reads (Garvey 2018, section 8.3.8). One multiplication is by
// the weight, and one addition is that of the sum. As in the paper, further ones
// are of the cell with itself, so that no compiler can fold them into the weight.
// The paper does not say in which order. Here a cell v counts as v*v with 2
// multiplications, as v + v with 2 additions, and as v*v + v with 2 of both.
type Intense struct {
	Kernel
	Adds, Muls int
}

// Name returns a text like "star-zyx-r2-a2m1".
func (k Intense) Name() string { return fmt.Sprintf("%s-a%dm%d", k.Kernel.Name(), k.Adds, k.Muls) }

// IntenseKernels returns the 416 kernels: each of the 104 with 1 and 2 additions
// and with 1 and 2 multiplications.
func IntenseKernels() []Intense {
	var list []Intense
	for _, k := range Kernels() {
		for adds := 1; adds <= 2; adds++ {
			for muls := 1; muls <= 2; muls++ {
				list = append(list, Intense{k, adds, muls})
			}
		}
	}
	return list
}

// Source returns the kernel as a program over grids of a size and a type, float
// or double; the seed decides the weights, which are the same whatever is done
// with the cells. With 1 addition and 1 multiplication in float it is the source
// of the Kernel.
func (k Intense) Source(size [3]int, typ string, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, uint64(len(k.Axes)*16+k.Radius)))
	suffix := ""
	if typ == "float" {
		suffix = "f"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// A synthetic kernel: %s on %s, radius %d (Garvey 2018, section 7.1)%s.\n", k.Pattern,
		k.Axes, k.Radius, k.described())
	fmt.Fprintf(&b, "parameter NZ = %d, NY = %d, NX = %d;\n", size[0], size[1], size[2])
	fmt.Fprintf(&b, "iterator z, y, x;\n%s u[NZ, NY, NX], next[NZ, NY, NX];\ncopyin u;\n\n", typ)
	b.WriteString("stencil weigh (out, in) {\n  out[z][y][x] =")
	for i, o := range k.Cells() {
		if i > 0 {
			b.WriteString("\n    +")
		}
		weight := float64(1+rng.IntN(999)) / 1000
		cell := fmt.Sprintf("in[%s][%s][%s]", at("z", o[0]), at("y", o[1]), at("x", o[2]))
		fmt.Fprintf(&b, " %g%s*%s", weight, suffix, k.worked(cell))
	}
	b.WriteString(";\n}\n\nweigh (next, u);\ncopyout next;\n")
	return b.String()
}

// described says what is done with a cell where it is more than weighed.
func (k Intense) described() string {
	if k.Adds == 1 && k.Muls == 1 {
		return ""
	}
	return fmt.Sprintf(";\n// for each cell that is read %s and %s (section 8.3.8)", count(k.Adds, "addition"),
		count(k.Muls, "multiplication"))
}

// count returns a text like "2 additions".
func count(n int, noun string) string {
	if n > 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// worked returns what is weighed of a cell.
func (k Intense) worked(cell string) string {
	switch {
	case k.Adds == 2 && k.Muls == 2:
		return fmt.Sprintf("(%s*%s + %s)", cell, cell, cell)
	case k.Adds == 2:
		return fmt.Sprintf("(%s + %s)", cell, cell)
	case k.Muls == 2:
		return fmt.Sprintf("(%s*%s)", cell, cell)
	}
	return cell
}
