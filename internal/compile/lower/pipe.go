package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The family "pipe": all stages in every thread, along the outermost axis plane by plane. A
// lane holds a few neighbouring cells of a few rows, and for each stage in registers the
// planes of them that later stages read, and parts of what these will assign
// (pipeline.Parts). Neighbours along the row come by shuffles. In three dimensions the warps
// of a block are stacked along the middle axis and pass the rows at their edges through
// shared memory, with one barrier a plane; in two dimensions warps have nothing to do with
// each other. Each stage lags behind those that it reads
// (3.5D blocking: Nguyen et al. 2010; AN5D: Matsumura et al. 2020).

func init() {
	register(&family{
		name: "pipe", doc: "several iterations along a stream, all of them in the registers of every thread", place: 50,
		target: GPU, rank: func(rank int) bool { return rank == 2 || rank == 3 },
		declare: declarePipe, needs: []machine.Capability{machine.Shuffle},
		offersSpan: offerSums, optional: []schedule.Param{retimeParam},
		spans: func(p *pipeline.Pipeline) error {
			_, err := streamOf(p)
			return err
		},
		span: (*spanKernel).piped,
	})
}

func declarePipe(axes []string) ([]schedule.Param, []schedule.Constraint) {
	const source = "Matsumura et al. 2020, section 4; Rawat et al. 2019, section III-A"
	var blocks, cells []schedule.Value
	// A multiprocessor has four files of registers: 10 warps would leave a thread no more of them than 12 do.
	for _, w := range []int64{8, 4, 12, 16, 2, 1, 6} {
		blocks = append(blocks, schedule.Int(w, 32))
	}
	if len(axes) == 2 {
		for _, n := range []int64{4, 2, 6, 8, 1, 10, 12, 16, 20, 3, 5, 9} {
			cells = append(cells, schedule.Int(n))
		}
	} else {
		for _, n := range [][2]int64{
			{4, 2}, {5, 2}, {6, 2}, {3, 2}, {2, 2}, {2, 1}, {4, 1}, {1, 2}, {3, 1}, {8, 2}, {4, 4}, {5, 4}, {10, 2},
			{2, 4}, {1, 4}, {3, 4}, {6, 4}, {7, 2},
		} {
			cells = append(cells, schedule.Int(n[0], n[1]))
		}
	}
	registers := schedule.Numbers(0, 255, 224, 200, 184, 168, 152, 128, 96, 80)
	persistent := schedule.Numbers(0, 1, 2, 3, 4, 6, 8)
	copied, split := schedule.Numbers(2, 1, 3, 4), schedule.Word(schedule.SplitBarrier)
	rows, prefetched := schedule.Word(schedule.RowRims), schedule.Word(schedule.PrefetchedOperands)
	params := []schedule.Param{
		{
			Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis,
			Doc: "warps of a block, and the threads of a warp", Source: source, Values: blocks, Default: blocks[0],
		},
		{
			Name: "cells", Role: schedule.BlockedUnroll, Axis: schedule.InnerAxis,
			Doc: "rows of a thread, and neighbouring cells of each", Source: source, Values: cells, Default: cells[0],
		},
		{
			Name: "chunk", Role: schedule.StreamLength, Axis: schedule.StreamAxis,
			Doc:    "planes that a block stores; 0 is the whole stream",
			Source: source, Default: schedule.Int(128),
			Values: schedule.Numbers(128, 0, 16, 32, 48, 64, 80, 96, 112, 144, 160, 176, 192, 256, 384, 512, 1024, 7),
			Finer:  func() []schedule.Value { return schedule.Numbers(integers(4, 512, 1)...) },
		},
		{
			Name: "stages", Role: schedule.Staging, Axis: schedule.StreamAxis,
			Doc: "planes that are copied to shared memory ahead of their use, asynchronously; 0 loads the next plane " +
				"into registers, as do neighbouring cells of less than 4 bytes",
			Source: "Rawat et al. 2019, section III-A", Values: append(copied, schedule.Int(0)), Default: copied[0],
			Needs: []schedule.Need{{Capability: machine.Shared, Values: copied},
				{Capability: machine.AsyncCopy, Values: copied}},
		},
		{
			Name: "pointwise", Role: schedule.Pointwise,
			Doc: "grids that a stage reads at its own cell alone: their cells are copied to shared memory as many " +
				"planes ahead as those of others, or loaded where they are used; stages=0 always loads them there",
			Source: "measured, docs/performance-log.md", Default: prefetched,
			Values: []schedule.Value{prefetched, schedule.Word(schedule.DirectOperands)},
		},
		{
			Name: "persistent", Role: schedule.PersistentBlocks,
			Doc: "blocks of each multiprocessor, which share all tiles evenly: first whole ones, then pieces of " +
				"those that are left; 0 starts a block for each tile and chunk",
			Source: "Osama et al. 2023, Stream-K", Values: persistent, Default: persistent[0],
		},
		sizesParam(),
		{
			Name: "registers", Role: schedule.RegisterLimit, Doc: "most registers of a thread; 0 is no limit",
			Source: "Garvey 2018, section 4", Values: registers, Default: registers[0],
		},
	}
	if len(axes) == 3 {
		common, edge := schedule.Word(schedule.CommonLoop), schedule.Word(schedule.EdgeTiles)
		neighbours := schedule.Numbers(2, 4)
		params = append(params, schedule.Param{
			Name: "barrier", Role: schedule.BlockBarrier,
			Doc: "how warps meet once a plane: all wait for the last, or each says that its rows are there, does " +
				"what needs no others, and waits then",
			Source: "CUDA C++ Programming Guide, asynchronous barrier", Default: split,
			Values: []schedule.Value{split, schedule.Word(schedule.WholeBarrier)},
			Needs:  []schedule.Need{{Capability: machine.Mbarrier, Values: []schedule.Value{split}}},
		}, schedule.Param{
			Name: "rims", Role: schedule.RimPlacement,
			Doc: "when cells that are not assigned are put in place: once the rows are through that other warps wait " +
				"for, and again for the others, or once all are",
			Source: "measured, docs/performance-log.md", Default: rows,
			Values: []schedule.Value{rows, schedule.Word(schedule.StepRims)},
		}, schedule.Param{
			Name: "rimvec", Role: schedule.RimVector,
			Doc: "rows of a column of such cells that a thread loads together, at the most; 1 takes no registers " +
				"beside those of the cells",
			Source: "measured, docs/performance-log.md", Default: schedule.Int(4), Values: schedule.Numbers(4, 1, 2),
		}, schedule.Param{
			Name: "rimtiles", Role: schedule.RimTiles,
			Doc: "which tiles put such cells in place: those at the edges of the domain, after a test, or all, at " +
				"their ends, without one",
			Source: "docs/performance-log.md", Default: edge,
			Values: []schedule.Value{edge, schedule.Word(schedule.AllTiles)},
		}, schedule.Param{
			Name: "rimless", Role: schedule.RimlessLoop,
			Doc: "which loop blocks take that have no such cells: the same, or one of their own, which does not look " +
				"for them, but is more code",
			Source: "measured, docs/performance-log.md", Default: common,
			Values: []schedule.Value{common, schedule.Word(schedule.OwnLoop)},
		}, schedule.Param{
			Name: "cluster", Role: schedule.ClusterBlocks,
			Doc: "blocks side by side on the axis that warps are stacked along, which compute one tile: they send " +
				"each other the rows at their edges",
			Source: "CUDA C++ Programming Guide, distributed shared memory", Default: schedule.Int(1),
			Values: append(schedule.Numbers(1), neighbours...),
			Needs:  []schedule.Need{{Capability: machine.Cluster, Values: neighbours}},
		})
	}
	return params, []schedule.Constraint{wholeStreams}
}

// pipe is a kernel of the family: the shape of its blocks, and the values that threads hold.
type pipe struct {
	*spanKernel
	stream   *pipeline.Stream
	warps    int64
	rows     int64 // of a thread; 1 in two dimensions
	run      int64 // neighbouring cells of a row
	vec      int64 // of which one access moves so many
	turns    int64 // steps that the loop is unrolled by
	oldest   int64 // steps before which planes came that warps read, at the most
	prefetch int64 // planes that are copied to shared memory before they are needed; 0 for none
	persists int64 // blocks of the whole device, which share all tiles; 0 if each tile has its own
	halo     []pipeline.Halo
	tile     []int64 // cells that a block inside the domain stores along the stream, the rows and the row
	// tileFaces says by axis that boundaries are read through at the ends of tiles.
	tileFaces []bool

	extents    []ir.Dim // of all arrays
	lo, hi     []kernel.Expr
	first, end kernel.Expr      // planes that the block stores
	corner     []kernel.Expr    // the first position on each axis that the block, or the warp, computes
	own        [][2]kernel.Expr // the first that it stores, and the one after the last
	row0, x0   kernel.Expr      // the thread's first row and cell
	warp, lane kernel.Expr
	held       map[*pipeline.Source][][][]*kernel.Var // by turn, row and cell
	next       map[*pipeline.Source][][]*kernel.Var   // the plane of the next step
	parts      map[*pipeline.Stage][]pipeline.Parts   // by row
	carried    map[partOf][][]*kernel.Var             // their values, by turn and cell
	edges      map[*pipeline.Source]*kernel.Buffer    // rows for other warps
	circular   map[*pipeline.Source]*kernel.Buffer    // planes that memory brings
	operands   map[operandOf]*operand                 // cells of memory that are copied ahead
	arrived    *kernel.Buffer                         // where warps say that their rows are there
	cluster
	masks
	rims
}

// step is one of the steps that the loop is unrolled by.
type pipeStep struct {
	*pipe
	turn int64
	// guarded steps may have cells that no stage assigns, or beyond the ends of the arrays.
	guarded bool
	// withRims steps put rims in place late.
	withRims bool
	now      kernel.Expr // the plane that memory brings
	number   kernel.Expr // of the step
	body     *scope
	moved    map[string]*kernel.Var              // what shuffles and shared memory have brought in this step
	made     map[*pipeline.Stage][][]*kernel.Var // what stages have made, by row and cell
}

// piped builds the kernel.
func (s *spanKernel) piped() ([]kernel.Stmt, error) {
	if s.set.Word(schedule.Retiming) == retimedSums {
		s.sortSums()
	}
	stream, err := streamOf(s.pipeline)
	if err != nil {
		return nil, err
	}
	block, cells := s.set.Ints(schedule.Threads), s.set.Ints(schedule.BlockedUnroll)
	p := &pipe{
		spanKernel: s, stream: stream, warps: block[0], rows: 1, run: cells[len(cells)-1],
		held: map[*pipeline.Source][][][]*kernel.Var{}, next: map[*pipeline.Source][][]*kernel.Var{},
		edges: map[*pipeline.Source]*kernel.Buffer{}, circular: map[*pipeline.Source]*kernel.Buffer{},
		parts: map[*pipeline.Stage][]pipeline.Parts{}, carried: map[partOf][][]*kernel.Var{},
		operands: map[operandOf]*operand{},
		prefetch: s.set.Int(schedule.Staging, 0),
		persists: s.opts.persistentBlocks(s.set.Int(schedule.PersistentBlocks, 0)),
	}
	p.cluster.blocks = 1
	if len(s.axes) == 3 {
		p.rows = cells[0]
		p.cluster.blocks = s.set.Int(schedule.ClusterBlocks, 1)
		if p.persists > 0 { // of clusters
			p.persists = max(p.persists/p.cluster.blocks, 1)
		}
	}
	if err := p.shape(); err != nil {
		return nil, err
	}
	return p.blocks(), nil
}

// LeastCopy and MostCopy are the bytes that an asynchronous copy moves at the least and at the most.
const LeastCopy, MostCopy = 4, 16

// mostPlanes is how many planes of a source threads hold at most.
const mostPlanes = 8

// streamOf returns the pipeline as a stream, or says why the family cannot carry it out.
func streamOf(p *pipeline.Pipeline) (*pipeline.Stream, error) {
	s, err := pipeline.NewStream(p)
	if err != nil {
		return nil, err
	}
	if s.Planes > mostPlanes {
		return nil, fmt.Errorf("family=pipe: %d planes of a stage are read at a time: at most %d are held", s.Planes,
			mostPlanes)
	}
	first := s.Sources[0].Value.Dims()
	for _, x := range s.Sources {
		for d, dim := range x.Value.Dims() {
			if !dim.Lo.Equal(first[d].Lo) || !dim.Hi.Equal(first[d].Hi) {
				return nil, fmt.Errorf("family=pipe: %s and %s differ in size", s.Sources[0].Value.Name(),
					x.Value.Name())
			}
		}
	}
	return s, nil
}

// wraps reports whether a boundary leads from one end of an axis to the other.
func (p *pipe) wraps(k int) bool { return p.pipeline.Wraps[k] }

// middle reports whether there is an axis that warps are stacked along.
func (p *pipe) middle() bool { return len(p.axes) == 3 }

// shape decides the tile, or says why the program or the block has none.
func (p *pipe) shape() error {
	last := len(p.axes) - 1
	p.halo = make([]pipeline.Halo, len(p.axes))
	limit := func(what string, need, have int64, of string) error {
		return &ResourceLimit{p.name, what, need, have, of}
	}
	p.extents = p.stream.Sources[0].Value.Dims()
	for _, x := range p.stream.Sources {
		for k := range p.axes {
			p.halo[k].Low, p.halo[k].High = max(p.halo[k].Low, x.Halo[k].Low), max(p.halo[k].High, x.Halo[k].High)
		}
		if rows := max(x.Rows.Low, x.Rows.High); rows > p.rows {
			return limit("rows of a neighbouring thread", rows, p.rows, "a thread")
		}
	}
	p.vec = p.vector()
	if p.wraps(last) && !p.vectorsFit() {
		p.vec = 1
	}
	for _, x := range p.stream.Sources {
		if x.Stage == nil && p.vec*int64(x.Value.Type().Size()) < LeastCopy {
			p.prefetch = 0
		}
	}
	p.decideRims()
	for k := range p.axes {
		p.tileFaces = append(p.tileFaces, p.facesAtTiles(k))
	}
	p.turns = 1
	for _, st := range p.stream.Stages {
		for r := range p.rows {
			parts := p.stream.Parts(st, r, p.rows-1-r)
			if p.opts.Guard {
				if err := p.stream.VerifyParts(parts, r, p.rows-1-r); err != nil {
					return err
				}
			}
			if p.late { // nothing is kept in registers
				parts.Keeper = -1
			}
			p.parts[st] = append(p.parts[st], parts)
			p.turns, p.oldest = max(p.turns, parts.Turns()), max(p.oldest, parts.Oldest)
		}
	}
	if err := p.serves(p.extents, p.stream.Least); err != nil {
		return err
	}
	p.halo[last].Low = (p.halo[last].Low + p.vec - 1) / p.vec * p.vec
	p.tile = []int64{p.set.Int(schedule.StreamLength, 0)}
	if p.middle() {
		p.tile = append(p.tile, p.span(1)-p.halo[1].Low-p.halo[1].High)
	}
	p.tile = append(p.tile, (32*p.run-p.halo[last].Low-p.halo[last].High)/p.vec*p.vec)
	for k, n := range p.tile {
		if k > 0 && n < 1 { // use more cells or warps, or fewer iterations
			of := "a block"
			if k < last && p.clustered() {
				of = "a cluster"
			}
			return limit("cells of halos along "+p.Program.Axes[p.axes[k]], p.halo[k].Low+p.halo[k].High, p.span(k), of)
		}
	}
	p.tiled(p.tile)
	return nil
}

// wholeStreams holds where blocks that share all tiles cut the stream by themselves.
var wholeStreams = schedule.Constraint{
	Name: "whole streams", Doc: "blocks that share all tiles cut the stream by themselves",
	Params: []string{"chunk", "persistent"},
	Holds:  func(c schedule.Config) bool { return c.Int("persistent") == 0 || c.Int("chunk") == 0 },
}
