package lower

import (
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The family "stream": blocks of GPU threads go along an axis and keep planes in
// registers, in shared memory or in both (2.5D blocking).

func init() {
	register(&family{
		name: "stream", doc: "blocks of GPU threads go along an axis and keep planes in registers (2.5D)", place: 30,
		target: GPU, rank: func(rank int) bool { return rank > 1 }, can: (*nest).tileable,
		declare: declareStream,
		offers: []func(*nest, *schedule.Family){
			(*nest).preferStagedPart, (*nest).offerRetiming, (*nest).offerPerspectives, (*nest).offerLoading,
			(*nest).offerRows,
		},
		optional: []schedule.Param{retimeParam, perspectiveParam, rowsParam},
		seeds: map[int][]string{
			2: {"stream=j,vec=W,block=128,chunk=64,sizes=literals,unroll=yes"},
			3: {
				// planes in registers
				"stream=k,vec=W,block=16x32,rows=2,chunk=12,sizes=literals,stages=0,unroll=yes",
				// planes in shared memory
				"stream=k,vec=W,block=8x32,rows=2,chunk=256,sizes=literals,stages=1,staging=all,copy=async," +
					"perspective=output",
				// and long reach
				"stream=k,vec=W,block=16x16,rows=4,chunk=256,sizes=literals,stages=2,staging=all,copy=async," +
					"perspective=output",
				// boxes, in sums
				"stream=k,vec=2,block=4x64,rows=8,chunk=64,sizes=literals,stages=1,staging=halos,cse=yes,unroll=yes," +
					"prefetch=1,retime=yes",
				// boxes, as they come
				"stream=k,vec=H,block=1x512,rows=4,chunk=0,sizes=arguments,stages=3,staging=all,copy=async," +
					"perspective=input,cse=yes",
			},
		},
		expert: []string{"family=stream,block=4x64"},
		build:  (*nest).tiledKernel,
	})
}

func declareStream(axes []string) ([]schedule.Param, []schedule.Constraint) {
	rank := len(axes)
	params := []schedule.Param{
		{
			Name: "stream", Role: schedule.Stream, Axis: schedule.StreamAxis,
			Doc:    "the axis that a block of threads goes along, plane by plane",
			Source: zhang25d, Values: schedule.Words(axes[:rank-1]...), Default: schedule.Word(axes[0]),
		},
		{
			Name: "chunk", Role: schedule.StreamLength, Axis: schedule.StreamAxis,
			Doc:    "planes of a block; 0 goes along the whole axis",
			Source: "Rawat et al. 2019, section II", Default: schedule.Int(32),
			Values: schedule.Numbers(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 84, 96, 108, 128, 144,
				160, 192, 256),
			Finer: func() []schedule.Value { return schedule.Numbers(integers(4, 256, 1)...) },
		},
		{
			Name: "planes", Role: schedule.StreamPlanes, Axis: schedule.StreamAxis,
			Doc:    "planes that a thread computes before it goes on: the loop over planes is unrolled so often",
			Source: artemis, Values: schedule.Numbers(1, 2, 4), Default: schedule.Int(1),
			Finer: func() []schedule.Value { return schedule.Numbers(integers(1, 8, 1)...) },
		},
		{
			Name: "unroll", Role: schedule.StreamUnroll,
			Doc: "steps that the loop over planes makes at a time, so that queues of registers move less often; " +
				"yes for so many that they never do",
			Source: "Rawat et al. 2019, section III-A", Default: schedule.No,
			Values: []schedule.Value{schedule.No, schedule.Yes, schedule.Int(2), schedule.Int(4)},
		},
	}
	common, own := schedule.Word(schedule.CommonLoop), schedule.Word(schedule.OwnLoop)
	params = append(params, schedule.Param{
		Name: "rimless", Role: schedule.RimlessLoop,
		Doc: "which loop blocks take that update all of their cells: the same, or one of their own, which has no " +
			"tests at stores, but is more code",
		Source: zhang25d, Values: []schedule.Value{common, own}, Default: common,
	})
	persistent := schedule.Numbers(0, 1, 2, 3, 4)
	params = append(params, schedule.Param{
		Name: "persistent", Role: schedule.PersistentBlocks,
		Doc: "blocks of each multiprocessor, which share all tiles evenly: first whole ones, then pieces of those " +
			"that are left, where a kernel reduces nothing; 0 starts a block for each tile and chunk",
		Source: "Osama et al. 2023, Stream-K", Values: persistent, Default: persistent[0],
	})
	params = append(params, sharedParams("steps that planes are copied to shared memory ahead of their use, "+
		"asynchronously; 0 keeps nothing there", 0, 1, 2, 3)...)
	tensors := schedule.Words(copyTensor, copyTensorWarp)
	engine := append(schedule.Words("bulk", copyWarp), tensors...)
	neighbours := schedule.Numbers(2, 4)
	whole, split := schedule.Word(schedule.WholeBarrier), schedule.Word(schedule.SplitBarrier)
	params = append(params,
		schedule.Param{
			Name: "copy", Role: schedule.StagingCopy,
			Doc: "who copies planes to shared memory: all threads, or, where vectors have 16 bytes, the block's copy " +
				"engine whole rows (bulk, warp) or whole planes (tensor, tensorwarp), told so by a warp of the block " +
				"or by one that does nothing else (warp, tensorwarp)",
			Source:  "Rawat et al. 2019, section III-A3; CUDA C++ Programming Guide, asynchronous data copies",
			Values:  append(schedule.Words(schedule.AsyncCopies), engine...),
			Default: schedule.Word(schedule.AsyncCopies),
			Needs: []schedule.Need{
				{Capability: machine.BulkCopy, Values: engine}, {Capability: machine.Mbarrier, Values: engine},
				{Capability: machine.TensorCopy, Values: tensors},
			},
			When: []schedule.Condition{schedule.When("staging", schedule.Word(schedule.AllCells))},
		},
		schedule.Param{
			Name: "barrier", Role: schedule.BlockBarrier,
			Doc: "how threads meet once a step: all wait for the last, or each says what it has copied and read, and " +
				"waits for others only where they are a step behind",
			Source: "CUDA C++ Programming Guide, asynchronous barrier", Default: whole,
			Values: []schedule.Value{whole, split},
			Needs:  []schedule.Need{{Capability: machine.Mbarrier, Values: []schedule.Value{split}}},
			When: []schedule.Condition{
				schedule.When("copy", append(schedule.Words(schedule.AsyncCopies, "bulk"), tensors[0])...),
			},
		},
		schedule.Param{
			Name: "prefetch", Role: schedule.Prefetch, Axis: schedule.StreamAxis,
			Doc:    "planes that are loaded before they are needed",
			Source: "Rawat et al. 2019, section III-A", Values: schedule.Numbers(0, 1, 2), Default: schedule.Int(0),
		},
	)
	if rank > 2 {
		params = append(params, schedule.Param{
			Name: "cluster", Role: schedule.ClusterBlocks,
			Doc: "blocks side by side on the axis next to the inner one that send each other the rows that both " +
				"read, where a kernel reduces nothing",
			Source: "CUDA C++ Programming Guide, thread block clusters",
			Values: schedule.Numbers(1, 2, 4), Default: schedule.Int(1),
			Needs: []schedule.Need{{Capability: machine.Cluster, Values: neighbours}},
			When:  []schedule.Condition{schedule.When("copy", tensors...)},
		})
	}
	return append(params, tiledParams(rank-1, rank-2)...), append(tiledConstraints(rank-2), schedule.Constraint{
		Name: "whole steps", Doc: "blocks would compute planes of the next block",
		Params: []string{"chunk", "planes"},
		Holds:  func(c schedule.Config) bool { return c.Int("chunk")%c.Int("planes") == 0 },
	}, wholeStreams, rimlessBlocks, schedule.Constraint{
		Name: "whole copies", Doc: "bulk copies are aligned to 16 bytes, and so have to be the vectors of threads",
		Params: []string{"copy", "vec"},
		Holds: func(c schedule.Config) bool {
			return c.Word("copy") == schedule.AsyncCopies || c.Int("vec") > 1
		},
	})
}

// wholeStreams holds where blocks that share all tiles cut the stream by themselves.
var wholeStreams = schedule.Constraint{
	Name: "whole streams", Doc: "blocks that share all tiles cut the stream by themselves",
	Params: []string{"chunk", "persistent"},
	Holds:  func(c schedule.Config) bool { return c.Int("persistent") == 0 || c.Int("chunk") == 0 },
}

// rimlessBlocks holds where blocks can tell before their loop that they update all of their cells.
var rimlessBlocks = schedule.Constraint{
	Name: "rimless blocks", Doc: "blocks that share all tiles do not know before their loop which are inside",
	Params: []string{"rimless", "persistent"},
	Holds: func(c schedule.Config) bool {
		return c.Word("rimless") == schedule.CommonLoop || c.Int("persistent") == 0
	},
}

// The words for who tells the copy engine: a warp of its own, of whole planes, or both.
const (
	copyWarp       = "warp"
	copyTensor     = "tensor"
	copyTensorWarp = "tensorwarp"
)
