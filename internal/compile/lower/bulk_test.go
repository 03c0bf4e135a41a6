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
		"boundary u : reflect on k, constant(2) on j, antireflect on i;",
		"boundary u : constant(1) on k, periodic on j, mirror on i;",
	}
	plans := []string{
		"family=stream,stream=k,chunk=4,stages=1,copy=bulk,block=4x32,vec=4",
		"family=stream,stream=k,chunk=0,stages=2,copy=bulk,block=2x32,vec=8,rows=4,shuffle=yes,sizes=literals",
		"family=stream,stream=j,chunk=8,stages=3,copy=bulk,prefetch=2,block=1x64,vec=4,repeat=2x1," +
			"sizes=literals,cse=yes",
		"family=stream,stream=k,chunk=4,planes=2,stages=2,copy=bulk,block=8x16,vec=4,rows=2,sizes=literals",
		"family=stream,stream=k,chunk=16,unroll=yes,stages=3,copy=bulk,prefetch=1,block=4x32,vec=4,store=streaming",
		"family=stream,stream=k,chunk=8,stages=2,copy=warp,block=4x32,vec=4,shuffle=yes",
		"family=stream,stream=j,chunk=0,unroll=yes,stages=3,copy=warp,block=8x16,vec=4,rows=2,sizes=literals,cse=yes",
		"family=stream,stream=k,chunk=4,planes=2,stages=1,copy=warp,prefetch=1,block=2x64,vec=8,sizes=literals",
		"family=stream,stream=k,chunk=8,retime=yes,stages=2,copy=warp,block=2x32,vec=4,sizes=literals",
		"family=stream,stream=k,chunk=8,retime=yes,unroll=yes,stages=2,copy=bulk,block=2x32,vec=4,sizes=literals",
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

// However steps are unrolled, planes fetched ahead and chunks cut off, no copy
// overtakes what a step reads, and none is under way when a block ends.
func TestBulkOrder(t *testing.T) {
	p := load(t, "order", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
copyin u, v; copyout v;
stencil s (out, in) {
  out[j][i] = 0.12*in[j-1][i] + 0.2*in[j][i-1] + 0.28*in[j][i] + 0.16*in[j][i+1] + 0.24*in[j+1][i];
}
s (v, u);`)
	sizes := []string{"M=23 N=67", "M=3 N=3", "M=19 N=131", "M=18 N=64"}
	number := 0
	for _, fetch := range []string{"bulk", "warp"} {
		for _, retime := range []string{"no", "yes"} {
			for _, unroll := range []string{"no", "2", "4", "yes"} {
				for prefetch := range 3 {
					for buffered := 1; buffered <= 3; buffered++ {
						planes := 1 << ((number + number/3) % 3)
						text := fmt.Sprintf("family=stream,stream=j,chunk=%d,planes=%d,unroll=%s,retime=%s,stages=%d,"+
							"copy=%s,prefetch=%d,block=64,vec=2,sizes=literals,cse=yes", 4<<(number%2), planes, unroll,
							retime, buffered, fetch, prefetch)
						w := way{target: lower.GPU, plan: plan(t, text)}
						if err := check(bind(t, p, sizes[number%len(sizes)]), w, uint64(number)); err != nil {
							t.Error(err)
						}
						number++
					}
				}
			}
		}
	}
}

// A warp of its own fetches planes where boundaries leave nothing to copy by
// hand, and then no step has a barrier. A step has a fence however planes are
// fetched: before the barrier, or before threads say that they are through.
func TestWhoFetches(t *testing.T) {
	for _, c := range []struct {
		fetch, boundary           string
		threads, barriers, fences int
	}{
		{"bulk", "", 128, 2, 1}, // before the first step, and in each
		{"warp", "", 160, 1, 1},
		{"bulk", "boundary u : periodic;", 128, 2, 1},
		{"warp", "boundary u : periodic;", 128, 2, 1},
		{"warp", "boundary u : periodic on k, clamp on j;", 160, 1, 1},
		{"warp", "boundary u : constant(1) on j;", 128, 2, 1},
		{"bulk", "boundary u : constant(1) on k;", 128, 2, 1},
	} {
		p := load(t, "who", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N];
`+c.boundary+`
copyin u; copyout v;
stencil s (out, in) { out[k][j][i] = in[k][j][i-1] + in[k][j+1][i] + in[k+1][j][i] + in[k-1][j][i]; }
s (v, u);`)
		o := lower.Options{
			Target: lower.GPU, Plan: plan(t, "family=stream,stream=k,stages=1,block=4x32,vec=4,copy="+c.fetch),
		}
		m, err := lowered(p, o)
		if err != nil {
			t.Fatal(err)
		}
		barriers, fences := 0, 0
		kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Barrier:
				if s.Scope == kernel.BlockScope {
					barriers++
				}
			case *kernel.AsyncFence:
				fences++
			}
		}, nil)
		threads := int(lower.Resources(m.Kernels[0]).Threads)
		if threads != c.threads || barriers != c.barriers || fences != c.fences {
			t.Errorf("%s, %q: %d threads, %d barriers and %d fences, want %d, %d and %d",
				c.fetch, c.boundary, threads, barriers, fences, c.threads, c.barriers, c.fences)
		}
	}
}
