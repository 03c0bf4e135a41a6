package profile

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A cached copy has no faults, races among them. It copies all of its memory, and moves as many bytes as it says,
// whichever piece a thread begins with.
func TestCachedCopy(t *testing.T) {
	const cache, units, rounds = 300 << 10, 2, 5 // two blocks a multiprocessor, and a rest
	k, moved := cachedCopy(cache, units, rounds)
	n, _ := k.Buffers[0].Fixed()
	if bytes := n * 4; bytes > cache/4 || bytes < cache/5 {
		t.Errorf("%d bytes of %d are copied", bytes, cache/4)
	}
	for _, turn := range []int64{0, 1, 7} {
		from, to := sim.New(types.F32, int(n)), sim.New(types.F32, int(n))
		for i := range int(n) {
			from.Set(i, op.Float(types.F32, float64(i)))
		}
		args := sim.Args{Buffers: []*sim.Memory{from, to}, Scalars: []op.Value{op.Int(types.I64, turn)}}
		report, err := sim.Run(k, args, sim.Options{})
		if err != nil || report.Err() != nil {
			t.Fatal(err, report.Err())
		}
		for i := range int(n) {
			if !to.Written(i) || to.At(i) != from.At(i) {
				t.Fatalf("turn %d: to[%d] is %v", turn, i, to.At(i))
			}
		}
		tally, err := TallyOf(k, map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, turn)})
		if err != nil || tally.Loaded+tally.Stored != moved || tally.Loaded != rounds*4*float64(n) ||
			tally.Once != 8*float64(n) {
			t.Errorf("%+v, %v: not %v bytes", tally, err, moved)
		}
	}
	if k, _ := cachedCopy(1<<20, 17, 1); k != nil {
		t.Error("16 blocks are for 17 multiprocessors")
	}
	if k, _ := cachedCopy(1<<20, 16, 1); k == nil {
		t.Error("16 blocks are too few for 16 multiprocessors")
	}
}

// On GPUs of several sizes every round writes all once, beginning with another piece than the round before. No
// multiprocessor reads what its first cache may still have, however blocks are dealt out.
func TestCachedCopyLeavesFirstCache(t *testing.T) {
	const rounds = 50
	for _, gpu := range []struct {
		name  string
		cache int64
		units int
		first int64 // bytes of the first cache
	}{
		{"H200", 60 << 20, 132, 256 << 10}, {"A100", 40 << 20, 108, 192 << 10}, {"V100", 6 << 20, 80, 128 << 10},
		{"T4", 4 << 20, 40, 64 << 10},
	} {
		k, _ := cachedCopy(gpu.cache, gpu.units, rounds)
		blocks, threads := k.Body[0].(*kernel.Loop), k.Body[0].(*kernel.Loop).Body[0].(*kernel.Loop)
		repeat := threads.Body[0].(*kernel.Loop)
		all, _ := kernel.IntLit(blocks.Hi)
		n, _ := k.Buffers[0].Fixed()
		const part = copyThreads * copyFloats // that a block reads or writes at once
		next, inTurn := newReader(gpu.units), newReader(gpu.units)
		began := int64(-1) // what the first thread has written first in the round before
		for round := range int64(rounds) {
			written := make([]bool, n/part)
			for block := range all {
				env := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 1)}
				for l, v := range map[*kernel.Loop]int64{blocks: block, threads: 0, repeat: round} {
					env[l.Var] = op.Int(types.I64, v)
				}
				for _, s := range repeat.Body {
					switch s := s.(type) {
					case *kernel.Let:
						env[s.Var] = kernel.Eval(s.Value, env)
					case *kernel.LoadVector:
						at := kernel.Eval(s.Index, env).I / part
						next.read(block*int64(gpu.units)/all, at)
						inTurn.read(block%int64(gpu.units), at)
					case *kernel.StoreVector:
						at := kernel.Eval(s.Index, env).I / part
						if block == 0 && !slices.Contains(written, true) {
							if at == began {
								t.Fatalf("%s: round %d begins with the same part %d", gpu.name, round, at)
							}
							began = at
						}
						if written[at] {
							t.Fatalf("%s: round %d writes part %d twice", gpu.name, round, at)
						}
						written[at] = true
					}
				}
			}
		}
		for _, r := range []*reader{next, inTurn} {
			if bytes := r.least * part * 4; bytes < 4*gpu.first {
				t.Errorf("%s: a part is read again after %d bytes", gpu.name, bytes)
			}
		}
	}
}

// reader knows when each multiprocessor has read each part.
type reader struct {
	last  []map[int64]int64 // by multiprocessor and part: how many it had read by then
	count []int64
	least int64 // how many are read before one is read again
}

func newReader(units int) *reader {
	r := &reader{count: make([]int64, units), least: 1 << 40}
	for range units {
		r.last = append(r.last, map[int64]int64{})
	}
	return r
}

func (r *reader) read(unit, part int64) {
	if last, ok := r.last[unit][part]; ok {
		r.least = min(r.least, r.count[unit]-last)
	}
	r.last[unit][part] = r.count[unit]
	r.count[unit]++
}
