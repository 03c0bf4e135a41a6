package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The parameters of the family "planes".

// planesFamily is the family's name.
const planesFamily = "planes"

// copyTensor is the word for planes that the copy engine brings whole.
const copyTensor = "tensor"

func init() {
	register(&family{
		name: planesFamily, doc: "statements plane by plane: planes in shared memory, columns in registers", place: 55,
		target: GPU, rank: func(rank int) bool { return rank == 2 || rank == 3 }, can: (*nest).byPlanes,
		declare: declarePlanes,
		spans: func(p *pipeline.Pipeline) error {
			_, err := pipeline.NewPlanes(p, pipeline.Keeps{})
			return err
		},
		offersSpan: func(program *ir.Program, p *pipeline.Pipeline, f *schedule.Family) {
			offerParts(program, p, f)
			offerSpanRows(program, p, f)
			offerRimless(p, f)
		},
		offers:   []func(*nest, *schedule.Family){(*nest).offerPipeline},
		optional: []schedule.Param{retimeParam, rowsParam, rimlessParam, readOnlyParam},
		seeds: map[int][]string{ // bench/results/spatial-planes-h200.json
			2: {"vec=W,block=128,chunk=64,sizes=literals,cse=yes"},
			3: {
				// columns in registers, neighbours from the caches
				"vec=W,block=8x32,rows=2,chunk=4,stores=rows,columns=all,layout=shifted,sizes=literals,cse=yes",
				// planes in shared memory
				"vec=W,block=2x256,rows=2,chunk=128,stages=2,refetch=no,stores=rows,sizes=literals,cse=yes",
				// and long reach
				"vec=W,block=4x64,rows=4,chunk=252,stages=2,copy=tensor,refetch=no,unroll=4,loads=first,stores=rows," +
					"sizes=literals,cse=yes",
				"vec=W,block=4x64,rows=4,chunk=0,stages=2,issue=before,refetch=no,unroll=2,stores=rows,sizes=literals," +
					"cse=yes",
				"block=4x128,rows=6,chunk=168,stages=1,copy=tensor,refetch=no,unroll=2,stores=rows,sizes=literals,cse=yes",
				// boxes, in parts
				"vec=H,block=2x256,rows=8,chunk=64,prefetch=1,retime=yes,unroll=2,columns=none,sizes=literals,cse=yes",
				"vec=W,block=2x256,rows=2,chunk=256,stages=2,issue=before,refetch=no,retime=yes,unroll=2,loads=first," +
					"columns=none,sizes=literals,cse=yes,registers=96",
			},
		},
		expert: []string{"family=planes,block=4x64"},
		span:   (*spanKernel).planeByPlane,
	})
}

func declarePlanes(axes []string) ([]schedule.Param, []schedule.Constraint) {
	const source = "Rawat et al. 2019, section III-A"
	var blocks []schedule.Value
	if len(axes) == 2 {
		blocks = schedule.Numbers(128, 64, 256, 512, 32)
	} else {
		for _, n := range [][2]int64{
			{8, 32}, {4, 64}, {16, 32}, {8, 64}, {4, 32}, {2, 64}, {16, 16}, {2, 128}, {4, 128}, {4, 16}, {16, 64},
			{8, 16}, {16, 8}, {1, 256}, {2, 256}, {1, 512},
		} {
			blocks = append(blocks, schedule.Int(n[0], n[1]))
		}
	}
	rows := schedule.Numbers(1, 2, 3, 4, 6, 8)
	if len(axes) == 2 {
		rows = rows[:1]
	}
	registers := schedule.Numbers(0, 255, 224, 200, 168, 128, 96, 80, 64)
	copied := schedule.Numbers(1, 2, 3)
	return []schedule.Param{
		{
			Name: "stream", Role: schedule.Stream, Axis: schedule.StreamAxis,
			Doc:    "the axis that a block of threads goes along, plane by plane: the outermost",
			Source: zhang25d, Values: schedule.Words(axes[0]), Default: schedule.Word(axes[0]),
		},
		{
			Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis, Doc: "threads of a block", Source: source,
			Values: blocks, Default: blocks[0],
		},
		{
			Name: "rows", Role: schedule.BlockedUnroll, Axis: schedule.OuterAxis, Doc: "neighbouring rows of a thread",
			Source: source, Values: rows, Default: rows[0],
		},
		{
			Name: "vec", Role: schedule.Vector, Axis: schedule.InnerAxis,
			Doc:    "neighbouring cells of a row that a thread has, and loads and stores together",
			Source: "V. Volkov, Better Performance at Lower Occupancy, GTC 2010",
			Values: schedule.Numbers(1, 2, 4), Default: schedule.Int(1),
		},
		{
			Name: "chunk", Role: schedule.StreamLength, Axis: schedule.StreamAxis,
			Doc: "planes that a block stores; 0 is the whole stream", Source: source, Default: schedule.Int(64),
			Values: schedule.Numbers(64, 0, 32, 16, 40, 80, 107, 128, 160, 256, 7, 4, 84, 168, 252),
			Finer:  func() []schedule.Value { return schedule.Numbers(integers(4, 512, 1)...) },
		},
		{
			Name: "prefetch", Role: schedule.Prefetch, Axis: schedule.StreamAxis,
			Doc:    "planes by which threads load the cells of their columns early",
			Source: "Rawat et al. 2019, section III-A", Values: schedule.Numbers(0, 1), Default: schedule.Int(0),
		},
		{
			Name: "stages", Role: schedule.Staging, Axis: schedule.StreamAxis,
			Doc: "planes that are copied to shared memory before their use, asynchronously, of grids that threads " +
				"read at cells of others; 0 reads them in memory, as are cells of less than 4 bytes",
			Source: source, Values: append(schedule.Numbers(0), copied...), Default: schedule.Int(0),
			Needs: []schedule.Need{{Capability: machine.Shared, Values: copied},
				{Capability: machine.AsyncCopy, Values: copied}},
		},
		{
			Name: "copy", Role: schedule.StagingCopy,
			Doc: "who copies planes to shared memory: all threads, or the block's copy engine whole planes, those " +
				"that only columns read, too",
			Source: "CUDA C++ Programming Guide, asynchronous data copies",
			Values: schedule.Words(schedule.AsyncCopies, copyTensor), Default: schedule.Word(schedule.AsyncCopies),
			Needs: []schedule.Need{
				{Capability: machine.TensorCopy, Values: schedule.Words(copyTensor)},
				{Capability: machine.Mbarrier, Values: schedule.Words(copyTensor)},
			},
			When: []schedule.Condition{schedule.When("stages", copied...)},
		},
		{
			Name: "issue", Role: schedule.CopyIssue,
			Doc: "whether threads begin to copy a later plane after the barrier of a step, or before it, which takes " +
				"one slot more, while others still compute",
			Source: "measured, docs/performance-log.md", Default: schedule.Word(schedule.AfterBarrier),
			Values: schedule.Words(schedule.AfterBarrier, schedule.BeforeBarrier),
			When: []schedule.Condition{
				schedule.When("stages", copied...), schedule.When("copy", schedule.Word(schedule.AsyncCopies)),
			},
		},
		{
			Name: "refetch", Role: schedule.Refetch,
			Doc: "whether planes that columns read before neighbours do are copied again for those, or stay in " +
				"shared memory meanwhile",
			Source: source, Default: schedule.Word(schedule.RefetchedPlanes),
			Values: schedule.Words(schedule.RefetchedPlanes, schedule.KeptPlanes),
			When:   []schedule.Condition{schedule.When("stages", copied...)},
		},
		{
			Name: "unroll", Role: schedule.StreamUnroll,
			Doc: "steps that compilers are to write out one after the other, so that columns move on without " +
				"copies, and places in circular buffers are known where it is a multiple of theirs; 0 leaves that " +
				"to them",
			Source: "Rawat et al. 2019, section III-A", Values: schedule.Numbers(0, 2, 3, 4), Default: schedule.Int(0),
		},
		{
			Name: "loads", Role: schedule.LoadOrder,
			Doc: "whether threads load for all statements together, in the order that compilers choose, or first of " +
				"all, for one statement after the other, or for some terms of a statement after others: that takes " +
				"fewer registers, and loads more often what is read in several places",
			Source: "measured, docs/performance-log.md", Default: schedule.Word(schedule.TogetherLoads),
			Values: schedule.Words(schedule.TogetherLoads, schedule.StatementLoads, schedule.TermLoads,
				schedule.FirstLoads),
			Needs: []schedule.Need{{ // a barrier of a warp
				Capability: machine.Shuffle, Values: schedule.Words(schedule.StatementLoads, schedule.TermLoads),
			}},
		},
		{
			Name: "stores", Role: schedule.StoreOrder,
			Doc: "whether a thread stores what it computes of a statement when all of its cells are there, or row by " +
				"row, so that stores are spread over a step, if it stores in every step",
			Source: "measured, docs/performance-log.md", Default: schedule.Word(schedule.TogetherStores),
			Values: schedule.Words(schedule.TogetherStores, schedule.RowStores),
		},
		{
			Name: "columns", Role: schedule.HeldColumns,
			Doc: "whose columns threads hold in registers where others read the same planes in shared memory: those " +
				"of grids, of statements, too, and of grids that statements read which are computed on a halo, or none",
			Source: "Rawat et al. 2019, section III-A", Default: schedule.Word(schedule.GridColumns),
			Values: schedule.Words(schedule.GridColumns, schedule.AllColumns, schedule.HaloColumns,
				schedule.NoColumns),
		},
		storeParam(),
		sizesParam(),
		cseParam(),
		{
			Name: "registers", Role: schedule.RegisterLimit, Doc: "most registers of a thread; 0 is no limit",
			Source: "Garvey 2018, section 4", Values: registers, Default: registers[0],
		},
	}, nil
}

// heldColumns are the words for pipeline.Held.
var heldColumns = map[string]pipeline.Held{
	schedule.GridColumns: pipeline.HeldGrids,
	schedule.AllColumns:  pipeline.HeldAll,
	schedule.HaloColumns: pipeline.HeldHalos,
	schedule.NoColumns:   pipeline.HeldNone,
}
