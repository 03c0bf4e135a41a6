package features

import (
	"fmt"
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// small are examples with sizes that no tile divides.
var small = []struct{ name, values string }{
	{"heat3d", "L=5 M=7 N=35 steps=1"},
	{"heat3d", "L=19 M=18 N=70 steps=1"},
	{"blur", "M=13 N=67 passes=1"},
	{"hotspot", "M=21 N=45 steps=1"},
	{"life", "M=9 N=77 generations=1"},
	{"redblack", "L=6 M=5 N=21 sweeps=1"},
	{"diffusion", "L=3 M=11 N=41 steps=1"},
	{"smooth27", "L=7 M=9 N=37 steps=1"},
	{"rician", "L=6 M=7 N=35 steps=1"},
	{"shallow", "M=15 N=37 steps=1"},
}

// tally says how many launches were compared, and how many exactly.
type tally struct {
	launches, exact int
}

// compare holds what is counted on a kernel to what the simulator counts. They are equal, but where a select or a
// condition that data decide chooses between different numbers of accesses: then the simulator's count lies between
// that of the sides with fewest and that with most.
func (y *tally) compare(t *testing.T, x simulated, b *ir.Binding, what string) {
	t.Helper()
	args := arguments(x.Launch, b)
	c, err := countOf(x.Kernel, args)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	most, fewest := c.sum(false), c.sum(true)
	if open(c.body) {
		fewest = counts{}
	}
	y.launches++
	same := true
	hold := func(name string, got, low, high int64) {
		if got < low || got > high {
			t.Errorf("%s: %s: the simulator counts %d %s, and not %d to %d\n%s",
				what, x.Kernel.Name, got, name, low, high, kernel.Text(x.Kernel))
		}
		same = same && low == high
	}
	r := x.report
	global, shared := r.Space(kernel.Global), r.Space(kernel.Shared)
	loads := global.Loads + r.Space(kernel.Constant).Loads + r.Space(kernel.Image).Loads
	boxes := c.boxes()
	hold("global loads", loads+boxes, fewest.global.loads, most.global.loads)
	hold("global stores", global.Stores, fewest.global.stores, most.global.stores)
	hold("shared loads", shared.Loads, fewest.local.loads, most.local.loads)
	hold("shared stores", shared.Stores, fewest.local.stores, most.local.stores)
	g, err := kernel.LaunchGeometry(x.Kernel, args)
	if err != nil {
		t.Fatal(err)
	}
	block := g.Threads[0] * g.Threads[1] * g.Threads[2]
	cluster := block * max(1, g.Cluster[0]) * max(1, g.Cluster[1]) * max(1, g.Cluster[2])
	grid := block * g.Blocks[0] * g.Blocks[1] * g.Blocks[2]
	barriers := block*r.Barriers[kernel.BlockScope] + cluster*r.Barriers[kernel.ClusterScope] +
		grid*r.Barriers[kernel.GridScope]
	if !numbered(c.body) {
		hold("barriers", barriers, fewest.barriers, most.barriers)
	}
	if same {
		y.exact++
	}
}

// boxes returns how many boxes are copied: the simulator counts their rows.
func (c *counted) boxes() int64 {
	n := int64(0)
	for _, l := range c.lists {
		for _, s := range l.stmts {
			if _, ok := s.(*kernel.TensorCopy); ok {
				n += c.of.Times[l.mark]
			}
		}
	}
	return n
}

// numbered reports whether some barriers are for some warps of a block only.
func numbered(body []kernel.Stmt) bool {
	found := false
	kernel.WalkStmts(body, func(s kernel.Stmt) {
		if x, ok := s.(*kernel.Barrier); ok {
			found = found || x.Number > 0
		}
	}, nil)
	return found
}

// open reports whether there may be conditions that data decide.
func open(body []kernel.Stmt) bool {
	data, found := map[*kernel.Var]bool{}, false
	kernel.WalkStmts(body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Let:
			data[s.Var] = reads(s.Value, data)
		case *kernel.LoadVector:
			for _, v := range s.Vars {
				data[v] = true
			}
		case *kernel.Declare:
			data[s.Var] = true
		case *kernel.If:
			found = found || reads(s.Cond, data)
		}
	}, nil)
	return found
}

func reads(e kernel.Expr, data map[*kernel.Var]bool) bool {
	found := false
	kernel.Walk(e, func(e kernel.Expr) {
		switch e := e.(type) {
		case *kernel.Load:
			found = true
		case *kernel.Ref:
			found = found || data[e.Var]
		}
	})
	return found
}

// What is counted on the kernels of examples is what the simulator counts.
func TestLoweredExamples(t *testing.T) {
	t.Parallel()
	y, families := tally{}, map[string]int{}
	for i, c := range small {
		b := example(t, c.name, c.values)
		d := newDrawer(t, b, uint64(i))
		d.drawn = families
		for range 3 {
			m, plan := d.draw(t)
			for _, x := range simulate(t, m, b) {
				y.compare(t, x, b, fmt.Sprint(c.name, " ", plan))
			}
		}
	}
	t.Logf("%d launches, %d exactly; families %v", y.launches, y.exact, families)
	if y.exact < y.launches*3/4 || families["tile"] < 9 || families["planes"] < 9 || families["cells"] < 9 {
		t.Error("too few launches were compared")
	}
}

// What is counted on the kernels of generated programs is what the simulator counts.
func TestLoweredPrograms(t *testing.T) {
	t.Parallel()
	y, families := tally{}, map[string]int{}
	for seed := range uint64(5) {
		c, err := gen.Make(seed, gen.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range c.Sets[:min(2, len(c.Sets))] {
			b, list := c.Program.Bind(set)
			if list.HasErrors() {
				t.Fatal(list[0].Message)
			}
			d := newDrawer(t, b, seed)
			d.drawn = families
			m, plan := d.draw(t)
			for _, x := range simulate(t, m, b) {
				y.compare(t, x, b, fmt.Sprint("seed ", seed, " ", set, " ", plan))
			}
		}
	}
	t.Logf("%d launches, %d exactly; families %v", y.launches, y.exact, families)
	if y.exact < y.launches/2 {
		t.Error("too few launches were compared")
	}
}

// Where launches are too large for all iterations to be counted, nearly all counts are exact, and the others are near.
func TestLoweredLarge(t *testing.T) {
	t.Parallel()
	launches, exact, worst := 0, 0, 0.0
	for i, c := range []struct{ name, values string }{
		{"heat3d", "L=70 M=67 N=145 steps=1"},
		{"blur", "M=310 N=567 passes=1"},
		{"hotspot", "M=321 N=445 steps=1"},
	} {
		b := example(t, c.name, c.values)
		d := newDrawer(t, b, uint64(i))
		for range 10 {
			m, plan := d.draw(t)
			for _, x := range launchesOf(m) {
				args := arguments(x, b)
				n, err := countOf(x.Kernel, args)
				if err != nil {
					t.Fatal(err)
				}
				marked := map[kernel.Stmt]bool{}
				for _, l := range n.lists {
					marked[l.mark] = true
				}
				k := *x.Kernel
				k.Body = n.body
				times, err := kernel.ExecutionsOfEach(&k, args, marked)
				if err != nil {
					continue // data decide, or it takes too long
				}
				got := n.sum(false)
				n.of.Times = times
				want := n.sum(false)
				off := got.off(&want)
				if launches++; off == 0 {
					exact++
				}
				if off > 0.02 {
					t.Logf("%s %s: %.3f off: %+v, not %+v", c.name, plan, off, got, want)
				}
				worst = max(worst, off)
			}
		}
	}
	t.Logf("%d launches, %d exactly, worst %.3f", launches, exact, worst)
	if launches < 40 || exact < launches*8/10 || worst > 0.1 {
		t.Error("counts by pieces are too far off")
	}
}

// off returns how far counts are from others, as part of these.
func (c *counts) off(want *counts) float64 {
	worst := 0.0
	for _, n := range [][2]int64{
		{c.global.loads, want.global.loads}, {c.global.stores, want.global.stores},
		{c.local.loads, want.local.loads}, {c.local.stores, want.local.stores}, {c.barriers, want.barriers},
	} {
		worst = max(worst, math.Abs(float64(n[0]-n[1]))/float64(max(1, n[1])))
	}
	return worst
}

// What is counted of several iterations in a kernel is what the simulator counts.
func TestLoweredSpans(t *testing.T) {
	t.Parallel()
	y := tally{}
	for _, c := range []struct{ name, values, plan string }{
		{"heat3d", "L=12 M=36 N=66 steps=5", "@2{family=pipe,block=8x32,cells=2x1,chunk=7}"},
		{"heat3d", "L=15 M=40 N=90 steps=5", "@2{family=pipe,block=8x32,cells=2x1,chunk=0,persistent=2}"},
		{"heat3d", "L=5 M=9 N=21 steps=5", "@2{family=overlap,block=32,tile=4x4x16}"},
		{"smooth7", "L=14 M=20 N=70 steps=5", "@2{family=planes}"},
		{"life", "M=35 N=119 generations=7", "@3{family=pipe,block=2x32,cells=2,chunk=16}"},
	} {
		b := example(t, c.name, c.values)
		o := gpu(t, b)
		plan, err := schedule.ParsePlan("body[0:2]" + c.plan)
		if err != nil {
			t.Fatal(err)
		}
		o.Plan = plan
		m, err := lower.Program(b.Program, o)
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.plan, err)
			continue
		}
		for _, x := range simulate(t, m, b) {
			y.compare(t, x, b, c.name+" "+c.plan)
		}
	}
	t.Logf("%d launches, %d exactly", y.launches, y.exact)
}
