package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The family "resident": blocks stay on the device for many iterations, and keep their cells in
// registers. The warps of a block are stacked along the rows, and each lane has a few neighbouring
// cells of a few rows. In a round, a block computes the iterations of a span on its tile and a halo;
// then it leaves the cells at its ends in memory, and takes those of the blocks next to it
// (PERKS: Zhang et al. 2023; overlapped tiling between exchanges: Meng and Skadron 2009).

func init() {
	register(&family{
		name: "resident", doc: "many iterations of a domain that fits on the chip, exchanging halos every few of them",
		place: 70, target: GPU, rank: func(rank int) bool { return rank == 2 },
		declare: declareResident, needs: []machine.Capability{machine.GridBarrier, machine.Shuffle},
		spans: func(p *pipeline.Pipeline) error {
			_, err := residentOf(p)
			return err
		},
		fits: residentFits, repeats: true, span: (*spanKernel).resident,
	})
}

func declareResident([]string) ([]schedule.Param, []schedule.Constraint) {
	const source = "Zhang et al. 2023, section 4; Meng and Skadron 2009"
	var blocks, cells []schedule.Value
	for _, w := range []int64{12, 8, 16, 10, 14, 18, 20, 24, 6, 4, 2, 1} {
		blocks = append(blocks, schedule.Int(w, 32))
	}
	for _, n := range [][2]int64{
		{6, 5}, {6, 4}, {5, 4}, {4, 4}, {8, 4}, {5, 5}, {4, 5}, {9, 5}, {4, 6}, {6, 6}, {10, 4}, {12, 4}, {4, 8},
		{8, 2}, {4, 2}, {2, 2}, {2, 4}, {4, 1}, {2, 1}, {1, 1}, {5, 1}, {3, 3}, {12, 2},
	} {
		cells = append(cells, schedule.Int(n[0], n[1]))
	}
	split := schedule.Word(schedule.SplitBarrier)
	near := schedule.Word(schedule.NeighbourWait)
	registers := schedule.Numbers(0, 255, 224, 200, 184, 168, 152, 128, 96, 80)
	return []schedule.Param{
		{
			Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis,
			Doc: "warps of a block, and the threads of a warp", Source: source, Values: blocks, Default: blocks[0],
		},
		{
			Name: "cells", Role: schedule.BlockedUnroll, Axis: schedule.InnerAxis,
			Doc: "rows of a thread, and neighbouring cells of each", Source: source, Values: cells, Default: cells[0],
		},
		{
			Name: "wait", Role: schedule.BlockWait,
			Doc:    "whom a block waits for at an exchange: the blocks next to it, or all",
			Source: source, Values: []schedule.Value{near, schedule.Word(schedule.GridWait)}, Default: near,
		},
		{
			Name: "barrier", Role: schedule.BlockBarrier,
			Doc: "how warps meet once an iteration: all wait for the last, or each says that its rows are there, " +
				"does what needs no others, and waits then",
			Source: "CUDA C++ Programming Guide, asynchronous barrier", Default: split,
			Values: []schedule.Value{split, schedule.Word(schedule.WholeBarrier)},
			Needs:  []schedule.Need{{Capability: machine.Mbarrier, Values: []schedule.Value{split}}},
		},
		sizesParam(),
		{
			Name: "registers", Role: schedule.RegisterLimit, Doc: "most registers of a thread; 0 is no limit",
			Source: "Garvey 2018, section 4", Values: registers, Default: registers[0],
		},
	}, nil
}

// resident is a kernel of the family: the shape of its blocks, and the values that threads hold.
type resident struct {
	*spanKernel
	stream *pipeline.Stream
	warps  int64
	rows   int64 // of a thread
	run    int64 // neighbouring cells of a row
	halo   []pipeline.Halo
	tile   []int64 // cells that a block inside the domain stores on each axis, at the most

	extents []ir.Dim // of all arrays
	states  []*residentState
	results []residentResult
	edges   map[*graph.Value]*edgeRows
	last    map[*pipeline.Stage]bool // that publish rows
	arrived *kernel.Buffer           // where warps say that their rows are there
	meets   int64                    // how often warps meet in a round

	lo, hi     []kernel.Expr // of all arrays
	laid       [][]tileAt    // the tiles of each axis; none where sizes are arguments
	count      []kernel.Expr // of tiles, by axis
	block      []kernel.Expr // numbers of the block, by axis
	own        [][2]kernel.Expr
	warp, lane kernel.Expr
	place      [][]kernel.Expr // of the thread's rows, and of its cells; beyond the ends where an axis wraps
	round      kernel.Expr
}

// residentState is a grid whose contents the threads hold from round to round.
type residentState struct {
	grid *ir.Grid // whose contents these are when a round begins
	// What the contents of the next round are: those that a stage makes, or those of another state.
	next *pipeline.Stage
	from *residentState
	halo []pipeline.Halo // how far beyond its tile a block reads them
	// exchanged says that cells of the halo come from other blocks: those that a block computes
	// there are wrong once a round is over.
	exchanged bool
	cells     [][]*kernel.Var // by row and cell
}

// residentOf returns the pipeline as a stream, or says why the family cannot carry it out.
func residentOf(p *pipeline.Pipeline) (*pipeline.Stream, error) {
	s, err := pipeline.NewStream(p)
	if err != nil {
		return nil, err
	}
	var first []ir.Dim
	domain := map[*ir.Grid]*pipeline.Stage{}
	for _, st := range p.Stages {
		var failed error
		check := func(name string, dims []ir.Dim) {
			if first == nil {
				first = dims
			}
			for k := range p.Axes {
				switch {
				case len(dims) != len(p.Axes) || dims[k].Axis != p.Axes[k]:
					failed = fmt.Errorf("family=resident: %s has not all axes", name)
				case !dims[k].Lo.Equal(first[k].Lo) || !dims[k].Hi.Equal(first[k].Hi):
					failed = fmt.Errorf("family=resident: %s has other ends than other grids", name)
				}
				if failed != nil {
					return
				}
			}
		}
		check(st.Stmt.Array.Name, st.Stmt.Array.Dims)
		if failed != nil { // it may have no accesses
			return nil, failed
		}
		if st.Fills() { // what is left as it was has to be that in all rounds
			for g := range movedGrids(p, st.Value.Memory) {
				if other := domain[g]; other != nil && !other.Stmt.Domain.Equal(st.Stmt.Domain) {
					return nil, fmt.Errorf(
						"family=resident: %s and %s change places, and are assigned on different domains",
						st.Stmt.Array.Name, other.Stmt.Array.Name)
				}
				domain[g] = st
			}
		}
		if err := st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if failed == nil {
				check(a.Array.Name, a.Array.Dims)
			}
			for d, ix := range a.Index {
				if failed == nil && ix.Axis != p.Axes[d] {
					failed = fmt.Errorf("family=resident: %s is read at one place along a dimension", a.Array.Name)
				}
			}
			return failed
		}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// residentFits refuses domains with more cells than all registers of the device hold.
func residentFits(m *module, p *pipeline.Pipeline) error {
	stream, err := residentOf(p)
	if err != nil {
		return err
	}
	r := &resident{spanKernel: &spanKernel{nest: &nest{module: m, axes: p.Axes}, pipeline: p}, stream: stream}
	r.findStates()
	need := int64(0)
	for _, s := range r.states {
		cells := int64(1)
		for _, d := range s.grid.Dims {
			cells *= max(0, m.opts.Bound.Extent(d).Len())
		}
		need += cells * registersOf(s.grid.Type)
	}
	if have := int64(m.opts.machine().Units) * int64(m.opts.gpu().Registers); need > have {
		return fmt.Errorf("family=resident: the cells take %d registers, and the device has %d", need, have)
	}
	return nil
}

// movedGrids returns the grids that the memory of a grid serves in turn.
func movedGrids(p *pipeline.Pipeline, of *ir.Grid) map[*ir.Grid]bool {
	set := map[*ir.Grid]bool{of: true}
	for more := true; more; {
		more = false
		for _, o := range p.Span.Body() {
			r, ok := o.(*ir.Rotate)
			if !ok || !slices.ContainsFunc(r.Grids, func(g *ir.Grid) bool { return set[g] }) {
				continue
			}
			for _, g := range r.Grids {
				more = more || !set[g]
				set[g] = true
			}
		}
	}
	return set
}

// resident builds the kernel.
func (s *spanKernel) resident() ([]kernel.Stmt, error) {
	stream, err := residentOf(s.pipeline)
	if err != nil {
		return nil, err
	}
	block, cells := s.set.Ints(schedule.Threads), s.set.Ints(schedule.BlockedUnroll)
	r := &resident{
		spanKernel: s, stream: stream, warps: block[0], rows: cells[0], run: cells[1],
		edges: map[*graph.Value]*edgeRows{}, last: map[*pipeline.Stage]bool{},
	}
	r.findStates()
	if err := r.shape(); err != nil {
		return nil, err
	}
	return r.blocks(), nil
}

// findStates finds the grids that threads hold: those that stages read as they were when a round began,
// and those that take their places.
func (r *resident) findStates() {
	moved := homes(r.pipeline)
	add := func(g *ir.Grid) *residentState {
		for _, s := range r.states {
			if s.grid == g {
				return s
			}
		}
		s := &residentState{grid: g, halo: make([]pipeline.Halo, len(r.axes))}
		r.states = append(r.states, s)
		return s
	}
	for _, st := range r.pipeline.Stages {
		if v := st.Value.Before; v != nil && v.Def == nil && st.Fills() {
			add(v.Memory)
		}
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if v.Def != nil {
				return nil
			}
			s := add(v.Memory)
			r.stream.Offsets(a, func(offset []int64, _ []pipeline.Face) {
				for k, o := range offset {
					s.halo[k].Low = max(s.halo[k].Low, st.Halo[k].Low-o)
					s.halo[k].High = max(s.halo[k].High, st.Halo[k].High+o)
				}
			})
			return nil
		})
	}
	made := map[*ir.Grid]*pipeline.Stage{} // by the name of the memory
	for _, st := range r.pipeline.Stages {
		if st.Value.Memory != nil {
			made[st.Value.Memory] = st
		}
	}
	changed := map[*ir.Grid]bool{} // by the round, or one before
	for range r.Program.Grids {
		for _, g := range r.Program.Grids {
			home := moved[g]
			if made[home] == nil && changed[home] { // it goes from grid to grid
				add(g)
				changed[g] = true
			}
			changed[g] = changed[g] || made[home] != nil
		}
	}
	for i := 0; i < len(r.states); i++ { // further ones are added
		s := r.states[i]
		home := moved[s.grid]
		if s.next = made[home]; s.next == nil {
			s.from = add(home)
		}
		s.exchanged = s.from != s && !slices.Equal(s.halo, make([]pipeline.Halo, len(r.axes)))
	}
	r.findResults(moved, made, changed)
}

// residentResult is contents that a span leaves in memory.
type residentResult struct {
	grid  *ir.Grid        // that has them when all rounds are over
	stage *pipeline.Stage // what makes them in the last round; nil if an earlier one has
	state *residentState  // that has them when all rounds are over, or nil
}

// findResults finds what is left in memory. Contents that nothing reads later are
// stored, too, where they are at hand: then no iterations have to follow.
func (r *resident) findResults(moved map[*ir.Grid]*ir.Grid, made map[*ir.Grid]*pipeline.Stage,
	changed map[*ir.Grid]bool) {
	r.complete = true
	for _, g := range r.Program.Grids {
		st := made[moved[g]]
		if final := r.pipeline.Span.Final[g]; final.Def != nil && (st == nil || st.Value != final) {
			r.complete = false
			continue
		}
		if changed[g] {
			r.results = append(r.results, residentResult{g, st, r.stateOf(g)})
		}
	}
}

// stateOf returns the state of a grid, or nil.
func (r *resident) stateOf(g *ir.Grid) *residentState {
	i := slices.IndexFunc(r.states, func(s *residentState) bool { return s.grid == g })
	if i < 0 {
		return nil
	}
	return r.states[i]
}

// wraps reports whether a boundary leads from one end of an axis to the other.
func (r *resident) wraps(k int) bool { return r.pipeline.Wraps[k] }

// side is how many cells of an axis a block computes.
func (r *resident) side(k int) int64 { return []int64{r.warps * r.rows, 32 * r.run}[k] }

// shape decides the tile, or says why the program or the block has none.
func (r *resident) shape() error {
	limit := func(what string, need, have int64, of string) error {
		return &ResourceLimit{r.name, what, need, have, of}
	}
	r.extents = r.pipeline.Stages[0].Stmt.Array.Dims
	r.halo = make([]pipeline.Halo, len(r.axes))
	widen := func(by []pipeline.Halo) {
		for k := range r.axes {
			r.halo[k].Low, r.halo[k].High = max(r.halo[k].Low, by[k].Low), max(r.halo[k].High, by[k].High)
		}
	}
	for _, s := range r.states {
		widen(s.halo)
	}
	for _, st := range r.pipeline.Stages { // one may be needed at cells at which no state is
		widen(st.Halo)
	}
	for k, axis := range r.axes {
		halo, name := r.halo[k].Low+r.halo[k].High, r.Program.Axes[axis]
		r.tile = append(r.tile, r.side(k)-halo)
		if r.tile[k] < 1 { // use more cells or warps, or fewer iterations between exchanges
			return limit("cells of halos along "+name, halo, r.side(k), "a block")
		}
	}
	if err := r.serves(r.extents, r.stream.Least); err != nil {
		return err
	}
	r.tiled(r.tile)
	if err := r.shareEdges(); err != nil {
		return err
	}
	return r.fitsChip()
}

// fitsChip refuses a domain of a known size that takes more blocks than can run at once, as far
// as that can be known before the kernel is compiled.
func (r *resident) fitsChip() error {
	if !r.opts.Sized || !r.exchanges() {
		return nil
	}
	blocks := int64(1)
	for k := range r.axes {
		n, _ := kernel.IntLit(r.tiles(k, func(param int) kernel.Expr { return kernel.I(r.opts.Bound.Params[param]) }))
		blocks *= n
	}
	gpu := r.opts.gpu()
	registers := int64(baseRegisters)
	for _, s := range r.states {
		registers += r.rows * r.run * registersOf(s.grid.Type)
	}
	shared := int64(0)
	for _, b := range r.edgeBuffers() {
		n, _ := b.Fixed()
		shared += unitsOf(n*int64(b.Elem.Size()), 16)
	}
	room := int64(r.opts.machine().Units) * residentBlocks(gpu, 32*r.warps, registers, shared)
	if blocks > room {
		return &ResourceLimit{r.name, "blocks that wait for each other", blocks, room, "the device"}
	}
	return nil
}

// tiles is how many tiles an axis has: as few as can be, which share the cells evenly.
func (r *resident) tiles(k int, size func(int) kernel.Expr) kernel.Expr {
	return kernel.CeilDiv(kernel.Max(r.divided(k, size), kernel.I(1)), kernel.I(r.tile[k]))
}

// cellsOn is how many cells the arrays have on an axis.
func (r *resident) cellsOn(k int, size func(int) kernel.Expr) kernel.Expr {
	return kernel.Add(kernel.Sub(affine(r.extents[k].Hi, size), affine(r.extents[k].Lo, size)), kernel.I(1))
}

// divided is how many cells all tiles of an axis share evenly. Where the axis does not wrap, the
// first tile and the last have no halo beyond the ends, and so many more cells of their own.
func (r *resident) divided(k int, size func(int) kernel.Expr) kernel.Expr {
	n := r.cellsOn(k, size)
	if !r.wraps(k) {
		n = kernel.Sub(n, kernel.I(r.halo[k].Low+r.halo[k].High))
	}
	return n
}
