package estimate

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const box = `
parameter L = 96, M = 200, N = 208;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
stencil box (out, in) {
  out[k][j][i] = 0.3*in[k-1][j-1][i-1] + 0.2*in[k-1][j+1][i] + 0.4*in[k][j][i+1] + 0.1*in[k+1][j-1][i+1];
}
box (next, u);
`

// system reads one grid around a cell, one along an axis alone, one at the cell, and two alike; their types differ.
const system = `
parameter L = 64, M = 130, N = 256;
iterator k, j, i;
double p[L,M,N], q[L,M,N], out[L,M,N];
float a[L,M,N], b[L,M,N], c[L,M,N];
stencil update (out, p, q, a, b, c) {
  double flux = 0.5*(p[k][j][i-2] + p[k][j+1][i] + p[k+2][j][i]);
  out[k][j][i] = flux*a[k][j][i] + 0.25*(q[k-1][j][i] - q[k+1][j][i]) + 0.7*b[k][j-1][i] - 0.3*b[k][j][i+1] +
    0.2*c[k][j-1][i] - 0.6*c[k][j][i+1];
}
update (out, p, q, a, b, c);
`

const flat = `
parameter M = 900, N = 1024;
iterator j, i;
float u[M,N], next[M,N];
stencil far (out, in) {
  out[j][i] = 0.4*in[j][i] + 0.1*in[j-3][i] + 0.2*in[j+3][i] + 0.15*in[j][i-2] + 0.25*in[j][i+4];
}
far (next, u);
`

// within has a call of two axes in a program of three.
const within = `
parameter L = 48, M = 300, N = 512;
iterator k, j, i;
float u[M,N], next[M,N];
double v[L,M,N], w[L,M,N];
stencil flat (out, in) {
  out[j][i] = 0.4*in[j][i] + 0.1*in[j-1][i+2] + 0.2*in[j+1][i-1];
}
stencil deep (out, in) {
  out[k][j][i] = 0.4*in[k-1][j][i] + 0.3*in[k+1][j][i];
}
flat (next, u);
deep (w, v);
`

// The shared memory of a block is that of the lowered kernel: of tiles always, of planes mostly.
func TestSharedMemoryIsThatOfKernels(t *testing.T) {
	for _, test := range []struct{ name, source string }{
		{"star", cube}, {"box", box}, {"system", system}, {"flat", flat}, {"within", within},
	} {
		e, o := model(t, test.source), options(t, test.source)
		own := choice(t, o).Kernel
		for _, family := range e.space.Families {
			if family.For(schedule.Staging) == nil {
				continue
			}
			planes := family.For(schedule.Refetch) != nil
			draws := schedule.Space{Families: []schedule.Family{family}}.Counter()
			r := rand.New(rand.NewPCG(1, 1))
			all, exact, wrong := 0, 0, 0
			for all < perFamily {
				c := draws.Draw(r)
				if e.roles.Of(c).Int(schedule.Staging, 0) == 0 {
					continue
				}
				o.Plan = schedule.Plan{Kernels: []schedule.Kernel{own.In(c)}}
				want, ok := sharedMemory(o)
				if !ok {
					continue
				}
				all++
				got := e.Terms(c)
				switch d := float64(want) - got.Shared; {
				case d >= 0 && d <= 128: // what buffers are aligned to, and mbarriers
					exact++
				case !planes:
					t.Errorf("%s: %s has %d bytes, and the estimate is %g", test.name, c, want, got.Shared)
				default:
					t.Logf("%s: %s has %d bytes, and the estimate is %g", test.name, c, want, got.Shared)
				}
				if got.Fits != (want <= e.gpu.SharedPerBlock) {
					wrong++
				}
			}
			if exact*5 < all*4 || wrong*20 > all {
				t.Errorf("%s: %d of %d are right for %s; of %d it is wrong whether they fit", test.name, exact, all,
					family.Name, wrong)
			}
		}
	}
}

// perFamily is how many configurations of a family are lowered.
const perFamily = 40

// sharedMemory returns the bytes of a block of a lowered kernel; false if it cannot be lowered for another reason.
func sharedMemory(o lower.Options) (bytes int64, ok bool) {
	m, err := lower.Program(o.Bound.Program, o)
	if limit, is := errors.AsType[*lower.ResourceLimit](err); is {
		return limit.Need, limit.What == "bytes of shared memory a block"
	}
	if err != nil {
		return 0, false
	}
	for _, k := range m.Kernels { // but for what fills the grids
		_, n := kernel.SharedOffsets(k)
		bytes = max(bytes, n)
	}
	return bytes, true
}
