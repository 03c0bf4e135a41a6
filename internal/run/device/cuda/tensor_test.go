package cuda

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// boxed brings the box of 2 rows at (1, 2) of a grid of M rows, which lies over its end.
const boxed = `
(kernel boxed
  (buffer out f64 global out (i64 8))
  (buffer u f64 tensor in (mul M (i64 4)) (extents M (i64 4)) (box 2 4))
  (scalar M i64)
  (for b i32 block.x (i32 0) (i32 1) (i32 1)
    (alloc tile f64 shared (i64 8))
    (alloc full i64 mbarrier (i64 1))
    (for t i32 thread.x (i32 0) (i32 32) (i32 1)
      (if (eq t (i32 0)) (then (mbarrier.init full (i64 0) (i32 1))))
      (barrier block)
      (if (eq t (i32 0))
        (then
          (mbarrier.arrive full (i64 0) (bytes (i32 64)))
          (tensor tile (i64 0) u ((cast i32 (sub M (i64 1))) (i32 2)) full (i64 0))))
      (mbarrier.wait full (i64 0) (i32 0))
      (if (lt t (i32 8)) (then (store out (cast i64 t) (load tile (cast i64 t))))))))`

// A tensor map is that of the buffer that the slot has, in launches and in graphs, and is made once a buffer. On a
// machine with a GPU this runs there.
func TestTensorMaps(t *testing.T) {
	d := open(t)
	k, err := kernel.ParseText(boxed)
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, d, arith.Strict, emit.Source(emit.CUDA, &kernel.Module{Kernels: []*kernel.Kernel{k}}))
	const rows = 3
	out, outBytes := doubles(make([]float64, 8)...)
	to, err := d.Share(outBytes)
	result := slotOf(t, to, err)
	var from [2]device.Buffer
	for n := range from {
		x, bytes := doubles(make([]float64, 4*rows)...)
		for i := range x {
			x[i] = float64(i + 100*n)
		}
		from[n], err = d.Share(bytes)
		slotOf(t, from[n], err)
		if err := from[n].Push(); err != nil {
			t.Fatal(err)
		}
	}
	prepare := func(rows int64, in *device.Slot) (device.PreparedLaunch, error) {
		m := &device.Value{}
		m.Set(op.Int(types.I64, rows))
		env := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, rows)}
		args := []device.Arg{result, device.Argument(k.Buffers[1], in, env), m}
		return l.PrepareGrid("boxed", geometry(1, 32), args)
	}
	in := &device.Slot{Buffer: from[0]}
	c, err := prepare(rows, in)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, n int) {
		t.Helper()
		if err := to.Pull(); err != nil {
			t.Fatal(err)
		}
		first := float64(4*(rows-1) + 2 + 100*n)
		for i, want := range []float64{first, first + 1, 0, 0, 0, 0, 0, 0} {
			if out[i] != want {
				t.Errorf("%s: cell %d is %v, not %v", what, i, out[i], want)
			}
		}
	}
	for turn := range 4 {
		in.Buffer = from[turn%2]
		if err := c.Launch(); err != nil {
			t.Fatal(err)
		}
		check("a launch", turn%2)
	}
	in.Buffer = from[1]
	g, err := d.Record(c.Launch)
	if err != nil {
		t.Fatal(err)
	}
	in.Buffer = from[0] // the graph keeps what it was recorded with
	for _, f := range []func() error{g.Launch, func() error { return g.Update(0) }, g.Launch} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		check("a graph", 1)
	}
	if n := len(from[0].(*Buffer).tensors); n != 1 {
		t.Errorf("%d tensor maps of a buffer", n)
	}
	if _, err := prepare(rows+1, in); err == nil || !strings.Contains(err.Error(), "128 bytes of a buffer of 96") {
		t.Errorf("a tensor map of more than there is: %v", err)
	}
	if _, err := prepare(0, in); verdict.Of(err) != verdict.Launch ||
		!strings.Contains(err.Error(), "a tensor map of [4 0] elements of 8 bytes, in boxes of [4 2], cannot be had") {
		t.Errorf("a tensor map of nothing: %v", err)
	}
}
