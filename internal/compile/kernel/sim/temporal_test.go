package sim_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// advance executes a text of one of the kernels and returns the report and the
// grid that holds the result.
func advance(t testing.TB, e *kerneltest.Temporal, k *kernel.Kernel, x kerneltest.Extent,
	turn int) (*sim.Report, *sim.Memory) {
	t.Helper()
	u, v := sim.New(types.F64, x.N*x.M), sim.New(types.F64, x.N*x.M)
	for c, f := range e.Start(x) {
		u.Set(c, op.Float(types.F64, f))
	}
	args := sim.Args{Buffers: []*sim.Memory{u, v}, Scalars: e.Scalars(x)}
	for _, b := range k.Buffers[2:] {
		n, _ := b.Fixed()
		args.Buffers = append(args.Buffers, sim.New(b.Elem, int(n)))
	}
	r, err := sim.Run(k, args, sim.Options{Steps: 1e7, Turn: turn})
	if err != nil {
		t.Fatalf("%s: %v", e.Name, err)
	}
	return r, args.Buffers[e.Result(x)]
}

// differs returns the first cell that does not hold what it should, or -1.
func differs(got *sim.Memory, want []float64) int {
	for c, x := range want {
		if got.At(c).F != x {
			return c
		}
	}
	return -1
}

// turns are how many instructions warps run before others do.
var turns = []int{0, 1, 5, 64}

// Kernels that take many steps in one launch, each in a way of its own, agree
// with a plain computation at every cell.
func TestTemporalBlocking(t *testing.T) {
	for _, e := range kerneltest.Temporals {
		t.Run(e.Name, func(t *testing.T) {
			for what, k := range map[string]*kernel.Kernel{
				"as written": e.Kernel(), "simplified": kernel.Apply(e.Kernel(), kernel.Asked{Indexing: true}, nil),
			} {
				for _, x := range e.Runs {
					for _, turn := range turns {
						r, got := advance(t, e, k, x, turn)
						if err := r.Err(); err != nil {
							t.Fatalf("%s, %+v: %v", what, x, err)
						}
						want := e.Want(x)
						if c := differs(got, want); c >= 0 {
							t.Fatalf("%s, %+v: cell %d,%d is %v, not %v", what, x, c/x.M, c%x.M, got.At(c).F, want[c])
						}
					}
				}
			}
		})
	}
}

// numbers is where a mistake shows that is no fault of a kernel as such.
const numbers = "the numbers"

// Mistakes that are easily made. Most of them give the right numbers on some
// machines, at times.
func TestTemporalMistakes(t *testing.T) {
	for _, c := range []struct {
		kernel, mistake, old, new string
		kind                      sim.Kind
		where                     string // the path of the first fault
	}{
		{"queues", "a queue's row too early", "(load level0 (rem (add s (i64 1)) (i64 3)))",
			"(load level0 s)", 0, numbers},
		{"levels", "no barrier", "(barrier block)", "", sim.Race,
			"levels/for b/for w/for t/for r/if/then/if/else/set south"},
		{"levels", "a barrier of each warp", "(barrier block)", "(barrier warp)", sim.Race,
			"levels/for b/for w/for t/for r/if/then/if/else/set south"},
		{"levels", "one row instead of two", "(rem (add r (i64 1)) (i64 2))", "(rem r (i64 2))", sim.Race,
			"levels/for b/for w/for t/for r/if/then/if/else/set south"},
		{"levels", "a barrier for too few", "(barrier block)", "(barrier block (number 1) (threads 64))", sim.Race,
			"levels/for b/for w/for t/for r/if/then/if/else/set south"},
		{"levels", "a barrier for too many", "(barrier block)", "(barrier block (number 1) (threads 128))",
			sim.Deadlock, "levels/for b/for w/for t/for r/barrier"},
		{"handover", "no wait for a full row", "(mbarrier.wait full slot (cast i32 (rem (div row (i64 2)) (i64 2))))",
			"", sim.Race, "handover/for b/for w/for t/for row/if/then/if/else/set south"},
		{"handover", "no wait for an empty row",
			"(mbarrier.wait empty slot (cast i32 (rem (sub (div at (i64 2)) (i64 1)) (i64 2))))", "", sim.Deadlock,
			"handover/for b/for w/for t/for row/if/then/if/else/mbarrier.wait full"},
		{"handover", "the wrong parity of a full row", "(cast i32 (rem (div row (i64 2)) (i64 2)))",
			"(cast i32 (rem (add (div row (i64 2)) (i64 1)) (i64 2)))", sim.Unwritten,
			"handover/for b/for w/for t/for row/if/then/if/else/set south"},
		{"handover", "the wrong parity of an empty row", "(sub (div at (i64 2)) (i64 1))", "(div at (i64 2))",
			sim.Deadlock, "handover/for b/for w/for t/for row/if#2/then/if/then/if/then/mbarrier.wait empty"},
		{"handover", "one lane says empty before its warp has read", "(barrier warp)", "", sim.Race,
			"handover/for b/for w/for t/for row/if#2/then/if/then/store ring"},
		{"handover", "full before it is",
			"(store ring (add (mul slot (i64 32)) t) value)\n                  (mbarrier.arrive full slot)",
			"(mbarrier.arrive full slot)\n(store ring (add (mul slot (i64 32)) t) value)", sim.Race,
			"handover/for b/for w/for t/for row/if/then/if/else/set south"},
		{"handover", "nobody says empty", "(mbarrier.arrive empty slot)", "", sim.Deadlock,
			"handover/for b/for w/for t/for row/if#2/then/if/then/if/then/mbarrier.wait empty"},
		{"handover", "an mbarrier for too many", "(mbarrier.init full t (i32 32))", "(mbarrier.init full t (i32 33))",
			sim.Deadlock, "handover/for b/for w/for t/for row/if#2/then/if/then/if/then/mbarrier.wait empty"},
		{"handover", "no barrier after the mbarriers are made", "(barrier block)", "", sim.Race,
			"handover/for b/for w/for t/for row/if#2/then/if/then/mbarrier.arrive full"},
		{"faces", "no barrier between steps", "(rank (add rank (i32 1))))))\n          (barrier cluster))",
			"(rank (add rank (i32 1)))))))", sim.Race, "faces/for j/for rank/for t/for step/if/then/set new"},
		{"faces", "a barrier of the block", "(rank (add rank (i32 1))))))\n          (barrier cluster))",
			"(rank (add rank (i32 1))))))\n          (barrier block))", sim.Race,
			"faces/for j/for rank/for t/for step/if/then/set new"},
		{"faces", "no barrier at the start",
			"(let start f64 (load u (add (mul j (i64 256)) i)))\n        (barrier cluster)",
			"(let start f64 (load u (add (mul j (i64 256)) i)))", sim.Exited,
			"faces/for j/for rank/for t/if#2/then/store row"},
		{"faces", "the same place for odd and even", "(let to i64 (sub (i64 68) from))", "(let to i64 from)", sim.Race,
			"faces/for j/for rank/for t/for step/store row"},
		{"faces", "a face of one cell",
			"(if (land (lt t (i64 2)) (gt rank (i32 0)))\n          (then\n            (store row (add t",
			"(if (land (lt t (i64 1)) (gt rank (i32 0)))\n          (then\n            (store row (add t",
			sim.Unwritten, "faces/for j/for rank/for t/for step/if/then/set new"},
		{"faces", "the wrong neighbour", "(rank (sub rank (i32 1)))", "(rank (add rank (i32 1)))", sim.OutOfBounds,
			"faces/for j/for rank/for t/if/then/store row"},
		{"resident", "no barrier", "(barrier grid)", "", sim.Race,
			"resident/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"resident", "a barrier of the block", "(barrier grid)", "(barrier block)", sim.Unwritten,
			"resident/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"resident", "steps in place", "(store v c new)", "(store u c new)", sim.Race,
			"resident/for b/for t/for step/for j/for i/if/then/store u"},
		{"neighbours", "no wait", "(flag.wait done near (cast i32 step))", "", sim.Race,
			"neighbours/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"neighbours", "a wait for the step before", "(flag.wait done near (cast i32 step))",
			"(flag.wait done near (sub (cast i32 step) (i32 1)))", sim.Race,
			"neighbours/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"neighbours", "a wait for the step after", "(flag.wait done near (cast i32 step))",
			"(flag.wait done near (add (cast i32 step) (i32 1)))", sim.Deadlock,
			"neighbours/for b/for t/for step/if/then/flag.wait done"},
		{"neighbours", "one neighbour alone", "(lt t (i64 3))", "(lt t (i64 2))", sim.Race,
			"neighbours/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"neighbours", "no barrier after the wait",
			"(flag.wait done near (cast i32 step))))\n        (barrier block)",
			"(flag.wait done near (cast i32 step))))", sim.Race,
			"neighbours/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"neighbours", "a flag that is set too early",
			"(barrier block)\n        (if (eq t (i64 0)) (then (flag.set done b (cast",
			"(if (eq t (i64 0)) (then (flag.set done b (cast", sim.Race,
			"neighbours/for b/for t/for step/for j/for i/if/else/if/then/set new"},
		{"neighbours", "flags that nothing has set", "(if (eq t (i64 0)) (then (flag.set done b (i32 0))))", "",
			sim.Unwritten, "neighbours/for b/for t/for step/if/then/flag.wait done"},
		{"neighbours", "no barrier after flags are set first", "(barrier grid)", "", sim.Race,
			"neighbours/for b/for t/for step/if/then/flag.wait done"},
		{"neighbours", "all threads set a flag", "(if (eq t (i64 0)) (then (flag.set done b (cast",
			"(if (lt t (i64 64)) (then (flag.set done b (cast", sim.Race,
			"neighbours/for b/for t/for step/if#2/then/flag.set done"},
		{"bulk", "no wait", "(mbarrier.wait full slot (cast i32 (rem (div r (i64 2)) (i64 2))))", "", sim.Race,
			"bulk/for b/for i/for r/if/then/set south"},
		{"bulk", "the wrong parity", "(cast i32 (rem (div r (i64 2)) (i64 2)))",
			"(cast i32 (rem (add (div r (i64 2)) (i64 1)) (i64 2)))", sim.Deadlock,
			"bulk/for b/for i/for r/if/then/mbarrier.wait full"},
		{"bulk", "always the same parity", "(cast i32 (rem (div r (i64 2)) (i64 2)))", "(i32 0)", sim.Deadlock,
			"bulk/for b/for i/for r/if/then/mbarrier.wait full"},
		{"bulk", "no barrier before a place is filled again",
			"(async.fence)\n            (barrier block)", "(async.fence)", sim.Race,
			"bulk/for b/for i/for r/if/then/if/then/bulk stage"},
		{"bulk", "no fence before that barrier", "(async.fence)", "", sim.Race,
			"bulk/for b/for i/for r/if/then/if/then/bulk stage"},
		{"bulk", "a fence after that barrier", "(async.fence)\n            (barrier block)",
			"(barrier block)\n            (async.fence)", sim.Race,
			"bulk/for b/for i/for r/if/then/if/then/bulk stage"},
		{"bulk", "fewer bytes than come", "(mbarrier.arrive full slot (bytes (i32 512)))",
			"(mbarrier.arrive full slot (bytes (i32 256)))", sim.Deadlock,
			"bulk/for b/for i/for r/if/then/mbarrier.wait full"},
		{"bulk", "no bytes", "(mbarrier.arrive full slot (bytes (i32 512)))", "(mbarrier.arrive full slot)", sim.Race,
			"bulk/for b/for i/for r/if/then/set south"},
		{"bulk", "a row that is not aligned", "(bulk stage (mul r (i64 64)) u (mul r (i64 64))",
			"(bulk stage (mul r (i64 64)) u (mul r (i64 63))", sim.Misaligned,
			"bulk/for b/for i/if#2/then/for r/bulk stage"},
	} {
		t.Run(c.kernel+": "+c.mistake, func(t *testing.T) {
			e := kerneltest.Find(c.kernel)
			text := e.Text()
			if n := strings.Count(text, c.old); n == 0 {
				t.Fatalf("the kernel has nothing to change")
			}
			k, err := kernel.ParseText(strings.Replace(text, c.old, c.new, 1))
			if err != nil {
				t.Fatal(err)
			}
			x := e.Runs[len(e.Runs)-1]
			r, got := advance(t, e, k, x, 0)
			if c.where == numbers {
				if err := r.Err(); err != nil {
					t.Error(err)
				}
				if at := differs(got, e.Want(x)); at < 0 {
					t.Error("the numbers are right")
				}
				return
			}
			if len(r.Faults) == 0 {
				t.Fatal("nothing is reported")
			}
			f := r.Faults[0]
			if line := strings.Split(kernel.Text(k), "\n")[f.Line-1]; !strings.Contains(
				line, f.Path[strings.LastIndexAny(f.Path, "/ ")+1:]) {
				t.Errorf("the fault at %s is on line %d: %s", f.Path, f.Line, line)
			}
			if f.Kind != c.kind || f.Path != c.where {
				t.Errorf("%s at %s, want %s at %s", f.Kind, f.Path, c.kind, c.where)
			}
			for _, turn := range turns[1:] {
				if r, _ := advance(t, e, k, x, turn); len(r.Faults) == 0 {
					t.Errorf("nothing is reported in turns of %d", turn)
				}
			}
		})
	}
}
