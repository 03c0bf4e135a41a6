package estimate

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What a block holds in shared memory is counted grid by grid, as package lower lays it out for a call's kernel. Where
// statements hand each other values there, it is more. Of kernels of several iterations there is a rough measure.

// mostAxes is how many axes a kernel has whose grids are counted.
const mostAxes = 3

// grid is what a kernel reads of an array.
type grid struct {
	elem  types.Type
	size  int64  // bytes of a cell
	row   int64  // cells of a row
	class string // the array after which the class is named that may be staged or not; "" if there is one class alone
	all   reach
	// beside has the reads at cells of others, own those at a cell's own position: by the axis that blocks go along.
	beside, own [mostAxes]reach
}

// reach is how far some reads lead, by axis.
type reach struct {
	any       bool
	low, high [mostAxes]int64 // the least and the largest offset
}

func (r *reach) add(offset []int64) {
	for d, o := range offset {
		if !r.any {
			r.low[d], r.high[d] = o, o
		}
		r.low[d], r.high[d] = min(r.low[d], o), max(r.high[d], o)
	}
	r.any = true
}

// gridsOf returns the grids that a call reads which have all axes that it runs over.
func gridsOf(f *analysis.CallFacts, call *ir.Call, extent []int64, s schedule.Space) []grid {
	if len(extent) > mostAxes {
		return nil
	}
	offsets := map[string][][]int64{}
	for _, st := range f.Statements {
		for _, r := range st.Reads {
			offsets[r.Array] = append(offsets[r.Array], r.Offsets...)
		}
	}
	// Arrays of equal type and offsets are of one class, which is named after one of them.
	class := func(a *ir.Array) string {
		own := slices.Clone(offsets[a.Name])
		slices.SortFunc(own, slices.Compare)
		return fmt.Sprint(len(a.Dims), a.Type, slices.CompactFunc(own, slices.Equal))
	}
	named := map[string]string{}
	for _, a := range call.Arrays {
		for i := range s.Families {
			if s.Families[i].ForArray(schedule.ArrayStaging, a.Name) != nil {
				named[class(a)] = a.Name
			}
		}
	}
	var list []grid
	for _, a := range call.Arrays {
		if offsets[a.Name] == nil || len(a.Dims) != len(f.Axes) {
			continue
		}
		g := grid{elem: a.Type, size: int64(a.Type.Size()), row: extent[len(extent)-1], class: named[class(a)]}
		for _, o := range offsets[a.Name] {
			g.all.add(o)
			for stream := range o {
				if straight(a, o, stream) {
					g.own[stream].add(o)
				} else {
					g.beside[stream].add(o)
				}
			}
		}
		list = append(list, g)
	}
	return list
}

// straight reports whether an offset leads along an axis alone, and no boundary leads elsewhere there.
func straight(a *ir.Array, offset []int64, along int) bool {
	for d, o := range offset {
		if d != along && o != 0 {
			return false
		}
	}
	at := slices.IndexFunc(a.Dims, func(d ir.Dim) bool { return d.Axis == along })
	if offset[along] == 0 || at < 0 {
		return true
	}
	faces := a.Dims[at].Faces
	return faces.Low.Kind == ir.None && faces.High.Kind == ir.None
}

// tiles is what a block holds that goes along no axis: of each grid the cells that its threads read.
func (e *Model) tiles(set schedule.ByRole, on schedule.Shape) int64 {
	vector, inner, perspective := set.Int(schedule.Vector, 1), len(on.On)-1, set.Word(schedule.Perspective)
	bytes := int64(0)
	for i := range e.grids {
		g := &e.grids[i]
		run := lower.Chunk(vector, g.elem)
		if !lower.AsyncRun(vector, g.elem) || !g.shares(on) || set.ArrayWord(schedule.ArrayStaging, g.class) == "no" {
			continue
		}
		cells := int64(1)
		for d, s := range on.On {
			switch low, high := g.all.low[d], g.all.high[d]; {
			case s.Threads > 1 && schedule.HaloThreads(perspective, d == inner):
				cells *= s.Threads * s.Vector * s.Blocked
			case d == inner:
				cells *= up(up(-low, run)+s.Width()+high, run)
			default:
				cells *= s.Width() + high - low
			}
		}
		bytes += cells * g.size
	}
	return bytes
}

// shares reports whether threads of a block read cells of each other.
func (g *grid) shares(on schedule.Shape) bool {
	for d, s := range on.On {
		if low, high := g.all.low[d], g.all.high[d]; low != 0 || high != 0 && (s.Threads > 1 || s.Cyclic > 1) {
			return true
		}
	}
	return false
}

// planes is what a block holds that goes along an axis: of each grid the planes of which threads read cells of others
// (2.5D blocking). Circular buffers have powers of two of slots where as many blocks share a multiprocessor then.
func (e *Model) planes(set schedule.ByRole, on schedule.Shape) int64 {
	s := stagingOf(set)
	var least, round int64
	for i := range e.grids {
		e.grids[i].buffers(&s, on, func(slots, plane int64) {
			least += up(slots*plane, lower.MostCopy)
			round += up(lower.Circular(slots)*plane, lower.MostCopy)
		})
	}
	if lower.RoundsSlots(e.gpu, set.Int(schedule.Threads, usualThreads), least, round) {
		return round
	}
	return least
}

// staging says how planes come to shared memory.
type staging struct {
	engine bool   // a copy engine brings them as boxes, those for columns, too
	ahead  int64  // planes that are on their way
	kept   bool   // planes stay from when columns read them until neighbours have
	pieces bool   // sums take in one plane after the other
	none   bool   // threads hold no columns of what neighbours read
	layout string // of rows
	vector int64
}

func stagingOf(set schedule.ByRole) staging {
	retiming := set.Word(schedule.Retiming)
	s := staging{
		engine: lower.EngineCopies(set), ahead: set.Int(schedule.Staging, 0),
		kept: set.Word(schedule.Refetch) == schedule.KeptPlanes, pieces: retiming != "" && retiming != "no",
		none:   set.Word(schedule.HeldColumns) == schedule.NoColumns,
		layout: set.Word(schedule.RowLayout), vector: set.Int(schedule.Vector, 1),
	}
	if set.Word(schedule.CopyIssue) == schedule.BeforeBarrier {
		s.ahead++
	}
	return s
}

// buffers calls add for each circular buffer of a grid with the slots that it needs and the bytes of a plane.
func (g *grid) buffers(s *staging, on schedule.Shape, add func(slots, plane int64)) {
	aligned := s.layout != schedule.PackedRows || g.row*g.size%kernel.TensorRunBytes == 0
	if s.engine && (!aligned || s.layout == schedule.ShiftedRows) || !s.engine && g.size < lower.LeastCopy {
		return // planes are read in memory
	}
	run := s.vector
	if aligned {
		run = max(run, kernel.TensorRunBytes/g.size)
	}
	whole := s.layout != schedule.ShiftedRows && on.On[len(on.On)-1].Width() >= g.row
	beside, own := &g.beside[on.Stream], &g.own[on.Stream]
	var low, high int64
	if !s.pieces {
		low, high = beside.low[on.Stream], beside.high[on.Stream]
	}
	if s.kept && own.any {
		high = max(high, own.high[on.Stream])
	}
	there := false // what is read at cells of others
	if n, fits := g.plane(on, beside, run, whole, s.engine); beside.any && fits {
		add(high-low+1+s.ahead, n)
		there = true
	}
	newest := own.any && (!there || (!s.pieces || s.none) && own.high[on.Stream] > high)
	if n, fits := g.plane(on, &reach{}, run, whole, s.engine); s.engine && newest && fits { // for columns alone
		add(1+s.ahead, n)
	}
}

// plane returns the bytes of a block's plane with what some reads need around it, but for the ends of rows if it has
// whole ones, and whether it can be one box, if it is to be.
func (g *grid) plane(on schedule.Shape, around *reach, run int64, whole, box bool) (bytes int64, fits bool) {
	inner, cells := len(on.On)-1, int64(1)
	for d, s := range on.On {
		if d == on.Stream {
			continue
		}
		n, limit := s.Width()+around.high[d]-around.low[d], int64(kernel.MaxBoxElements)
		if d == inner {
			if box && s.Width()%run != 0 {
				return 0, false
			}
			if n = up(up(-around.low[d], run)+s.Width()+around.high[d], run); whole {
				n = s.Width()
			}
			limit *= max(1, 8/g.size) // an element of a box may be of 8 bytes
		}
		if box && n > limit {
			return 0, false
		}
		cells *= n
	}
	if box {
		return up(cells*g.size, kernel.TensorPlaceUnit), true
	}
	return cells * g.size, true
}

// up rounds up to a multiple.
func up(n, of int64) int64 { return n + (of-n%of)%of }
