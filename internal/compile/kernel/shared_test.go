package kernel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

func TestSharedOffsets(t *testing.T) {
	n := kernel.I
	buffer := func(name string, elem types.Type, space kernel.Space, cells int64) *kernel.Buffer {
		return &kernel.Buffer{Name: name, Elem: elem, Space: space, Cells: n(cells)}
	}
	a, b, queue, full := buffer("a", types.U8, kernel.Shared, 5), buffer("b", types.F64, kernel.Shared, 3),
		buffer("queue", types.F64, kernel.Private, 100), buffer("full", types.I64, kernel.Mbarrier, 2)
	k := &kernel.Kernel{Name: "k", Body: []kernel.Stmt{
		&kernel.Alloc{Buffer: a},
		&kernel.If{Cond: &kernel.Lit{Value: op.BoolOf(true)}, Then: []kernel.Stmt{
			&kernel.Alloc{Buffer: queue}, &kernel.Alloc{Buffer: b},
		}},
		&kernel.Alloc{Buffer: full},
	}}
	offsets, bytes := kernel.SharedOffsets(k)
	if len(offsets) != 3 || offsets[a] != 0 || offsets[b] != 16 || offsets[full] != 48 || bytes != 64 {
		t.Errorf("%v, %d bytes", offsets, bytes)
	}
	if d := kernel.DynamicShared(k); d != 0 {
		t.Errorf("%d bytes at launch", d)
	}
	b.Cells = n(48<<10/8 - 4)
	if d := kernel.DynamicShared(k); d != 0 {
		t.Errorf("%d bytes at launch, though the text can declare them", d)
	}
	b.Cells = n(48<<10/8 - 3)
	if d := kernel.DynamicShared(k); d != 48<<10+16 {
		t.Errorf("%d bytes at launch", d)
	}
}

// What a launch asks for besides its size.
func TestLaunchExtras(t *testing.T) {
	n := kernel.NewVar("n", types.I64)
	loop := func(tag kernel.Tag, hi kernel.Expr, body ...kernel.Stmt) *kernel.Loop {
		return &kernel.Loop{
			Var: kernel.NewVar("i", types.I64), Lo: kernel.I(0), Hi: hi, Step: kernel.I(1), Tag: tag, Body: body,
		}
	}
	tile := &kernel.Buffer{Name: "tile", Elem: types.F64, Space: kernel.Shared, Cells: kernel.I(10000)}
	k := &kernel.Kernel{Name: "k", Scalars: []*kernel.Var{n}, Body: []kernel.Stmt{
		loop(kernel.BlockY, kernel.V(n),
			loop(kernel.BlockX, kernel.I(5), loop(kernel.ClusterY, kernel.I(2), loop(kernel.ClusterX, kernel.I(4),
				&kernel.Alloc{Buffer: tile},
				loop(kernel.ThreadX, kernel.I(32), &kernel.Barrier{Scope: kernel.GridScope}))))),
	}}
	g, err := kernel.LaunchGeometry(k, map[*kernel.Var]op.Value{n: op.Int(types.I64, 3)})
	want := kernel.Geometry{
		Blocks: [3]int64{20, 6, 1}, Threads: [3]int64{32, 1, 1}, Cluster: [3]int64{4, 2, 1},
		Shared: 80000, Cooperative: true,
	}
	if err != nil || g != want {
		t.Errorf("%+v %v\nwant %+v", g, err, want)
	}
}
