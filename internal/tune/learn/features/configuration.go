package features

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/estimate"
)

// Configurations describes configurations of one kernel, each by the same features.
type Configurations interface {
	// Features are those, in the order of the numbers.
	Features() []Feature
	// Of returns the numbers of a configuration.
	Of(schedule.Config) []float64
	// Append appends them.
	Append([]float64, schedule.Config) []float64
}

// Describe returns the features of a call, as Program does, and prepares to describe configurations of its kernel with
// some space: by OfBlocking where threads of processors share nested loops, and by OfConfiguration otherwise. What a
// machine does not tell, which may be nil, is left at 0.
func Describe(b *ir.Binding, call *ir.Call, m *machine.Machine, space schedule.Space) ([]float64, Configurations) {
	f := analysis.Analyze(b.Program, b).Call(call)
	program := ofCall(b, f)
	for i := range space.Families {
		if space.Families[i].For(schedule.Workers) != nil {
			return program, newBlocking(f, b, call, m, space)
		}
	}
	return program, newThreaded(f, b, call, m, space)
}

// OfConfiguration are the features of a configuration of a kernel for GPUs: what it says, by the roles of its
// parameters, and what follows from that for a call at its sizes on a machine. Nothing is lowered.
var OfConfiguration = configurationFeatures()

// words are the settings that are words, each a feature that is 1 where it is so.
var words = []struct {
	name string
	role schedule.Role
	is   string
}{
	{"tensor_copies", schedule.StagingCopy, "tensor"}, {"issue_before", schedule.CopyIssue, schedule.BeforeBarrier},
	{"stages_halos", schedule.StagedPart, schedule.HaloCells}, {"refetch", schedule.Refetch, schedule.RefetchedPlanes},
	{"retime", schedule.Retiming, "yes"}, {"fold", schedule.Folding, "yes"},
	{"rimless_loop", schedule.RimlessLoop, schedule.OwnLoop},
	{"loads_first", schedule.LoadOrder, schedule.FirstLoads},
	{"loads_by_statement", schedule.LoadOrder, schedule.StatementLoads},
	{"loads_by_term", schedule.LoadOrder, schedule.TermLoads},
	{"stores_by_row", schedule.StoreOrder, schedule.RowStores},
	{"columns_all", schedule.HeldColumns, schedule.AllColumns},
	{"columns_halos", schedule.HeldColumns, schedule.HaloColumns},
	{"columns_none", schedule.HeldColumns, schedule.NoColumns},
	{"shuffle", schedule.LaneExchange, "yes"}, {"readonly_loads", schedule.LoadPath, schedule.ReadOnlyLoads},
	{"image_loads", schedule.LoadPath, schedule.ImageLoads}, {"streaming_stores", schedule.StorePath, "streaming"},
	{"padded_rows", schedule.RowLayout, schedule.PaddedRows},
	{"shifted_rows", schedule.RowLayout, schedule.ShiftedRows},
	{"literal_sizes", schedule.Sizes, schedule.SizeLiterals}, {"shared_indices", schedule.Indexing, "yes"},
	{"input_threads", schedule.Perspective, schedule.InputThreads},
	{"inner_threads", schedule.Perspective, schedule.InnerThreads},
	{"outer_threads", schedule.Perspective, schedule.OuterThreads},
}

// families are those that have a feature of their own.
var families = []string{"tile", "planes", "cells"}

func configurationFeatures() []Feature {
	var list []Feature
	say := func(name, unit, doc, example string) { list = append(list, Feature{name, unit, doc, example, own}) }
	for _, f := range families {
		say("family_"+f, "0 or 1", "1 for kernels of the family "+f+".", "family="+f+": 1")
	}
	for i, axis := range []string{"x", "y", "z"} {
		say("threads_"+axis, "threads", "Threads of a block along "+axis+".",
			"block=8x32: "+[]string{"32", "8", "1"}[i])
		say("blocked_"+axis, "cells", "Neighbouring cells of a thread along "+axis+", its vector included.",
			"vec=4: 4 along x")
		say("cyclic_"+axis, "cells", "Cells of a thread along "+axis+" at the distance of a block.",
			"repeat=1x2: 2 along x")
		say("tile_"+axis, "log2 of cells", "Cells of a block along "+axis+"; on the axis that it goes along, all.",
			"32 threads of 4 cells: 7")
		say("covered_"+axis, "", "The domain along "+axis+" by the cells of all blocks.", "510 of 512: 0.996")
		say("tiles_"+axis, "log2 of blocks", "Blocks side by side along "+axis+".", "512 cells, tiles of 128: 2")
	}
	say("threads", "log2 of threads", "Threads of a block.", "block=8x32: 8")
	say("cells", "cells", "Cells of a thread, in a plane.", "vec=2, rows=4: 8")
	say("vector", "cells", "Neighbours that a thread moves together.", "vec=4: 4")
	say("access_bytes", "bytes", "Bytes that a thread moves together.", "vec=2 of doubles: 16")
	say("row_bytes", "log2 of bytes", "Bytes of a row of a block's threads.", "32 threads of 16 bytes: 9")
	say("streams", "0 or 1", "1 if a block goes along an axis.", "stream=k: 1")
	say("stream_length", "log2 of planes", "Planes that a block goes along; all of the axis for 0.", "chunk=64: 6")
	say("stream_unroll", "planes", "Planes of an iteration of the loop along the stream.", "unroll=2: 2")
	say("stages", "planes", "Planes or tiles that are staged in shared memory.", "stages=2: 2")
	say("prefetch", "planes", "Planes that are loaded early.", "prefetch=1: 1")
	say("register_limit", "registers", "The most registers of a thread; 255 if there is no limit.",
		"registers=128: 128")
	for _, w := range words {
		say(w.name, "0 or 1", "1 if "+w.role.String()+" is "+w.is+".", w.is+": 1")
	}
	say("values", "a cell", "Values that a thread reads for its neighbouring cells, each once, by those cells.",
		"a star of radius 1 in 2D, rows=2: 4")
	say("accesses", "a cell", "The vectors at multiples of their width that have those values, by those cells.",
		"vec=4, that star, one row: 1.25")
	say("values_ahead", "a cell", "Such values of a step along the stream, where those of before are kept.",
		"that star, stream=j: 3")
	say("accesses_ahead", "a cell", "The vectors that have those.", "vec=4, that star, stream=j: 0.75")
	say("values_held", "log2", "Values that a thread reads for all its neighbouring cells.", "that star, rows=2: 3")
	say("reread", "log2", "Bytes of all those values, by the bytes that must be moved.", "5 values, 1 result: 1.3")
	say("registers", "registers", "What a thread would like to have, by the estimate.", "a plane of 8 doubles held: 90")
	say("shared", "log2 of bytes", "Shared memory of a block, by the estimate; 0 without.", "4 planes of 2 KiB: 13")
	say("resident_blocks", "blocks", "Blocks that a multiprocessor holds at once, by the estimate; 0 if a block has "+
		"less shared memory than it takes.", "2,048 / 256: 8")
	say("occupancy", "", "Resident threads by those that there could be, by the estimate.", "8 blocks of 256: 1")
	say("spilt", "", "Factor of the time for registers that there are not.", "all fit: 1")
	say("halo_factor", "", "Factor by which a block reads more than its own cells.", "a tile of 8 x 32, radius 1: 1.1")
	say("access_width", "", "Part of the bandwidth that accesses of the width reach.", "16 bytes: 1")
	say("bytes_in_flight", "", "Part of the bandwidth that the bytes in flight reach.", "40 KB: 1")
	say("waves", "", "Part of the time in which all multiprocessors have blocks.", "132 of 264: 0.5")
	say("launched", "log2", "Blocks by those that there is room for at once.", "4 waves: 2")
	say("plane_waves", "log2", "Blocks side by side across the stream by those that there is room for at once.",
		"33 of 132: -2")
	say("estimate", "ln", "The estimated relative time.", "all terms 1: 0")
	return list
}

// threaded describes configurations of kernels for GPUs.
type threaded struct {
	axes   []string
	domain []int64
	bytes  float64 // of the widest element
	units  float64 // threads of a multiprocessor
	// multiprocessors are those of the machine.
	multiprocessors float64
	moved           float64 // bytes that a cell needs
	model           *estimate.Model
	reads           *threadReads
	roles           schedule.FamilyRoles
}

func newThreaded(f *analysis.CallFacts, b *ir.Binding, call *ir.Call, m *machine.Machine,
	space schedule.Space) *threaded {
	d := &threaded{
		axes: b.Program.Axes, domain: domainOf(b, call), model: estimate.New(f, b, call, m, space),
		reads: newThreadReads(f, len(b.Program.Axes)), moved: f.Traffic.Compulsory, roles: space.Roles(),
		units: 1, multiprocessors: 1,
	}
	for _, a := range call.Arrays {
		d.bytes = max(d.bytes, float64(a.Type.Size()))
	}
	if m != nil && m.GPU != nil {
		d.units, d.multiprocessors = float64(m.GPU.ThreadsPerUnit), float64(max(1, m.Units))
	}
	return d
}

// noLimit stands for a register limit that is none.
const noLimit = 255

// Features returns OfConfiguration.
func (d *threaded) Features() []Feature { return OfConfiguration }

// Of returns the features of a configuration.
func (d *threaded) Of(c schedule.Config) []float64 {
	return d.Append(make([]float64, 0, len(OfConfiguration)), c)
}

// Append appends the features of a configuration.
func (d *threaded) Append(out []float64, c schedule.Config) []float64 {
	end := len(out) + len(OfConfiguration)
	set := d.roles.Of(c)
	flag := func(is bool) {
		if is {
			out = append(out, 1)
		} else {
			out = append(out, 0)
		}
	}
	for _, f := range families {
		flag(c.Family == f)
	}
	on := set.Shape(d.axes)
	plane := 1.0 // blocks side by side, across the axis that they go along
	for i := range 3 {
		axis := len(d.axes) - 1 - i
		if axis < 0 {
			out = append(out, 0, 0, 0, 0, 0, 0)
			continue
		}
		s, extent := on.On[axis], d.domain[axis]
		width := s.Width()
		if axis == on.Stream {
			if width = on.Length; width == 0 {
				width = extent
			}
		}
		tiles := math.Ceil(float64(extent) / float64(width))
		if axis != on.Stream {
			plane *= tiles
		}
		out = append(out, float64(s.Threads), float64(s.Vector*s.Blocked), float64(s.Cyclic), log2(float64(width)),
			float64(extent)/(tiles*float64(width)), log2(tiles))
	}
	threads, vector := float64(set.Int(schedule.Threads, 1)), float64(set.Int(schedule.Vector, 1))
	row := 1.0
	if n := set.Ints(schedule.Threads); len(n) > 0 {
		row = float64(n[len(n)-1])
	}
	length := 0.0
	if on.Stream >= 0 {
		if length = float64(on.Length); length == 0 {
			length = float64(d.domain[on.Stream])
		}
	}
	limit := float64(set.Int(schedule.RegisterLimit, 0))
	if limit == 0 {
		limit = noLimit
	}
	out = append(out, log2(threads),
		vector*float64(set.Int(schedule.BlockedUnroll, 1)*set.Int(schedule.CyclicUnroll, 1)), vector, vector*d.bytes,
		log2(row*vector*d.bytes))
	flag(on.Stream >= 0)
	out = append(out, log2(length), float64(set.Int(schedule.StreamUnroll, 0)), float64(set.Int(schedule.Staging, 0)),
		float64(set.Int(schedule.Prefetch, 0)), limit)
	for _, w := range words {
		flag(set.Word(w.role) == w.is)
	}
	n := d.reads.of(on)
	out = append(out, n.values, n.vectors, n.planeValues, n.planeVectors,
		log2(n.values*n.cells), math.Log2(max(1, n.planeValues*d.bytes)/max(1, d.moved)))
	if d.model == nil {
		return append(out, make([]float64, end-len(out))...)
	}
	t := d.model.TermsOf(set, on)
	resident := t.Blocks
	if !t.Fits {
		resident = 0
	}
	return append(out, t.Registers, log2(t.Shared), resident, resident*threads/d.units, t.Spilt, t.Halo, t.Width,
		t.Flight, t.Waves, math.Log2(t.Launched), math.Log2(plane/(t.Blocks*d.multiprocessors)), math.Log(t.Time()))
}

// log2 is the logarithm, and 0 for what is none.
func log2(x float64) float64 {
	if x < 1 {
		return 0
	}
	return math.Log2(x)
}
