package sim_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// boxed brings a box of 2 by 8 to 16 cells of each of two blocks, by the thread 0 of the first; COPY, and then WAIT.
const boxed = `(kernel k
  (buffer u f32 tensor in (mul N (i64 4)) (extents N (i64 4)) (box 2 8))
  (buffer v f32 global out (i64 32))
  (scalar N i64)
  (for b i32 block.x (i32 0) (i32 1) (i32 1)
    (for c i32 cluster.x (i32 0) (i32 2) (i32 1)
      (alloc s f32 shared (i64 64))
      (alloc m i64 mbarrier (i64 1))
      (for t i32 thread.x (i32 0) (i32 32) (i32 1)
        (if (eq t (i32 0)) (then (mbarrier.init m (i64 0) (i32 1)) (mbarrier.arrive m (i64 0) (bytes (i32 64)))))
        (barrier cluster)
        (if (and (eq t (i32 0)) (eq c (i32 0))) (then COPY))
        WAIT
        (if (lt t (i32 16)) (then (store v (cast i64 (add t (mul c (i32 16)))) (load s (cast i64 (add t (i32 32)))))))
        (barrier cluster)))))`

// A copy of a box reaches all blocks of a set, has zeros outside of the array, and is there when somebody has waited.
func TestTensorCopies(t *testing.T) {
	const both = "(tensor s (i64 32) u ((i32 -1) (i32 0)) m (i64 0) (blocks (i32 3)))"
	const wait = "(mbarrier.wait m (i64 0) (i32 0))"
	at := func(index string) string {
		return "(let at i64 (cast i64 (add t " + index + "))) " + strings.Replace(both, "(i64 32)", "at", 1)
	}
	for _, c := range []struct {
		name, copy, wait, want string
		rows                   int64
	}{
		{"both blocks", both, wait, "", 3},
		{"nobody waits", both, "", "while a bulk copy stores", 3},
		{"one block", "(tensor s (i64 32) u ((i32 0) (i32 0)) m (i64 0))", wait, "waits", 3},
		{"no block", "(tensor s (i64 32) u ((i32 0) (i32 0)) m (i64 0) (blocks (i32 0)))", wait,
			"copies to no block", 3},
		{"a third block", "(tensor s (i64 32) u ((i32 0) (i32 0)) m (i64 0) (blocks (i32 7)))", wait,
			"copies to block 2 in a cluster of 2", 3},
		{"between places", at("(i32 8)"), wait, "a box to byte 32 of s, which is no multiple of 128", 3},
		{"beyond the place", at("(i32 64)"), wait, "copies to s[64] to [79], which has 64 cells", 3},
		{"within 16 bytes", strings.Replace(both, "(i32 0)) m", "(i32 2)) m", 1), wait,
			"copies a box of u from byte 8 of a row on, which is no multiple of 16", 3},
		{"twice", both + both, wait, "while a bulk copy", 3},
		{"of nothing", both, wait, "has 0 elements along an axis", 0},
	} {
		k, err := kernel.ParseText(strings.NewReplacer("COPY", c.copy, "WAIT", c.wait).Replace(boxed))
		if err != nil {
			t.Fatal(err)
		}
		u, v := sim.New(types.F32, int(4*c.rows)), sim.New(types.F32, 32)
		for i := range u.Len() {
			u.Set(i, op.Float(types.F32, float64(i+1)))
		}
		r, err := sim.Run(k, sim.Args{Buffers: []*sim.Memory{u, v}, Scalars: []op.Value{op.Int(types.I64, c.rows)}},
			sim.Options{})
		if err == nil {
			err = r.Err()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.name, err, c.want)
		}
		for i := range 32 {
			if want := []float64{8: 1, 2, 3, 4, 15: 0}[i%16]; c.want == "" && v.At(i).F != want {
				t.Errorf("%s: cell %d is %v, not %v", c.name, i, v.At(i), want)
			}
		}
		if c.want != "" {
			continue
		}
		loaded, stored := r.Space(kernel.TensorMap).LoadedBytes, r.Space(kernel.Shared).StoredBytes
		if loaded != 16 || stored != 128 {
			t.Errorf("%s: %d bytes loaded and %d stored, not 16 and 128", c.name, loaded, stored)
		}
	}
}
