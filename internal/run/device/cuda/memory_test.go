package cuda

import (
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

const weighed = `
__constant__ double gl_constant_weigh_w[2];
extern "C" __global__ void weigh(double *out, cudaTextureObject_t in)
{
    const int2 words = tex1Dfetch<int2>(in, threadIdx.x);
    out[threadIdx.x] = gl_constant_weigh_w[threadIdx.x % 2] * __hiloint2double(words.y, words.x);
}
`

// The image is that of the buffer that the slot has, and constant memory has
// what was pushed last. On a machine with a GPU this runs there.
func TestImagesAndConstants(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, weighed)
	out, outBytes := doubles(make([]float64, 32)...)
	to, err := d.Share(outBytes)
	result := slotOf(t, to, err)
	w, weights := doubles(3, 5)
	wb, err := d.Share(weights)
	constant := slotOf(t, wb, err)
	var from [2]device.Buffer
	for k := range from {
		x, xb := doubles(make([]float64, 32)...)
		for i := range x {
			x[i] = float64(i + 100*k)
		}
		from[k], err = d.Share(xb)
		slotOf(t, from[k], err)
		if err := from[k].Push(); err != nil {
			t.Fatal(err)
		}
	}
	in := &device.Slot{Buffer: from[0]}
	args := []device.Arg{result, &device.Image{Of: in, Texel: device.Texel{Elem: types.F64, Count: 1}},
		&device.Constant{Of: constant, Parameter: "w"}}
	c, err := l.PrepareGrid("weigh", geometry(1, 32), args)
	if err != nil {
		t.Fatal(err)
	}
	for turn := range 4 {
		in.Buffer = from[turn%2]
		w[0] = float64(3 + turn)
		for _, f := range []func() error{wb.Push, c.Launch, to.Pull} {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
		for i, got := range out {
			if want := []float64{float64(3 + turn), 5}[i%2] * float64(i+100*(turn%2)); got != want {
				t.Errorf("turn %d: cell %d is %v, not %v", turn, i, got, want)
			}
		}
	}
	if n := len(from[0].(*Buffer).textures); n != 1 {
		t.Errorf("%d images of a buffer", n)
	}
}

// The driver's structs have the sizes that its header says.
func TestTextureStructs(t *testing.T) {
	if a, b := unsafe.Sizeof(resource{}), unsafe.Sizeof(textureUse{}); a != 144 || b != 104 {
		t.Errorf("%d and %d bytes", a, b)
	}
}

// What the compiler makes of delicate kernels where it spills registers is not
// trusted.
func TestSpilledRefused(t *testing.T) {
	if os.Getenv("GRIDLOOM_REAL_GPU") != "" {
		t.Skip("only the pretended GPU spills on demand")
	}
	d := open(t)
	l := load(t, d, arith.Strict, `extern "C" __global__ void spilled(double *out) { out[threadIdx.x] = 1; }`)
	_, bytes := doubles(make([]float64, 32)...)
	to, err := d.Share(bytes)
	args := []device.Arg{slotOf(t, to, err)}
	g := geometry(1, 32)
	if _, err := l.PrepareGrid("spilled", g, args); err != nil {
		t.Error(err)
	}
	g.Delicate = true
	_, err = l.PrepareGrid("spilled", g, args)
	if verdict.Of(err) != verdict.Compiler ||
		!strings.Contains(err.Error(), Spilled+": spilled takes 64 bytes of local memory a thread") {
		t.Errorf("%v", err)
	}
}

func TestImagesRefused(t *testing.T) {
	d := open(t)
	d.GPU.Limits.Texels = 31
	l := load(t, d, arith.Strict, weighed)
	buf, err := d.Alloc(32 * 8)
	slot := slotOf(t, buf, err)
	args := func(constant device.Arg) []device.Arg {
		return []device.Arg{slot, &device.Image{Of: slot, Texel: device.Texel{Elem: types.F64, Count: 1}}, constant}
	}
	_, err = l.PrepareGrid("weigh", geometry(1, 32), args(&device.Constant{Of: slot, Parameter: "w"}))
	if err == nil || !strings.Contains(err.Error(), "an image of 32 texels is needed, and those of ") ||
		!strings.Contains(err.Error(), " have 31 at most") {
		t.Error(err)
	}
	_, err = l.PrepareGrid("weigh", geometry(1, 32), args(&device.Constant{Of: slot, Parameter: "v"}))
	if err == nil || !strings.Contains(err.Error(), "the compiled code has no constant memory gl_constant_weigh_v") {
		t.Error(err)
	}
	other, err := d.Alloc(32 * 8)
	_, err = l.PrepareGrid("weigh", geometry(1, 32), args(&device.Constant{Of: slotOf(t, other, err), Parameter: "w"}))
	if err == nil || !strings.Contains(err.Error(), "the constant memory gl_constant_weigh_w is to hold two grids") {
		t.Error(err)
	}
}
