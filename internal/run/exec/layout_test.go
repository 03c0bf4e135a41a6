package exec

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/memory"
)

const paddedText = `
parameter N = 3;
iterator j, i;
int u[N,5], v[N,5], w[N];
stencil more (out, in, w) { out[j][i] = in[j][i] + w[j]; }
iterate 4 { more (v, u, w); swap (u, v); }
copyin u, w;
`

// paddedModule is a program whose kernel expects rows of 8 after 3 elements;
// it adds 1000 where what lies between the rows is not poison.
func paddedModule(t *testing.T) (*kernel.Module, *ir.Binding) {
	b := program(t, paddedText)
	u, v, w := b.Program.Grid("u"), b.Program.Grid("v"), b.Program.Grid("w")
	block := kernel.NewVar("block", types.I64)
	k := &kernel.Kernel{
		Name: "more",
		Buffers: []*kernel.Buffer{{Name: "out", Elem: types.I32, Mode: kernel.Out}, {Name: "in", Elem: types.I32},
			{Name: "w", Elem: types.I32}},
		Body: []kernel.Stmt{&kernel.Loop{Var: block, Lo: kernel.I(0), Hi: kernel.I(1), Step: kernel.I(1),
			Tag: kernel.BlockX}},
	}
	return &kernel.Module{
		Program: b.Program, Kernels: []*kernel.Kernel{k},
		Calls: map[*ir.Call][]*kernel.Launch{b.Program.Calls[0]: {{Kernel: k,
			Args: []kernel.Arg{kernel.GridArg{Grid: v}, kernel.GridArg{Grid: u}, kernel.GridArg{Grid: w}}}}},
		Layouts: map[*ir.Grid]kernel.Layout{u: {Lead: 3, Align: 4}, v: {Lead: 3, Align: 4}, w: {Lead: 1, Align: 1}},
	}, b
}

const paddedSource = `
extern "C" __global__ void more(int *out, const int *in, const int *w)
{
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 5; i++)
            out[3 + 8 * j + i] = in[3 + 8 * j + i] + w[1 + j];
    bool poisoned = w[0] == -1;
    for (int n = 0; n < 27; n++)
        if (n < 3 || (n - 3) % 8 > 4)
            poisoned = poisoned && in[n] == -1 && out[n] == -1;
    if (!poisoned)
        out[3] += 1000;
}
`

func paddedKernel(args [][]byte) {
	at := func(b []byte, i int) int64 { return device.Decode(types.I32, b[4*i:]).I }
	out, in, w := args[0], args[1], args[2]
	for j := range 3 {
		for i := range 5 {
			n := 3 + 8*j + i
			device.Encode(out[4*n:], op.Int(types.I32, at(in, n)+at(w, 1+j)))
		}
	}
	poisoned := at(w, 0) == -1
	for n := range 27 {
		if n < 3 || (n-3)%8 > 4 {
			poisoned = poisoned && at(in, n) == -1 && at(out, n) == -1
		}
	}
	if !poisoned {
		device.Encode(out[4*3:], op.Int(types.I32, at(out, 3)+1000))
	}
}

// Grids that kernels want padded are dense on the host, whether the device
// converts them itself or not, and however often they come and go.
func TestLayouts(t *testing.T) {
	for _, test := range []struct {
		name string
		open func(t *testing.T) (device.Device, string)
	}{
		{"distant", func(t *testing.T) (device.Device, string) {
			return &distant{kernels: map[string]func([][]byte){"more": paddedKernel}}, "image"
		}},
		{"cuda", func(t *testing.T) (device.Device, string) {
			gpus, err := cuda.GPUs()
			if err != nil {
				t.Skip(err)
			}
			c, err := cuda.FindCompiler()
			if err != nil {
				t.Skip(err)
			}
			image, err := (&cuda.Builder{Compiler: c, Arch: gpus[0].Arch(), Dir: t.TempDir()}).Build(
				context.Background(), []byte(paddedSource))
			if err != nil {
				t.Fatal(err)
			}
			runtime.LockOSThread()
			d, err := cuda.Open(0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close(); runtime.UnlockOSThread() })
			return d, image
		}},
	} {
		t.Run(test.name, func(t *testing.T) { testLayouts(t, test.open) })
	}
}

func testLayouts(t *testing.T, open func(t *testing.T) (device.Device, string)) {
	mod, b := paddedModule(t)
	s, err := NewScript(mod, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := (device.Rows{Lead: 12, Bytes: 20, Pitch: 32, Count: 3, Align: 16}); s.Grids[0].Rows != want ||
		s.Grids[1].Rows != want {
		t.Fatalf("%+v", s.Grids)
	}
	region, err := memory.New("test", s.SharedBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Close()
	// What nothing writes is protected once the executor is there.
	first := func(grid, cells int, value func(n int) int) {
		for n := range cells {
			device.Encode(region.Bytes()[s.Grids[grid].Start+4*int64(n):], op.Int(types.I32, int64(value(n))))
		}
	}
	first(0, 15, func(n int) int { return n })
	first(2, 3, func(n int) int { return 100 * n })
	d, image := open(t)
	m, err := newExecutor(s, d, image, region, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var none atomic.Int64
	at := ir.Cursor{}
	for range 4 {
		if err := m.push(); err != nil {
			t.Fatal(err)
		}
		if at, _, err = m.run(at, Limit{Iterations: 1}, &none, 1); err != nil {
			t.Fatal(err)
		}
		if err := m.pull([]int{0, 1}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 15 {
		got := device.Decode(types.I32, region.Bytes()[s.Grids[m.holds[0]].Start+4*int64(n):]).I
		if want := int64(n + 4*100*(n/5)); got != want {
			t.Errorf("cell %d is %d, want %d", n, got, want)
		}
	}
}

func TestLayoutsRefused(t *testing.T) {
	m, b := paddedModule(t)
	m.Layouts[b.Program.Grid("v")] = kernel.Layout{Lead: 2, Align: 4}
	if _, err := NewScript(m, b); err == nil ||
		!strings.HasPrefix(err.Error(), "u and v change places, but do not lie alike in the device's memory: ") {
		t.Error(err)
	}
	m, b = paddedModule(t)
	if _, err := Open(t.Context(), m, b, Options{Device: "cpu"}); err == nil ||
		err.Error() != "u does not lie dense, and the cpu's grids do" {
		t.Error(err)
	}
	// What has no padding is dense.
	m.Layouts = map[*ir.Grid]kernel.Layout{b.Program.Grid("u"): {Align: 5}, b.Program.Grid("v"): {},
		b.Program.Grid("w"): {Align: 3}}
	s, err := NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range s.Grids {
		if g.Rows != (device.Rows{}) {
			t.Errorf("%s is padded: %+v", g.Name, g.Rows)
		}
	}
	// A single row is padded like others: kernels load whole vectors of it.
	m.Layouts[b.Program.Grid("w")] = kernel.Layout{Align: 8}
	if s, err = NewScript(m, b); err != nil {
		t.Fatal(err)
	}
	if got := s.Grids[2].Rows; got != (device.Rows{Bytes: 12, Pitch: 32, Count: 1, Align: 32}) {
		t.Errorf("a single row: %+v", got)
	}
}

// A grid's memory on a device is as long as kernels take it for: a vector of the last cells ends in it, and so does a
// texel of an image, which devices cut off otherwise.
func TestWholeVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := int64(1) << rapid.IntRange(0, 5).Draw(t, "align")
		l := kernel.Layout{Lead: rapid.Int64Range(0, align-1).Draw(t, "lead"), Align: align}
		n, width := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 70).Draw(t, "cells")
		r := rows(l, &ir.Grid{Type: types.F64}, []int{n, width})
		if r == (device.Rows{}) { // dense
			r = device.Rows{Bytes: 8 * int64(width), Pitch: 8 * int64(width), Count: int64(n)}
		}
		if want := 8 * l.Cells(int64(n), int64(width)); r.Padded() != want {
			t.Fatalf("%d rows of %d cells by %+v are %d bytes long, and kernels take them for %d", n, width, l,
				r.Padded(), want)
		}
	})
}

// The host's memory of a grid begins a cache line with the cell that vectors begin with.
func TestFirstCellsBeginLines(t *testing.T) {
	mod, b := paddedModule(t)
	u := mod.Program.Grids[0]
	mod.FirstCells = map[*ir.Grid]int64{u: 3}
	s, err := NewScript(mod, b)
	if err != nil {
		t.Fatal(err)
	}
	if at := s.Grids[0].Start + 3*int64(u.Type.Size()); at%memory.Line != 0 {
		t.Errorf("cell 3 of %s is at byte %d", u.Name, at)
	}
	if at := s.Grids[1].Start; at%memory.Line != 0 {
		t.Errorf("cell 0 of %s is at byte %d", s.Grids[1].Name, at)
	}
}
