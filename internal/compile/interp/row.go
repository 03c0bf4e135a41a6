package interp

// row is what one worker holds while it evaluates one stretch of cells that
// follow each other on a statement's last axis.
type row struct {
	pos   []int64 // position of the first cell, by axis of the program
	n     int     // cells in this stretch
	f     [][]float64
	i     [][]int64
	uf    [][]float64 // uniform values, repeated
	ui    [][]int64
	ub    [][]float64    // their bounds
	b     [][3][]float64 // scratch for bounds
	spare []float64      // one more row of scratch
}

// stretch is the largest number of cells that are evaluated together: long
// enough to hide the cost of a closure call, short enough for the first cache.
const stretch = 1024

// needs says what scratch memory an expression takes.
type needs struct {
	depth    int
	uniforms int
	bounds   bool
}

func newRow(rank, length int, n needs) *row {
	r := &row{
		pos:   make([]int64, rank),
		f:     rows[float64](n.depth, length),
		i:     rows[int64](n.depth, length),
		uf:    rows[float64](n.uniforms, length),
		ui:    rows[int64](n.uniforms, length),
		spare: make([]float64, length),
	}
	if n.bounds {
		r.ub = rows[float64](n.uniforms, length)
		for range n.depth {
			r.b = append(r.b, [3][]float64(rows[float64](3, length)))
		}
	}
	return r
}

// bytes returns what newRow allocates for a statement of that rank.
func (n needs) bytes(length int) int64 {
	per := 16
	if n.bounds {
		per = 48
	}
	return int64(length) * int64((n.depth+n.uniforms)*per+8)
}

func rows[T any](n, length int) [][]T {
	all := make([]T, n*length)
	out := make([][]T, n)
	for k := range out {
		out[k] = all[k*length : (k+1)*length : (k+1)*length]
	}
	return out
}
