package lower

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With copy=tensor, planes of grids come to shared memory as boxes of tensor maps, which one thread has the copy engine
// bring. So threads compute no addresses for that, and wait for no memory: the newest cells of columns come the same
// way. Boxes may lie over the edge of a grid, and have zeros there, which nothing that is stored depends on. Grids that
// the kernel updates in place are no boxes: the engine must not read what threads write.

// planeBoxes is what the copy engine needs beside shared memory.
type planeBoxes struct {
	arrived *kernel.Buffer // mbarriers of the steps whose planes are under way
	slots   int64          // of them
	from    kernel.Expr    // the step that their phases are counted from
	maps    map[*pipeline.Tile]*kernel.Buffer
}

// bulkBytes is what copies of the engine are aligned to.
const bulkBytes = 16

// EngineCopies reports whether a configuration has copy engines bring planes.
func EngineCopies(set schedule.ByRole) bool {
	return set.Int(schedule.Staging, 0) > 0 && set.Word(schedule.StagingCopy) == copyTensor
}

// boxRun returns how many cells a grid's rows have to be multiples of so that its planes can be boxes.
func boxRun(t types.Type) int64 { return max(1, bulkBytes/int64(t.Size())) }

// boxRun returns what the cells of a grid's rows are to be multiples of for a span's copies.
func (s *spanKernel) boxRun(g *ir.Grid) int64 {
	if !EngineCopies(s.set) || len(g.Dims[len(g.Dims)-1].Lo.Terms) > 0 {
		return 1
	}
	return boxRun(g.Type)
}

// boxable reports whether planes of a grid can be boxes of a tensor map.
func (p *planeBlock) boxable(t *pipeline.Tile) bool {
	g := t.Grid.Memory
	layout, run, last := p.layoutOf(g), boxRun(g.Type), len(p.threads)
	whole := layout.Align%run == 0 || p.opts.Sized && p.rowLength(g)%run == 0
	by, known := g.Dims[last].Lo.Diff(p.lineStart()) // to where lines of memory begin, from where tiles do
	if !whole || layout.Lead != 0 || !known || by%run != 0 || p.tile[last]%run != 0 || p.pipeline.InPlace(g) {
		return false // rows of some box would not begin at a multiple of 16 bytes
	}
	for d := range p.threads[:len(p.threads)-1] {
		if p.copySide(t, d) > kernel.MaxBoxElements {
			return false
		}
	}
	return (&kernel.Tensor{Box: p.box(t)}).Unit(g.Type) > 0
}

// box is the cells of a plane that are brought, by axis.
func (p *planeBlock) box(t *pipeline.Tile) []int64 {
	box := []int64{1}
	for d := range p.threads {
		box = append(box, p.copySide(t, d))
	}
	return box
}

// boxedTiles returns what is brought as boxes: the tiles that threads read at cells of others, and the newest planes of
// columns that are in none of them.
func (p *planeBlock) boxedTiles() []*pipeline.Tile {
	var list []*pipeline.Tile
	for _, t := range p.plan.Tiles {
		if p.boxable(t) {
			list = append(list, t)
		}
	}
	for _, c := range p.plan.Columns {
		t := p.plan.TileOf(c.Grid)
		if !t.Has(c.Newest) {
			t = &pipeline.Tile{
				Grid: c.Grid, Newest: c.Newest, Planes: 1, Halo: make([]pipeline.Halo, len(p.threads)),
				Beside: make([]bool, len(p.threads)),
			}
		}
		if !p.boxable(t) {
			continue
		}
		p.newest[c] = t
		if t != p.plan.TileOf(c.Grid) {
			list = append(list, t)
		}
	}
	return list
}

// tensorMap returns the tensor map of a store with boxes of so many cells on its axes.
func (e *env) tensorMap(st *store, box []int64) *kernel.Buffer {
	t := &kernel.Tensor{Box: box}
	key := special{Arg: st.arg, space: kernel.TensorMap}
	var name []string
	for d, n := range box {
		key.box[d] = n
		// What rows are padded by belongs to the map: its strides are those of a dense array.
		t.Extents = append(t.Extents, st.pitch(d, e.size))
		name = append(name, fmt.Sprint(n))
	}
	b := e.buffer(key, st.order, st.name+"_box"+strings.Join(name, "x"), st.elem, func() kernel.Expr {
		return st.cells(e.size)
	})
	b.buffer.Tensor, b.reads = t, true
	return b.buffer
}

// boxPlaced rounds a number of elements up to where a box may start.
func boxPlaced(cells int64, elem types.Type) int64 {
	each := kernel.TensorPlaceUnit / int64(elem.Size())
	return (cells + each - 1) / each * each
}

// makeBoxes makes the tensor maps and the mbarriers.
func (p *planeBlock) makeBoxes(top *scope) (allocs []kernel.Stmt) {
	if !p.tensor || len(p.tiles) == 0 {
		return nil
	}
	b := &planeBoxes{slots: 1, maps: map[*pipeline.Tile]*kernel.Buffer{}}
	for b.slots < p.distance+1 { // all threads have waited for a phase when the next of its mbarrier begins
		b.slots *= 2
	}
	b.arrived = &kernel.Buffer{
		Name: top.declare(p.env, "arrived", types.I64).Name, Elem: types.I64, Space: kernel.Mbarrier,
		Mode: kernel.InOut, Cells: kernel.I(b.slots),
	}
	for _, t := range p.tiles {
		b.maps[t] = p.tensorMap(p.gridStore(t.Grid.Memory), p.box(t))
	}
	p.boxes = b
	return []kernel.Stmt{&kernel.Alloc{Buffer: b.arrived}}
}

// readyBoxes makes the mbarriers ready, before the first copies.
func (p *planeBlock) readyBoxes(body *scope) {
	if p.boxes == nil {
		return
	}
	one := kernel.Conv(types.I32, kernel.I(1))
	init := &kernel.MbarrierInit{Mbarrier: p.boxes.arrived, Slot: p.thread, Count: one}
	body.emit(&kernel.If{Cond: kernel.Lt(p.thread, kernel.I(p.boxes.slots)), Then: []kernel.Stmt{init}},
		&kernel.Barrier{Scope: kernel.BlockScope})
}

// phase returns the mbarrier of a step, and the parity of its phase there.
func (b *planeBoxes) phase(step kernel.Expr) (slot, parity kernel.Expr) {
	n := kernel.Sub(step, b.from)
	odd := kernel.Bin(op.Ne, kernel.Bin(op.And, n, kernel.I(b.slots)), kernel.I(0)) // slots are a power of two
	return inTurn(n, b.slots), kernel.Conv(types.I32, kernel.Sel(odd, kernel.I(1), kernel.I(0)))
}

// bring has the first thread start the copies of planes for a step, so many after another one; all planes that the step
// reads, or those alone that the step before does not.
func (p *planeBlock) bring(list *scope, step kernel.Expr, after int64, all bool, stop kernel.Expr) {
	inside := newScope(list)
	slot, _ := p.boxes.phase(kernel.Add(step, kernel.I(after)))
	slot = inside.let(p.env, "slot", "slot", slot)
	bytes := int64(0)
	var copies []kernel.Stmt
	for _, t := range p.tiles {
		st := p.gridStore(t.Grid.Memory)
		oldest := after
		if all {
			oldest -= t.Planes - 1
		}
		for n := oldest; n <= after; n++ {
			at := []kernel.Expr{kernel.Add(step, kernel.I(t.Newest+n))}
			for d := range p.threads {
				at = append(at, kernel.Sub(p.start[d], kernel.I(p.copyLow(t, d))))
			}
			c := &kernel.TensorCopy{
				To: p.copies[t], At: inside.let(p.env, "to", t.Grid.Name()+"_to", p.copySlot(t, step, t.Newest+n)),
				From: p.boxes.maps[t], Mbarrier: p.boxes.arrived, Slot: slot,
			}
			for d, x := range at {
				c.Corner = append(c.Corner, kernel.Conv(types.I32, kernel.Sub(x, st.dims[d].lo(p.size))))
			}
			copies = append(copies, c)
			bytes += p.copyArea(t) * int64(t.Grid.Type().Size())
		}
	}
	inside.emit(&kernel.MbarrierArrive{
		Mbarrier: p.boxes.arrived, Slot: slot, Bytes: kernel.Conv(types.I32, kernel.I(bytes)),
	})
	inside.emit(copies...)
	comes := kernel.Lt(kernel.Add(step, kernel.I(after)), stop)
	list.emit(&kernel.If{Cond: kernel.And(kernel.Lt(p.thread, kernel.I(1)), comes), Then: inside.stmts})
}

// fillBoxes starts the copies for a step, the first one, and for those after it that are brought ahead.
func (p *planeBlock) fillBoxes(list *scope, step, stop kernel.Expr) {
	p.boxes.from = step
	for after := range p.distance {
		p.bring(list, step, after, after == 0, stop)
	}
}

// nextBoxes starts the copies for a later step, and waits for those of this one.
func (s *planeStep) nextBoxes() {
	s.bring(s.body, s.at, s.distance, false, s.stop)
	slot, parity := s.boxes.phase(s.at)
	s.body.emit(&kernel.MbarrierWait{Mbarrier: s.boxes.arrived, Slot: slot, Parity: parity})
}
