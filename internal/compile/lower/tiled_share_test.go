package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// checkStream runs a program in the simulator under a plan of any integers, for a GPU of two multiprocessors, so that
// blocks that share all tiles have several.
func checkStream(t *testing.T, b *ir.Binding, text string, seed uint64) error {
	t.Helper()
	gpu, err := machine.Builtin("h200")
	if err != nil {
		return err
	}
	gpu.Units = 2
	want, err := expect(b, interp.NoBounds, seed)
	if err != nil {
		return err
	}
	m, err := lowered(b.Program, lower.Options{
		Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true, AnyIntegers: true, Machine: gpu,
	})
	if err != nil {
		return err
	}
	got, err := want.simulate(m, b)
	if err != nil {
		return err
	}
	return want.compare(b.Program, got)
}

// Blocks that share all tiles compute every cell once, however planes come to them and threads meet, with tiles that
// are many, few and fewer than there are blocks.
func TestSharedTiles(t *testing.T) {
	ways := []string{
		"stages=0", "stages=0,unroll=yes,prefetch=1", "stages=2", "stages=1,barrier=split",
		"stages=2,unroll=yes,barrier=split", "stages=3,barrier=split,planes=2", "stages=1,copy=bulk",
		"stages=2,copy=bulk,barrier=split", "stages=1,copy=warp", "stages=3,copy=warp,unroll=2", "stages=1,copy=tensor",
		"stages=2,copy=tensor,barrier=split", "stages=3,copy=tensor,barrier=split,unroll=yes",
		"stages=1,copy=tensorwarp", "stages=2,copy=tensorwarp,planes=2", "stages=1,copy=tensor,cluster=2",
		"stages=2,copy=tensor,cluster=2,barrier=split", "stages=2,copy=tensorwarp,cluster=4", "stages=1,staging=halos",
	}
	sizes := []string{"L=11 M=21 N=77", "L=40 M=10 N=40", "L=9 M=33 N=130", "L=75 M=12 N=20"}
	n := 0
	for _, name := range []string{"order 8", "box", "to one side"} {
		for i, dtype := range []string{"double", "float"} {
			p := load(t, "wide", wideProgram(dtype, "", wide[name]))
			for _, how := range ways {
				for blocks := range 2 {
					n++
					block := []string{"4x32", "2x32", "3x24", "8x16"}[n%4]
					text := fmt.Sprintf("family=stream,stream=k,chunk=0,persistent=%d,%s,block=%s,vec=%d,rows=%d,"+
						"sizes=%s", 1+blocks+n%3, how, block, 2+2*i, 1+n%2, []string{"literals", "arguments"}[n/2%2])
					if err := checkStream(t, bind(t, p, sizes[n/3%4]), text, uint64(n)); err != nil {
						t.Errorf("%s of %s, %s, %s: %v", name, dtype, sizes[n/3%4], text, err)
					}
				}
			}
		}
	}
}

// Boundaries, pieces of statements and programs of two dimensions share tiles, too.
func TestSharedTilesBounds(t *testing.T) {
	bounds := []string{
		"clamp", "periodic", "antimirror", "constant(0.7)", "reflect on k, constant(2) on j, mirror on i",
	}
	ways := []string{
		"stages=2,barrier=split", "stages=2,copy=bulk,barrier=split", "stages=1,copy=warp", "stages=1,retime=yes",
		"stages=2,copy=tensor,barrier=split", "stages=0,retime=yes,unroll=yes",
	}
	for i, bound := range bounds {
		p := load(t, "wide", wideProgram("float", "boundary u : "+bound+";", `0.2*in[k-1][j][i+1] -
			0.5*in[k][j+1][i] + 0.1*in[k][j-1][i] + 0.3*in[k][j][i-2] - 0.1*in[k+1][j+1][i-1]`))
		for n, how := range ways {
			stream := []string{"k", "j"}[(n+i)%2]
			if strings.Contains(how, "retime") {
				stream = "k"
			}
			text := fmt.Sprintf("family=stream,stream=%s,chunk=0,persistent=%d,block=2x32,vec=4,%s", stream, 1+(n+i)%3,
				how)
			b := bind(t, p, []string{"L=7 M=11 N=67", "L=1 M=1 N=1", "L=33 M=5 N=130"}[(n+i)%3])
			if err := checkStream(t, b, text, uint64(n)); err != nil {
				t.Errorf("%s, %s: %v", bound, text, err)
			}
		}
	}
	p := load(t, "flat", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
copyin u, v; copyout v;
stencil s (out, in) { out[j][i] = 0.12*in[j-1][i] + 0.2*in[j][i-2] + 0.28*in[j][i] + 0.24*in[j+3][i]; }
s (v, u);`)
	for n, how := range ways {
		text := fmt.Sprintf("family=stream,stream=j,chunk=0,persistent=%d,block=64,vec=2,%s", 1+n%3, how)
		if err := checkStream(t, bind(t, p, "M=61 N=700"), text, uint64(n)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// With barrier=split no step has a barrier of the block, and blocks that share tiles meet once a share.
func TestSplitBarriers(t *testing.T) {
	p := load(t, "wide", wideProgram("float", "", wide["box"]))
	for _, c := range []struct {
		how                    string
		barriers, steps, waits int // barriers of the block, those in steps, and waits for mbarriers
	}{
		{"chunk=8,stages=2", 1, 1, 0},
		{"chunk=8,stages=2,barrier=split", 1, 0, 1},
		{"chunk=8,stages=2,copy=bulk", 2, 1, 1},
		{"chunk=8,stages=2,copy=bulk,barrier=split", 1, 0, 2},
		{"chunk=0,persistent=2,stages=2", 2, 1, 0},
		{"chunk=0,persistent=2,stages=2,barrier=split", 1, 0, 1},
		{"chunk=0,persistent=2,stages=2,copy=tensorwarp", 1, 0, 2},
		{"chunk=0,persistent=2,stages=0", 0, 0, 0},
	} {
		text := "family=stream,stream=k,block=2x32,vec=4," + c.how
		m, err := lowered(p, lower.Options{Target: lower.GPU, Plan: plan(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		barriers, steps, waits := 0, 0, 0
		count := func(list []kernel.Stmt, n *int) {
			kernel.WalkStmts(list, func(s kernel.Stmt) {
				if b, ok := s.(*kernel.Barrier); ok && b.Scope == kernel.BlockScope {
					*n++
				}
			}, nil)
		}
		count(m.Kernels[0].Body, &barriers)
		shares := false
		kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Loop:
				shares = shares || s.Var.Name == "share"
				if strings.HasPrefix(s.Var.Name, "k_") && s.Tag == kernel.Serial {
					count(s.Body, &steps)
				}
			case *kernel.MbarrierWait:
				waits++
			}
		}, nil)
		shared := strings.Contains(text, "persistent")
		if barriers != c.barriers || steps != c.steps || waits != c.waits || shares != shared {
			t.Errorf("%s: %d barriers, %d of them in steps, %d waits; a loop over shares: %t", text, barriers, steps,
				waits, shares)
		}
	}
}

// A kernel that lacks any part of what keeps threads, and shares of a block, from each other's way is found out.
func TestSharedTilesSpoilt(t *testing.T) {
	gpu, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	gpu.Units = 1
	p := load(t, "wide", wideProgram("double", "", wide["order 8"]))
	b := bind(t, p, "L=14 M=33 N=37")
	is := func(name string) func(kernel.Stmt) bool {
		return func(s kernel.Stmt) bool { return strings.HasPrefix(fmt.Sprintf("%T", s), "*kernel."+name) }
	}
	for _, c := range []struct{ how, what string }{
		{"stages=2,barrier=split", "MbarrierWait"}, {"stages=2,barrier=split", "AsyncWait"},
		{"stages=2,barrier=split", "Barrier"}, {"stages=2", "Barrier"}, {"stages=1,copy=tensor", "Barrier"},
		{"stages=1,copy=tensor,barrier=split", "MbarrierWait"}, {"stages=1,copy=tensorwarp", "AsyncFence"},
		{"stages=1,copy=tensorwarp", "Assign"}, // of steps that are counted
	} {
		for _, drop := range []bool{false, true} {
			want, err := expect(b, interp.NoBounds, 3)
			if err != nil {
				t.Fatal(err)
			}
			text := "family=stream,stream=k,chunk=0,persistent=1,block=4x32,vec=2,rows=2,staging=all," + c.how
			m, err := lowered(p, lower.Options{
				Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true, Machine: gpu,
			})
			if err != nil {
				t.Fatal(err)
			}
			if drop {
				m.Kernels[0].Body = dropped(m.Kernels[0].Body, is(c.what))
			}
			got, err := want.simulate(m, b)
			if err == nil {
				err = want.compare(b.Program, got)
			}
			if (err != nil) != drop {
				t.Errorf("%s, without %s %t: %v", text, c.what, drop, err)
			}
		}
	}
}

// Pieces of tiles that lie beyond the last plane, as equal ones may, are no work.
func TestSharedTilesBeyond(t *testing.T) {
	p := load(t, "flat", `
parameter M, N;
iterator j, i;
float u[M,N], v[M,N];
copyin u; copyout v;
stencil s (out, in) { out[j][i] = 0.5*in[j][i-1] + 0.25*in[j][i] - in[j][i+2]; }
s (v, u);`)
	for n, how := range []string{
		"persistent=2,stages=2,copy=tensor,barrier=split", "persistent=4,stages=3,copy=bulk,planes=2,unroll=yes",
		"persistent=3,stages=0", "persistent=4,stages=1",
	} {
		for _, size := range []string{"M=13 N=30", "M=31 N=60", "M=5 N=9", "M=1 N=8"} {
			text := "family=stream,stream=j,chunk=0,block=32,vec=4,sizes=literals," + how
			if err := checkStream(t, bind(t, p, size), text, uint64(n)); err != nil {
				t.Errorf("%s, %s: %v", size, text, err)
			}
		}
	}
}
