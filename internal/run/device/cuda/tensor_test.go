package cuda

import (
	"fmt"
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

// wide brings the box of 2 rows at (1, 16) of a grid of rows of bytes.
const wide = `
(kernel wide
  (buffer out u8 global out (i64 %[1]d))
  (buffer u u8 tensor in (mul M (i64 %[2]d)) (extents M (i64 %[2]d)) (box 2 %[3]d))
  (scalar M i64)
  (for b i32 block.x (i32 0) (i32 1) (i32 1)
    (alloc tile u8 shared (i64 %[1]d))
    (alloc full i64 mbarrier (i64 1))
    (for t i32 thread.x (i32 0) (i32 32) (i32 1)
      (if (eq t (i32 0)) (then (mbarrier.init full (i64 0) (i32 1))))
      (barrier block)
      (if (eq t (i32 0))
        (then
          (mbarrier.arrive full (i64 0) (bytes (i32 %[1]d)))
          (tensor tile (i64 0) u ((i32 1) (i32 16)) full (i64 0))))
      (mbarrier.wait full (i64 0) (i32 0))
      (for n i32 serial (i32 0) (i32 %[4]d) (i32 1)
        (if (lt (add t (mul n (i32 32))) (i32 %[1]d))
          (then (store out (cast i64 (add t (mul n (i32 32)))) (load tile (cast i64 (add t (mul n (i32 32))))))))))))`

// A copy takes 256 elements along an axis at most. Where a box has more bytes, elements are of 2, 4 and 8 of them.
func TestTensorMapsOfBytes(t *testing.T) {
	d := open(t)
	for _, test := range []struct{ unit, row int64 }{{1, 240}, {2, 320}, {4, 576}, {8, 1088}} {
		const rows = 3
		unit, row, box := test.unit, test.row, test.row-32
		k, err := kernel.ParseText(fmt.Sprintf(wide, 2*box, row, box, (2*box+31)/32))
		if err != nil {
			t.Fatal(err)
		}
		if got := k.Buffers[1].Tensor.Unit(types.U8); got != unit {
			t.Fatalf("boxes of %d bytes have elements of %d", box, got)
		}
		l := load(t, d, arith.Strict, emit.Source(emit.CUDA, &kernel.Module{Kernels: []*kernel.Kernel{k}}))
		out, in := make([]byte, 2*box), make([]byte, rows*row)
		for i := range in {
			in[i] = byte(7*i + i/251 + 1)
		}
		to, err := d.Share(out)
		result := slotOf(t, to, err)
		from, err := d.Share(in)
		given := slotOf(t, from, err)
		if err := from.Push(); err != nil {
			t.Fatal(err)
		}
		env := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, rows)}
		c, err := l.PrepareGrid("wide", geometry(1, 32),
			[]device.Arg{result, device.Argument(k.Buffers[1], given, env), valueOf(op.Int(types.I64, rows))})
		if err != nil {
			t.Fatalf("elements of %d bytes: %v", unit, err)
		}
		if err := c.Launch(); err != nil {
			t.Fatal(err)
		}
		if err := to.Pull(); err != nil {
			t.Fatal(err)
		}
		for i, got := range out {
			at := int64(i)
			if want := in[(1+at/box)*row+16+at%box]; got != want {
				t.Fatalf("elements of %d bytes: byte %d of the box is %d, not %d", unit, i, got, want)
			}
		}
	}
}
