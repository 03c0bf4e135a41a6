package lower_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Planes that the copy engine fetches have what a boundary makes of the cells
// beyond the array, too, at sizes that are no multiples of anything.
func TestBulkFetch(t *testing.T) {
	const program = `
parameter L, M, N;
iterator k, j, i;
%[2]s u[L,M,N], v[L,M,N];
%[1]s
copyin u; copyout v;
stencil s (out, in) {
  out[k][j][i] = 0.3*in[k][j-1][i-1] + 0.2*in[k][j+1][i+2] + 0.4*in[k-1][j][i+1] + 0.1*in[k+2][j][i-1] + 0.2*in[k][j][i-3];
}
s (v, u);`
	boundaries := []string{
		"", "boundary u : clamp;", "boundary u : periodic;", "boundary u : antimirror;", "boundary u : constant(0.7);",
		"boundary u : reflect on k, constant(2) on j, antireflect on i;", "boundary u : constant(1) on k, periodic on j, mirror on i;",
	}
	plans := []string{
		"family=stream,stream=k,chunk=4,shared=1,fetch=bulk,block=4x32,vec=4",
		"family=stream,stream=k,chunk=0,shared=2,fetch=bulk,block=2x32,vec=8,rows=4,x=shuffle,sizes=baked",
		"family=stream,stream=j,chunk=8,shared=3,fetch=bulk,ahead=2,block=1x64,vec=4,repeat=2x1,sizes=baked,share=yes",
		"family=stream,stream=k,chunk=4,planes=2,shared=2,fetch=bulk,block=8x16,vec=4,rows=2,sizes=baked",
		"family=stream,stream=k,chunk=16,rotate=yes,shared=3,fetch=bulk,ahead=1,block=4x32,vec=4,store=streaming",
		"family=stream,stream=k,chunk=8,shared=2,fetch=warp,block=4x32,vec=4,x=shuffle",
		"family=stream,stream=j,chunk=0,rotate=yes,shared=3,fetch=warp,block=8x16,vec=4,rows=2,sizes=baked,share=yes",
		"family=stream,stream=k,chunk=4,planes=2,shared=1,fetch=warp,ahead=1,block=2x64,vec=8,sizes=baked",
	}
	sizes := []string{"L=7 M=11 N=67", "L=1 M=1 N=1", "L=13 M=3 N=130", "L=9 M=37 N=16"}
	rng := rand.New(rand.NewPCG(5, 1))
	for n, boundary := range boundaries {
		for i, elem := range []string{"double", "float"} {
			p := load(t, "bulk", fmt.Sprintf(program, boundary, elem))
			for j, text := range plans {
				if (i+j+n)%3 != 0 {
					continue
				}
				size := sizes[rng.IntN(len(sizes))]
				if boundary == "" && size == "L=1 M=1 N=1" {
					size = "L=4 M=3 N=7" // for there to be a cell to compute
				}
				w := way{target: lower.GPU, strict: true, plan: plan(t, text)}
				b := bind(t, p, size)
				if err := check(b, w, 3); err != nil {
					t.Errorf("%s %s %s: %v", boundary, elem, size, err)
					continue
				}
				m, _ := lowered(p, lower.Options{Target: lower.GPU, Plan: w.plan, Bound: b, Sized: true})
				copies := 0
				kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
					switch s.(type) {
					case *kernel.BulkCopy:
						copies++
					case *kernel.AsyncCopy:
						t.Errorf("%s: threads copy, too", text)
					}
				}, nil)
				if copies == 0 && size != "L=1 M=1 N=1" {
					t.Errorf("%s: there are no bulk copies", text)
				}
			}
		}
	}
}
