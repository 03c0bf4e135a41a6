package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

func TestCells(t *testing.T) {
	pretend(t)
	t.Run("rows", testCellRows)
	t.Run("limits", testCellLimits)
	t.Run("mismatch", testCellMismatch)
}

func small() GPUOptions {
	return GPUOptions{
		Plans:   []string{"family=cells,block=8x32"},
		Set:     map[string]string{"L": "9", "M": "12", "N": "75"},
		Batches: 5, Batch: time.Microsecond, Commit: "abc", Log: io.Discard,
	}
}

func testCellRows(t *testing.T) {
	o := small()
	o.Cases = []string{"star5"}
	var log strings.Builder
	o.Log = &log
	rows, err := Cells(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ name, dtype, grid string }
	var got []key
	for _, r := range rows {
		got = append(got, key{r.Case, r.DType, r.Grid})
		if !(r.GStencils > 0 && r.GStencilsLow <= r.GStencils && r.GStencils <= r.GStencilsHigh &&
			r.CopyGBs >= max(r.CopyDriverGBs, r.CopyKernelGBs)) ||
			math.Abs(r.FractionOfCopy*r.CopyGBs-r.GStencils*r.BytesPerPoint) > 1e-9*r.CopyGBs {
			t.Errorf("%+v", r)
		}
		if r.Plan != o.Plans[0] || r.Registers != 32 || r.Spills != 0 || r.Device != "Pretended GPU" ||
			r.Driver != "999.1 (CUDA 13.2)" ||
			r.Compiler != "NVRTC 13.2" || r.Commit != "abc" || r.Batches != 5 || r.Launches < 1 || r.CompileMS <= 0 ||
			r.Refused != "" {
			t.Errorf("%+v", r)
		}
	}
	want := []key{{"star5", "float", "12x75"}}
	if !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
	// Every cell of the small grids, in both modes; the windows cover this
	// large grid's inside at least once.
	cells := func(sizes [][]int64) (n int64) {
		for _, s := range sizes {
			m := int64(1)
			for _, k := range s {
				m *= k
			}
			n += m
		}
		return n
	}
	least := 2*cells(plainSizes[2]) + cells(boundedSizes[2]) + 10*73
	if rows[0].CellsChecked < least {
		t.Errorf("%d cells checked, want at least %d", rows[0].CellsChecked, least)
	}
	if r := rows[0]; !slices.Equal(r.Timed, []string{"star5"}) || r.BytesPerPoint != 8 ||
		!strings.Contains(log.String(), "star5 float 12x75: copies reach") {
		t.Errorf("%+v\n%s", r, log.String())
	}
	var fields map[string]any
	text, err := json.Marshal(rows[0])
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(
		"case dtype grid plan gstencils copy_gbs fraction_of_copy registers spills compile_ms cells_checked device " +
			"driver commit") {
		if _, ok := fields[name]; !ok {
			t.Errorf("the row has no %s", name)
		}
	}
}

func testCellLimits(t *testing.T) {
	o := small()
	o.Batches = 4
	if _, err := Cells(context.Background(), o); err == nil ||
		err.Error() != "bench cells: 4 batches: at least 5 are needed" {
		t.Error(err)
	}
	o = small()
	o.Cases = []string{"star7"}
	o.Set = map[string]string{"L": "512", "M": "512", "N": "512"}
	want := "star7 double: the GPU has 1.0 GiB of free memory, and this needs 5.0 GiB: choose smaller sizes"
	if _, err := Cells(context.Background(), o); err == nil || err.Error() != want {
		t.Error(err)
	}
	o.Set = map[string]string{"L": "2"}
	if _, err := Cells(context.Background(), o); err == nil ||
		!strings.Contains(err.Error(), "star7 double: this statement has no cells to work on") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Cells(ctx, small()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	o.Cases = []string{"star9"}
	if _, err := Cells(context.Background(), o); err == nil || err.Error() != "bench cells: there is no case star9" {
		t.Error(err)
	}
	o = small()
	o.Ordinal = 3
	if _, err := Cells(context.Background(), o); err == nil ||
		err.Error() != "there is no GPU cuda:3: the driver shows 1 GPU, from cuda:0 on" {
		t.Error(err)
	}
}

// A single bit is found, wherever it is.
func testCellMismatch(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	b := &gpuContext{ctx: context.Background(), dev: dev}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	c := gpuCases[0]
	p, err := c.load("")
	if err != nil {
		t.Fatal(err)
	}
	e, err := expect(p, []int64{5, 6, 7})
	if err != nil {
		t.Fatal(err)
	}
	m, lib, _, err := b.build(e.bound, configurations(3)[0])
	if err != nil {
		t.Fatal(err)
	}
	try := func() error {
		_, err := b.compare(e, m, lib)
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	next := e.state.Grid("next").Data
	inside, rim := 8*((2*6+3)*7+4), 8*((2*6+3)*7+6)
	next[inside] ^= 1
	var wrong *Mismatch
	if err := try(); !errors.As(err, &wrong) || wrong.What != "next[2][3][4]" || wrong.Grid != "5x6x7" ||
		wrong.Bound != 0 ||
		!strings.Contains(err.Error(), "in contract arithmetic, is ") {
		t.Error(err)
	}
	next[inside] ^= 1
	// A cell that has to keep its value.
	next[rim] ^= 1
	if err := try(); !errors.As(err, &wrong) || wrong.What != "next[2][3][6]" {
		t.Error(err)
	}
	next[rim] ^= 1
	// An input that was written to.
	e.state.Grid("u").Data[0] ^= 1
	if err := try(); !errors.As(err, &wrong) || wrong.What != "u[0][0][0]" {
		t.Error(err)
	}

	// Windows of a large grid.
	if p, err = c.load(""); err != nil {
		t.Fatal(err)
	}
	bound, err := sized(p, []int64{20, 30, 100})
	if err != nil {
		t.Fatal(err)
	}
	large, err := b.place(bound, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer large.free()
	if err := errors.Join(large.fill(b), large.poison()); err != nil {
		t.Fatal(err)
	}
	w, err := newSampledBoxes(large)
	if err != nil {
		t.Fatal(err)
	}
	m, lib, _, err = b.build(large.bound, configurations(3)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.compare(large, "contract"); !errors.As(err, &wrong) || !math.IsNaN(wrong.Got) {
		t.Errorf("a sweep that has not run: %v", err)
	}
	launches, err := large.bind(m, lib)
	if err != nil {
		t.Fatal(err)
	}
	defer launches.free()
	if err := launches.launch(); err != nil {
		t.Fatal(err)
	}
	n, err := w.compare(large, "contract")
	if want := int64(len(w.corners)) * 4 * 5 * 68; err != nil || n != want {
		t.Errorf("%d cells, want %d: %v", n, want, err)
	}
	out := large.grids[output(large.bound.Program)]
	for name, at := range map[string][3]int64{"first": {1, 1, 1}, "last": {18, 28, 98}} {
		cell := ((at[0]*30+at[1])*100 + at[2]) * 8
		var old [8]byte
		value := 0.25
		if err := errors.Join(out.Read(cell, old[:]),
			out.Write(cell, (*[8]byte)(unsafe.Pointer(&value))[:])); err != nil {
			t.Fatal(err)
		}
		if _, err := w.compare(large, "contract"); !errors.As(err, &wrong) || wrong.Got != 0.25 ||
			wrong.Grid != "20x30x100" {
			t.Errorf("%s: %v", name, err)
		}
		if err := out.Write(cell, old[:]); err != nil {
			t.Fatal(err)
		}
	}
}
