package cuda

import (
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

const append1 = `
extern "C" __global__ void append(double *x, double digit) { x[0] = 10 * x[0] + digit; }
`

// A graph repeats what was recorded, in its order, with the buffers of then and
// the values that Update has brought.
func TestGraph(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, append1)
	x, xb := doubles(0)
	y, yb := doubles(0)
	xbuf, err := d.Share(xb)
	slot := slotOf(t, xbuf, err)
	ybuf, err := d.Share(yb)
	slotOf(t, ybuf, err)
	digit := &device.Value{}
	set := func(v float64) { digit.Set(op.Float(types.F64, v)) }
	c, err := l.PrepareGrid("append", geometry(1, 1), []device.Arg{slot, digit})
	if err != nil {
		t.Fatal(err)
	}
	none, err := l.PrepareGrid("append", geometry(0, 1), []device.Arg{slot, digit})
	if err != nil {
		t.Fatal(err)
	}
	do := func(steps ...func() error) {
		t.Helper()
		for _, f := range steps {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(xbuf.Push, ybuf.Push)
	g, err := d.Record(func() error {
		for i := range 3 {
			set(float64(i + 1))
			do(c.Launch, none.Launch)
		}
		slot.Buffer = ybuf
		set(7)
		return c.Launch()
	})
	if err != nil {
		t.Fatal(err)
	}
	do(xbuf.Pull)
	if x[0] != 0 {
		t.Errorf("recording has computed %v", x)
	}
	do(g.Launch, xbuf.Pull, ybuf.Pull)
	if x[0] != 123 || y[0] != 7 {
		t.Errorf("%v %v", x, y)
	}
	// What changes after the launch changes nothing that is under way.
	set(9)
	do(g.Launch, func() error { return g.Update(2) }, func() error { return g.Update(1) }, xbuf.Pull, ybuf.Pull)
	if x[0] != 123123 || y[0] != 77 {
		t.Errorf("%v %v", x, y)
	}
	do(g.Launch, xbuf.Pull)
	if x[0] != 123123193 {
		t.Errorf("%v", x)
	}
	if n := testing.AllocsPerRun(10, func() { g.Launch() }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
	do(g.Close, g.Close)
	if len(d.graphs) != 0 {
		t.Error("the graph is still there")
	}
	if _, err := d.Record(func() error { set(1); c.Launch(); return errTest }); err != errTest || len(d.graphs) != 0 ||
		d.recording != nil {
		t.Error(err)
	}
	before := x[0]
	do(c.Launch, ybuf.Pull) // the slot holds y
	if y[0] != 10*float64(int(y[0])/10)+1 || x[0] != before {
		t.Errorf("after a recording that failed, a launch is none: %v", y)
	}
}

type testError string

func (e testError) Error() string { return string(e) }

const errTest = testError("recorded nothing")

func TestNoGraphs(t *testing.T) {
	d := open(t)
	create := d.driver.GraphCreate
	defer func() { d.driver.GraphCreate = create }()
	d.driver.GraphCreate = func(*handle, uint32) result { return 801 }
	want := "a launch graph cannot be had: cuGraphCreate: CUDA_ERROR_NOT_SUPPORTED (801): operation not supported"
	if _, err := d.Record(nil); err == nil || err.Error() != want {
		t.Error(err)
	}
	d.driver.GraphCreate = nil
	if _, err := d.Record(nil); err == nil || err.Error() != "the driver is too old to launch graphs" {
		t.Error(err)
	}
}

// A grid keeps its cells on the way to padded memory and back; what lies
// between is poisoned, and stays.
func TestRows(t *testing.T) {
	d := open(t)
	host := []byte{1, 2, 3, 4, 5, 6}
	r := device.Rows{Lead: 2, Bytes: 3, Pitch: 5, Count: 2}
	b, err := d.CopyRows(host, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Push(); err != nil {
		t.Fatal(err)
	}
	own := make([]byte, r.Padded())
	if err := b.(*Buffer).Read(0, own); err != nil {
		t.Fatal(err)
	}
	const p = device.Poison
	if want := []byte{p, p, 1, 2, 3, p, p, 4, 5, 6, p, p}; !slices.Equal(own, want) {
		t.Errorf("%v", own)
	}
	clear(host)
	if err := b.Pull(); err != nil || !slices.Equal(host, []byte{1, 2, 3, 4, 5, 6}) {
		t.Error(host, err)
	}
	dense, err := d.CopyRows(host, device.Rows{Bytes: 3, Pitch: 3, Count: 2})
	if err != nil || dense.(*Buffer).Bytes() != 6 {
		t.Error(err)
	}
	if _, err := d.CopyRows(host, device.Rows{Bytes: 3, Pitch: 4, Count: 3}); err == nil ||
		err.Error() != "3 rows of 3 bytes for 6 bytes" {
		t.Error(err)
	}
}

// What launches ask for besides their size reaches the driver, or is refused
// with a reason.
func TestLaunchExtras(t *testing.T) {
	d := open(t)
	l := load(t, d, arith.Strict, append1)
	x, xb := doubles(0)
	buf, err := d.Share(xb)
	slot := slotOf(t, buf, err)
	digit := valueOf(op.Float(types.F64, 4))
	tests := []struct {
		blocks, threads, cluster, shared int64
		cooperative                      bool
		want                             string
		why                              verdict.Verdict
	}{
		{1, 1, 0, 48 << 10, false, "", 0},
		{1, 1, 0, 227 << 10, false, "", 0},
		{1, 1, 0, 227<<10 + 1, false,
			"the kernel append needs 232449 bytes of shared memory a block, and Pretended GPU has 232448 at most",
			verdict.Resources},
		{16, 1, 8, 0, false, "", 0},
		{16, 1, 16, 0, false, "", 0},
		{32, 1, 32, 0, false, "the kernel append has clusters of 32 blocks, and no GPU runs more than 16",
			verdict.Resources},
		{9, 1, 8, 0, false, "the kernel append: 9 blocks on x are no multiple of its clusters of 8", verdict.OK},
		{8, 1024, 0, 0, true, "", 0},
		{9, 1024, 0, 0, true,
			"the kernel append has 9 blocks that wait for each other, and Pretended GPU runs 8 of them at once, 2 on " +
				"each of its 4 multiprocessors", verdict.Launch},
		{1, 4096, 0, 0, false, "the kernel append has 4096 threads a block on x, and Pretended GPU runs 1024 at most",
			verdict.Resources},
	}
	for _, test := range tests {
		g := geometry(test.blocks, test.threads)
		g.Shared, g.Cooperative = test.shared, test.cooperative
		if test.cluster > 0 {
			g.Cluster = [3]int64{test.cluster, 1, 1}
		}
		c, err := l.PrepareGrid("append", g, []device.Arg{slot, digit})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want || verdict.Of(err) != test.why {
			t.Errorf("%+v: %s: %s\nwant %s", test, verdict.Of(err), got, test.want)
		}
		if err != nil {
			continue
		}
		x[0] = 0
		if err := buf.Push(); err != nil {
			t.Fatal(err)
		}
		if err := c.Launch(); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		graph, err := d.Record(c.Launch)
		if err != nil {
			t.Errorf("%+v: %v", test, err)
			continue
		}
		if err := graph.Launch(); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		if err := buf.Pull(); err != nil || x[0] < 44 {
			t.Errorf("%+v: %v %v", test, x, err)
		}
	}
	n, err := l.Occupancy("append", kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{256, 1, 1},
		Shared: 100 << 10})
	if err != nil || n != 2 {
		t.Error(n, err)
	}
	ex := d.driver.LaunchEx
	defer func() { d.driver.LaunchEx = ex }()
	d.driver.LaunchEx = 0
	g := geometry(8, 32)
	g.Cluster = [3]int64{2, 1, 1}
	if _, err := l.PrepareGrid("append", g, []device.Arg{slot, digit}); err == nil ||
		!strings.HasSuffix(err.Error(), "the driver is too old for that") {
		t.Error(err)
	}
}
