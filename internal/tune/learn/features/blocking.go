package features

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// OfBlocking are the features of a configuration of nested loops on processors, in the order of a Configurations'
// numbers: how threads share the domain, and what of a cache block its caches keep. Sizes are told by those of the
// machine's caches, and threads by its processors, so that what was learned on one machine says something of another.
// What a machine does not tell is 0. Nothing is lowered.
var OfBlocking = blockingFeatures()

// Sources of what caches keep.
const (
	datta   = "Datta et al. 2008, section 4.2"
	rivera  = "Rivera and Tseng, SC 2000"
	stengel = "Stengel et al., ICS 2015"
)

func blockingFeatures() []Feature {
	var list []Feature
	say := func(name, unit, doc, example, source string) {
		list = append(list, Feature{name, unit, doc, example, source})
	}
	say("threads_share", "", "Threads by the processors of the machine; 1 where they are left open.",
		"threads=1 on 2 processors: 0.5", own)
	for _, axis := range []string{"x", "y", "z"} {
		say("cache_block_"+axis, "log2 of cells", "Cells of a cache block along "+axis+
			"; the domain's if it is not cut.", "64 cells: 6", datta)
		say("cuts_"+axis, "log2", "Cache blocks along "+axis+".", "64 of 512 cells: 3", datta)
		say("covered_"+axis, "", "The domain along "+axis+" by the cells of all blocks.", "510 of 512: 0.996", own)
	}
	say("shared_inner", "0 or 1", "1 if threads share blocks along x alone: neighbours write to one line.",
		"block=0x0x64: 1", own)
	say("chunks", "log2", "What threads share, blocks or planes or rows, by threads.", "64 planes, 2 threads: 5", own)
	say("balance", "", "Those chunks by what all threads would do in the time of the busiest.", "3 of 2 threads: 0.75",
		own)
	say("row_bytes", "log2 of bytes", "Bytes of a block's row of the widest element.", "512 doubles: 12", own)
	say("block_bytes", "log2 of bytes", "Bytes of all grids that a block touches, halos included.",
		"64 cubed doubles of two grids: 22", datta)
	say("halo_factor", "", "Bytes that all blocks touch by those of the grids.", "a block of 8 x 32, radius 1: 1.1",
		own)
	say("rows_in_l1", "log2", "Bytes of the rows that a row of results needs, by the first cache.",
		"5 rows of 4 KiB, 32 KiB: -0.7", stengel)
	say("planes_in_own", "log2",
		"Bytes of the planes of a block that a plane of results needs, by the largest cache of a core.",
		"4 planes of 256 KiB, 1 MiB: 0", stengel)
	say("planes_in_last", "log2", "Bytes of those planes by a thread's part of the last cache.",
		"4 planes of 256 KiB, 16 MiB of 2 threads: -3", rivera)
	say("block_in_own", "log2", "Bytes that a block touches by the largest cache of a core.", "4 MiB, 1 MiB: 2", datta)
	say("grids_in_last", "log2", "Bytes of all grids by the last cache.", "64 MiB, 32 MiB: 1", own)
	say("loaded", "", "Bytes that come from memory or the last cache by those that must: grids once where the planes "+
		"that are needed stay in a core's cache, else once for each of these planes; with the halos of blocks.",
		"a star of radius 1 whose planes do not fit: 2", stengel)
	return list
}

// blocking describes configurations of nested loops.
type blocking struct {
	axes       int
	domain     []int64
	arrays     []blockedArray
	width      float64 // bytes of the widest element
	grids      float64 // bytes of all arrays
	processors float64
	first, own float64 // bytes of the first cache, and of the largest of a core
	last       float64 // of the last one, of all processors
	roles      schedule.FamilyRoles
}

// blockedArray is an array as cache blocks touch it.
type blockedArray struct {
	bytes float64 // of an element
	on    []bool  // by axis, whether it lies along it
	halo  []int64 // by axis, both sides together
}

func newBlocking(f *analysis.CallFacts, b *ir.Binding, call *ir.Call, m *machine.Machine,
	space schedule.Space) *blocking {
	d := &blocking{
		axes: len(b.Program.Axes), domain: domainOf(b, call), roles: space.Roles(), processors: 1,
	}
	for _, a := range f.Arrays {
		x := blockedArray{float64(a.IR.Type.Size()), make([]bool, d.axes), make([]int64, d.axes)}
		for axis, name := range b.Program.Axes {
			for _, on := range a.Axes {
				x.on[axis] = x.on[axis] || on == name
			}
			if axis < len(a.Shape.Halo) {
				x.halo[axis] = a.Shape.Halo[axis].Low + a.Shape.Halo[axis].High
			}
		}
		d.arrays, d.width = append(d.arrays, x), max(d.width, x.bytes)
	}
	d.grids = d.touched(d.domain, 0)
	if m == nil || m.CPU == nil {
		return d
	}
	d.processors = float64(max(1, m.Threads()))
	for i, c := range m.Caches {
		if i == 0 {
			d.first = float64(c.Bytes)
		}
		d.last = float64(c.Bytes)
		if c.PerUnit {
			d.own, d.last = float64(c.Bytes), d.last*float64(max(1, m.Units))
		}
	}
	return d
}

// touched returns the bytes of all arrays that a block touches, of which the outermost axes, counted from outside, are
// one cell: their halos alone make what stays for the next cell.
func (d *blocking) touched(block []int64, single int) float64 {
	sum := 0.0
	for _, a := range d.arrays {
		n := a.bytes
		for axis := range d.axes {
			if !a.on[axis] {
				continue
			}
			cells := block[axis]
			if axis < single {
				cells = 1
			}
			n *= float64(min(cells+a.halo[axis], d.domain[axis]+a.halo[axis]))
		}
		sum += n
	}
	return sum
}

// Features returns OfBlocking.
func (d *blocking) Features() []Feature { return OfBlocking }

// Of returns the features of a configuration.
func (d *blocking) Of(c schedule.Config) []float64 {
	return d.Append(make([]float64, 0, len(OfBlocking)), c)
}

// Append appends the features of a configuration.
func (d *blocking) Append(out []float64, c schedule.Config) []float64 {
	set := d.roles.Of(c)
	threads := float64(set.Int(schedule.Workers, 0))
	if threads == 0 {
		threads = d.processors
	}
	out = append(out, threads/d.processors)
	cut := set.Ints(schedule.CacheBlock)
	block := make([]int64, d.axes)
	chunks, blocks, tiled, inner, outer := 1.0, 1.0, false, false, false
	for axis := range d.axes {
		block[axis] = d.domain[axis]
		if at := axis - (d.axes - len(cut)); at >= 0 && cut[at] > 0 {
			block[axis] = min(block[axis], cut[at])
			n := d.cuts(block, axis)
			chunks, tiled = chunks*n, true
			inner, outer = inner || axis == d.axes-1, outer || axis < d.axes-1 && n > 1
		}
		blocks *= d.cuts(block, axis)
	}
	switch {
	case tiled || d.axes == 0:
	case d.axes == 1:
		chunks = max(1, math.Ceil(float64(d.domain[0])/lower.FlatTile))
	default: // the outermost loop is shared
		chunks = max(1, float64(d.domain[0]))
	}
	for i := range 3 {
		axis := d.axes - 1 - i
		if axis < 0 {
			out = append(out, 0, 0, 0)
			continue
		}
		n := d.cuts(block, axis)
		out = append(out, log2(float64(block[axis])), log2(n),
			float64(d.domain[axis])/max(1, n*float64(block[axis])))
	}
	alone := 0.0
	if inner && !outer && d.axes > 1 {
		alone = 1
	}
	row := d.width
	if d.axes > 0 {
		row *= float64(block[d.axes-1])
	}
	all, planes := d.touched(block, 0), d.touched(block, 1)
	rows := d.touched(block, max(0, d.axes-1))
	halo := all * blocks / max(1, d.grids)
	loaded := halo
	if d.own > 0 && planes > d.own {
		loaded *= d.reloaded()
	}
	balance := chunks / (math.Ceil(chunks/threads) * threads)
	return append(out, alone, math.Log2(chunks/threads), balance, log2(row), log2(all), halo, ratio(rows, d.first),
		ratio(planes, d.own), ratio(planes*threads, d.last), ratio(all, d.own), ratio(d.grids, d.last), loaded)
}

// cuts returns how many blocks there are along an axis.
func (d *blocking) cuts(block []int64, axis int) float64 {
	if block[axis] == 0 {
		return 1
	}
	return math.Ceil(float64(d.domain[axis]) / float64(block[axis]))
}

// reloaded is how often the bytes of all arrays are loaded by how often they must be where planes along the outermost
// axis are not kept: each once for each plane that is read.
func (d *blocking) reloaded() float64 {
	once, often := 0.0, 0.0
	for _, a := range d.arrays {
		once += a.bytes
		n := a.bytes
		if d.axes > 0 {
			n *= float64(1 + a.halo[0])
		}
		often += n
	}
	return often / max(1, once)
}

// ratio is the logarithm of a part of what a machine has; 0 if it does not tell.
func ratio(bytes, of float64) float64 {
	if of == 0 || bytes == 0 {
		return 0
	}
	return math.Log2(bytes / of)
}
