package proof

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// tileOf returns how many cells of each axis of a program one block of threads
// computes with a configuration.
func tileOf(c schedule.Config, axes []string) []int64 {
	set := lower.ByRole(c)
	shape := set.Shape(axes)
	tile := make([]int64, len(axes))
	for axis, share := range shape.On {
		tile[axis] = share.Width()
	}
	if n := set.Ints(schedule.Tile); n != nil { // block after block, whatever its threads are
		axis := len(axes) - 1
		for i := len(n) - 1; i >= 0 && axis >= 0; axis-- {
			if axis != shape.Stream {
				tile[axis] = n[i]
				i--
			}
		}
	}
	if shape.Stream >= 0 {
		tile[shape.Stream] = shape.Length
		if shape.Length == 0 { // the whole axis: a few steps of the loop over planes
			tile[shape.Stream] = 2
		}
	}
	return tile
}

// tilesOf returns the largest tile on each axis of a plan's kernels.
func tilesOf(plan schedule.Plan, axes []string) []int64 {
	most := make([]int64, len(axes))
	for i := range most {
		most[i] = 1
	}
	for _, k := range plan.Kernels {
		for i, n := range tileOf(k.Config, axes) {
			most[i] = max(most[i], n)
		}
	}
	return most
}

// sizing makes values of a program's parameters that give its axes lengths.
type sizing struct {
	program *ir.Program
	base    map[string]string
	bound   *ir.Binding
	lengths []int64 // of the axes, with the base
	on      [][]int // by parameter: the axes that it lengthens, cell by cell
	leaves  int64   // that are executed; 0 for all
	extra   int64   // times that a cell is computed for each time that the program does; 0 for one
}

// newSizing starts from values with which a program binds.
func newSizing(p *ir.Program, base map[string]string) *sizing {
	b, list := p.Bind(base)
	if list.HasErrors() {
		return nil
	}
	s := &sizing{program: p, base: base, bound: b, lengths: lengths(b)}
	for i, q := range p.Params {
		s.on = append(s.on, nil)
		more, list := p.Bind(with(base, q.Name, b.Params[i]+1))
		if list.HasErrors() {
			continue
		}
		for axis, n := range lengths(more) {
			if n == s.lengths[axis]+1 {
				s.on[i] = append(s.on[i], axis)
			}
		}
	}
	return s
}

func with(set map[string]string, name string, value int64) map[string]string {
	set = maps.Clone(set)
	if set == nil {
		set = map[string]string{}
	}
	set[name] = fmt.Sprint(value)
	return set
}

// lengths returns how many cells the largest grid has along each axis.
func lengths(b *ir.Binding) []int64 {
	most := make([]int64, len(b.Program.Axes))
	for _, g := range b.Program.Grids {
		for i, d := range g.Dims {
			axis := d.Axis
			if axis < 0 {
				axis = i
			}
			if axis < len(most) {
				most[axis] = max(most[axis], b.Extent(d).Len())
			}
		}
	}
	return most
}

// set returns values that make every axis so long, or longer where axes share
// a parameter; nil if the program does not bind with them.
func (s *sizing) set(want []int64) (map[string]string, *ir.Binding) {
	for extra := range int64(3) {
		set := maps.Clone(s.base)
		for i, q := range s.program.Params {
			if len(s.on[i]) == 0 || q.Default != nil && !constant(q.Default) {
				continue
			}
			value := int64(0)
			for _, axis := range s.on[i] {
				value = max(value, s.bound.Params[i]+want[axis]-s.lengths[axis])
			}
			set = with(set, q.Name, value+extra)
		}
		if b, list := s.program.Bind(set); !list.HasErrors() {
			return set, b
		}
	}
	return nil, nil
}

func constant(e ir.Expr) bool {
	_, ok := e.(ir.Const)
	return ok
}

var primes = []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31}

// remainder returns a prime that is less than a tile, or one cell.
func remainder(tile int64, rng *rand.Rand) int64 {
	n, _ := slices.BinarySearch(primes, tile)
	if n == 0 {
		return 1
	}
	return primes[rng.IntN(n)]
}

// wholeTiles is how many tiles axes have besides a remainder, where the work
// allows it: the first and last are at the edges, the one between is not.
const wholeTiles = 3

// large returns sizes of up to three tiles and a remainder on every axis, as
// many as a number of updates allows, and whether all axes have three.
func (s *sizing) large(tile []int64, most int64, rng *rand.Rand) (set map[string]string, b *ir.Binding, all bool) {
	rest := make([]int64, len(tile))
	count := make([]int64, len(tile))
	for axis := range tile {
		rest[axis] = remainder(tile[axis], rng)
	}
	try := func() (map[string]string, *ir.Binding) {
		want := make([]int64, len(tile))
		for axis := range want {
			want[axis] = count[axis]*tile[axis] + rest[axis]
		}
		set, b := s.set(want)
		if b == nil || s.work(b, tile) > most {
			return nil, nil
		}
		return set, b
	}
	for range wholeTiles {
		for _, axis := range rng.Perm(len(tile)) {
			count[axis]++
			if x, y := try(); y != nil {
				set, b = x, y
			} else {
				count[axis]--
			}
		}
	}
	return set, b, !slices.ContainsFunc(count, func(n int64) bool { return n < wholeTiles })
}

// affordable returns the longest tiles of which four on every axis are as many
// updates as there may be: those of the inner axis can be long, and the rest
// is dealt out to any axes.
func (s *sizing) affordable(most int64, rng *rand.Rand) []int64 {
	rank := len(s.lengths)
	tile := make([]int64, rank)
	for axis := range tile {
		tile[axis] = 1
	}
	tile[rank-1] = 32
	left := most / s.updates(s.bound)
	for range tile {
		left /= wholeTiles + 1
	}
	for left /= 32; left >= 2; left /= 2 {
		tile[rng.IntN(rank)] *= 2
	}
	return tile
}

// work counts the cells that a program's leaves update, roughly, when they do
// so in whole tiles.
func (s *sizing) work(b *ir.Binding, tile []int64) int64 {
	cells := int64(1)
	for axis, n := range lengths(b) {
		t := tile[axis]
		cells = min(cells*max(1, (n+t-1)/t*t), 1<<30)
	}
	return cells * s.updates(b) * max(1, s.extra)
}

// updates returns how often a program computes a cell, roughly.
func (s *sizing) updates(b *ir.Binding) int64 {
	leaves, _ := ir.Leaves(b.Program.Body, func(e ir.Expr, step int64) op.Value { return b.Eval(e, step) })
	if s.leaves > 0 {
		leaves = min(leaves, s.leaves)
	}
	statements := 0
	for _, s := range b.Program.Calls {
		statements += len(s.Body)
	}
	return max(1, min(leaves, 1<<20)*int64(max(1, statements/max(1, len(b.Program.Calls)))))
}
