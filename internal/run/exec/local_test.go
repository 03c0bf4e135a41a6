package exec

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// openLocal opens a program in this process, on a device and on memory that is given.
func openLocal(t *testing.T, device string, b *ir.Binding, given map[string][]byte) *Local {
	t.Helper()
	m := module(t, b)
	image := ""
	if device == "cpu" {
		image = build(t, emit.Source(emit.C, m))
	} else {
		m, image = forGPU(t, b)
	}
	r, err := OpenLocal(t.Context(), m, b, Options{Device: device, Image: image}, given)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// own returns memory for some of a program's grids, filled with nonsense.
func own(b *ir.Binding, which func(i int) bool) map[string][]byte {
	given := map[string][]byte{}
	for i, g := range b.Program.Grids {
		if !which(i) {
			continue
		}
		cells := g.Type.Size()
		for _, n := range b.Shape(g.Dims) {
			cells *= n
		}
		words := make([]uint64, (cells+7)/8) // aligned for every type
		given[g.Name] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), cells)
	}
	return given
}

// In this process, on the caller's memory or not, a program comes to the bits that it comes to
// in a worker, whatever the pieces that it goes in.
func TestLocalAgrees(t *testing.T) {
	for _, test := range programs {
		b := program(t, test.text)
		ref := initialised(t, openReference(t, b))
		end := advanced(t, ref, Limit{})
		want := contents(t, ref, b.Program)
		for _, device := range []string{"cpu", "cuda:0"} {
			for name, which := range map[string]func(int) bool{
				"all": func(int) bool { return true }, "none": func(int) bool { return false },
				"some": func(i int) bool { return i%2 == 0 },
			} {
				given := own(b, which)
				r := openLocal(t, device, b, given)
				initialised(t, r)
				var p Progress
				for !p.Finished {
					p = advanced(t, r, Limit{Iterations: 1, Leaves: 7})
				}
				what := test.name + " on " + device + ", own memory for " + name
				if p.Iterations != end.Iterations || p.Leaves != end.Leaves || p.Points != end.Points {
					t.Errorf("%s: ends with %+v, want %+v", what, p, end)
				}
				same(t, what, contents(t, r, b.Program), want)
				if err := r.Settle(); err != nil {
					t.Fatal(err)
				}
				same(t, what+", settled", contents(t, r, b.Program), want)
				for name, cells := range given {
					if !bytes.Equal(cells, want[name]) {
						t.Errorf("%s: the memory of %s has other cells", what, name)
					}
				}
			}
		}
	}
}

// Between two advances the caller may write to its memory, and settle it, at any place.
func TestLocalSettles(t *testing.T) {
	b := program(t, relax)
	for _, device := range []string{"cpu", "cuda:0"} {
		given := own(b, func(int) bool { return true })
		r, ref := openLocal(t, device, b, given), openReference(t, b)
		initialised(t, r)
		initialised(t, ref)
		for piece := 0; ; piece++ {
			p := advanced(t, r, Limit{Leaves: 5})
			advanced(t, ref, Limit{Leaves: 5})
			if piece%3 == 1 {
				if err := r.Settle(); err != nil {
					t.Fatal(err)
				}
				cells, err := ref.Grid("b")
				if err != nil {
					t.Fatal(err)
				}
				for i := range 4 * 7 { // some numbers of float, from another place
					cells[i], given["b"][i] = cells[len(cells)-28+i], given["b"][len(cells)-28+i]
				}
			}
			same(t, device, contents(t, r, b.Program), contents(t, ref, b.Program))
			if p.Finished {
				break
			}
		}
	}
}

// Memory of another size than its grid, and too little of it, is refused.
func TestLocalRefuses(t *testing.T) {
	b := program(t, heat)
	m := module(t, b)
	o := Options{Device: "cpu", Image: build(t, emit.Source(emit.C, m))}
	_, err := OpenLocal(t.Context(), m, b, o, map[string][]byte{"mask": make([]byte, 8)})
	if err == nil || err.Error() != "mask has 264 bytes, and its memory 8" {
		t.Error(err)
	}
	o.Image = "/no/such/image"
	if _, err := OpenLocal(t.Context(), m, b, o, nil); err == nil || !strings.Contains(err.Error(), "/no/such/image") {
		t.Error(err)
	}
	o.Device = "cuda:7"
	if _, err := OpenLocal(t.Context(), m, b, o, nil); err == nil || !strings.Contains(err.Error(), "cuda:7") {
		t.Error(err)
	}
	huge := program(t, heat, "N=1000000")
	m = module(t, huge)
	_, err = OpenLocal(t.Context(), m, huge, Options{Device: "cpu"}, nil)
	if _, short := err.(*memory.Shortage); !short {
		t.Errorf("%T %v", err, err)
	}
}

// The end of the context stops between two calls; the program can go on from there.
func TestLocalStops(t *testing.T) {
	b := program(t, heat, "N=400", "T=100000")
	r := openLocal(t, "cpu", b, nil)
	initialised(t, r)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p, err := r.Advance(ctx, Limit{})
	if err != nil || !p.Stopped || p.Finished || p.Iterations >= 100000 {
		t.Fatalf("%+v %v", p, err)
	}
	if q := advanced(t, r, Limit{Iterations: 1}); q.Iterations != p.Iterations+1 {
		t.Errorf("it stopped after %d iterations, and one more are %d", p.Iterations, q.Iterations)
	}
}
