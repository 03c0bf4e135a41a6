package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// wide are stencils by what they read of in: with unlike reach on all sides, and of one plane's rows or another's.
var wide = map[string]string{
	"order 8": `0.3*in[k][j][i] + 0.1*in[k+4][j][i] - 0.2*in[k-4][j][i] + 0.15*in[k][j+4][i] - 0.1*in[k][j-4][i] +
		0.2*in[k][j][i+4] - 0.05*in[k][j][i-4] + 0.07*in[k-1][j][i] - 0.03*in[k][j+1][i] + 0.02*in[k][j][i-2]`,
	"box": `0.5*in[k+1][j+1][i+1] + 0.1*in[k-1][j][i] - 0.2*in[k][j-1][i+1] + 0.3*in[k-1][j+1][i] -
		0.1*in[k+1][j-1][i-1] + 0.2*in[k][j][i]`,
	"to one side": `0.5*in[k][j+3][i+2] - 0.4*in[k+1][j+1][i] + 0.1*in[k][j][i+1]`,
	"one row":     `0.5*in[k+1][j][i] - 0.25*in[k-2][j][i+1] + 0.125*in[k][j][i-1]`,
}

func wideProgram(dtype, bounds, reads string) string {
	return fmt.Sprintf(`
parameter L, M, N;
iterator k, j, i;
%s u[L,M,N], v[L,M,N];
%s
copyin u; copyout v;
stencil s (out, in) { out[k][j][i] = %s; }
s (v, u);`, dtype, bounds, reads)
}

// Planes that are brought by tensor maps are right wherever tiles lie, told by a warp that computes or by one of its
// own, in clusters of any size.
func TestTensorPlanes(t *testing.T) {
	plans := []string{
		"stream=k,chunk=4,unroll=2,stages=2,prefetch=2,block=4x32,vec=2,rows=2",
		"stream=k,chunk=8,stages=1,planes=2,block=2x32,vec=4,rows=4,shuffle=yes",
		"stream=k,chunk=0,stages=3,block=4x16,vec=4,rows=2",
		"stream=k,chunk=12,stages=1,unroll=yes,block=2x32,vec=4,rows=2,repeat=2x1",
		"stream=j,chunk=4,stages=2,block=4x16,vec=4,rows=2",
		"stream=j,chunk=8,stages=1,block=1x32,vec=2", // a cluster's last blocks lie beyond the array
	}
	n := 0
	for _, name := range []string{"order 8", "box", "to one side", "one row"} {
		for _, dtype := range []string{"double", "float"} {
			p := load(t, "wide", wideProgram(dtype, "", wide[name]))
			for i, text := range plans {
				if dtype == "float" {
					text = strings.Replace(text, "vec=2", "vec=4", 1)
				}
				for _, cluster := range []string{"", ",cluster=2", ",cluster=4"} {
					n++
					size := []string{"L=11 M=21 N=37", "L=9 M=10 N=66", "L=10 M=50 N=12"}[n%3]
					text := "family=stream,staging=all,copy=" + []string{"tensor", "tensorwarp"}[n%2] + "," +
						text + cluster + ",sizes=" + []string{"literals", "arguments"}[n/2%2]
					w := way{target: lower.GPU, strict: i%2 == 0, plan: plan(t, text)}
					if err := check(bind(t, p, size), w, uint64(n)); err != nil {
						t.Errorf("%s of %s, %s: %v", name, dtype, size, err)
					}
				}
			}
		}
	}
}

// countTensor returns how many boxes the kernels of a plan's program copy, how many of them to several blocks, and how
// many rows.
func countTensor(t *testing.T, source, sizes, text string) (boxes, sent, rows int) {
	t.Helper()
	p := load(t, "wide", source)
	m, err := lowered(p, lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: bind(t, p, sizes), Sized: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range m.Kernels {
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.TensorCopy:
				boxes++
				if s.Blocks != nil {
					sent++
				}
			case *kernel.BulkCopy:
				rows++
			}
		}, nil)
	}
	return boxes, sent, rows
}

// What neighbours in a cluster both read is brought once, in planes of two or three boxes; what has a boundary
// condition within planes comes row by row.
func TestTensorBoxes(t *testing.T) {
	const text = "family=stream,stream=k,chunk=0,stages=1,staging=all,block=4x32,vec=2,rows=2,copy="
	order8 := wideProgram("double", "", wide["order 8"])
	bounded := func(bounds string) string {
		return wideProgram("double", "boundary u : "+bounds+";", wide["order 8"])
	}
	for _, c := range []struct {
		name, source, plan string
		boxes, sent, rows  int
	}{
		{"whole planes", order8, text + "tensor", 6, 0, 0}, // the first step's five, then one a step
		{"in a cluster of one", order8, text + "tensor,cluster=1", 6, 0, 0},
		// Eight rows of a tile's eight are shared, so that none is a block's own.
		{"in clusters", order8, text + "tensor,cluster=2", 12, 6, 0},
		{"taller tiles", order8, text + "tensor,cluster=2,repeat=2x1", 18, 6, 0},
		{"clamped rows", bounded("clamp"), text + "tensor,cluster=2", 0, 0, 1},
		{"clamped planes", bounded("clamp on k"), text + "tensor", 6, 0, 0},
		{"mirrored planes", bounded("antimirror on k"), text + "tensor", 0, 0, 1},
		{"rows of no tile", wideProgram("double", "", wide["one row"]), text + "tensor,cluster=2", 5, 0, 0},
	} {
		boxes, sent, rows := countTensor(t, c.source, "L=20 M=20 N=40", c.plan)
		if boxes != c.boxes || sent != c.sent || (rows > 0) != (c.rows > 0) {
			t.Errorf("%s: %d boxes, of which %d to several blocks, and %d rows; not %d, %d and %d", c.name, boxes,
				sent, rows, c.boxes, c.sent, c.rows)
		}
	}
}

// A kernel of clusters that lacks any part of what keeps blocks from each other's way is found out.
func TestTensorSpoilt(t *testing.T) {
	p := load(t, "wide", wideProgram("double", "", wide["order 8"]))
	text := "family=stream,stream=k,chunk=0,stages=1,staging=all,block=4x32,vec=2,rows=2,copy=tensor,cluster=2"
	b := bind(t, p, "L=14 M=21 N=37")
	for _, c := range []struct {
		name string
		drop func(kernel.Stmt) bool
		want string
	}{
		{"nothing", func(kernel.Stmt) bool { return false }, ""},
		{"arrivals at the block before", func(s kernel.Stmt) bool {
			a, ok := s.(*kernel.MbarrierArrive)
			return ok && a.Rank != nil
		}, "waits"},
		{"waits for what is free", func(s kernel.Stmt) bool {
			a, ok := s.(*kernel.MbarrierWait)
			return ok && strings.HasPrefix(a.Mbarrier.Name, "free") || ok && strings.HasSuffix(a.Mbarrier.Name, "_free")
		}, "copies to"},
		{"waits for planes", func(s kernel.Stmt) bool {
			a, ok := s.(*kernel.MbarrierWait)
			return ok && a.Mbarrier.Name == "arrived"
		}, "in_shared"},
		{"barriers of the cluster", func(s kernel.Stmt) bool {
			a, ok := s.(*kernel.Barrier)
			return ok && a.Scope == kernel.ClusterScope
		}, "may not have begun"},
	} {
		want, err := expect(b, interp.NoBounds, 3)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lowered(p, lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Kernels {
			k.Body = dropped(k.Body, c.drop)
		}
		got, err := want.simulate(m, b)
		if err == nil {
			err = want.compare(b.Program, got)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v", c.name, err)
		}
	}
}

// dropped returns a list without some statements, here and in the lists inside.
func dropped(list []kernel.Stmt, drop func(kernel.Stmt) bool) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range list {
		if drop(s) {
			continue
		}
		switch s := s.(type) {
		case *kernel.Loop:
			s.Body = dropped(s.Body, drop)
		case *kernel.If:
			s.Then, s.Else = dropped(s.Then, drop), dropped(s.Else, drop)
		}
		out = append(out, s)
	}
	return out
}

// Arrays of fewer axes, and those with boundary conditions, have planes beside those of a tensor map.
func TestTensorBesideRows(t *testing.T) {
	const frame = `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], v[L,M,N], w[L,N], x[L,M,N];
boundary w : %s;
boundary x : %s;
copyin u, w, x; copyout v;
stencil s (out, in, w, x) {
  out[k][j][i] = 0.5*in[k+1][j+2][i-1] - 0.25*in[k][j-1][i] + 0.125*w[k][i+1] - 0.5*w[k-1][i-1]
    + 0.75*x[k][j+1][i+2] - x[k+1][j-1][i];
}
s (v, u, w, x);`
	for i, bounds := range [][2]string{
		{"none", "none"}, {"clamp on k", "periodic on k"}, {"none", "clamp on j"}, {"constant(0.25)", "none"},
		{"none", "mirror"},
	} {
		p := load(t, "beside", fmt.Sprintf(frame, bounds[0], bounds[1]))
		for n, text := range []string{
			"copy=tensor,cluster=2,block=4x16,vec=4,rows=2,stages=2",
			"copy=tensorwarp,cluster=4,block=4x32,vec=4,stages=1",
		} {
			text := "family=stream,stream=k,chunk=4,staging=all,sizes=literals," + text
			b := bind(t, p, []string{"L=9 M=21 N=37", "L=6 M=10 N=130"}[(i+n)%2])
			if err := check(b, way{target: lower.GPU, plan: plan(t, text)}, uint64(i)); err != nil {
				t.Errorf("w : %s, x : %s, %s: %v", bounds[0], bounds[1], text, err)
			}
		}
	}
}
