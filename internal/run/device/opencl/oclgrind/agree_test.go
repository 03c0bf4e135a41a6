package oclgrind

import (
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// both runs a kernel in the simulator and under Oclgrind, on the same data:
// memory that the kernel only writes starts unwritten.
func both(t *testing.T, k *kernel.Kernel, scalars []op.Value, seed uint64) (*sim.Report, *Report) {
	t.Helper()
	env := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		env[v] = scalars[i]
	}
	g, err := kernel.LaunchGeometry(k, env)
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Source: emit.Source(emit.OpenCL, &kernel.Module{Kernels: []*kernel.Kernel{k}}), Kernel: emit.OpenCL.Symbol(k.Name), Geometry: g}
	args := sim.Args{Scalars: scalars}
	for i, b := range k.Buffers {
		cells := int(kernel.Eval(b.Cells, env).I)
		a, m := Arg{Bytes: int64(cells * b.Elem.Size())}, sim.New(b.Elem, cells)
		if b.Mode != kernel.Out {
			a.Data = gen.Input(b.Elem, cells, seed+uint64(i))
			m = sim.View(b.Elem, slices.Clone(a.Data))
		}
		j.Args, args.Buffers = append(j.Args, a), append(args.Buffers, m)
	}
	for _, v := range scalars {
		var a device.Value
		a.Set(v)
		j.Args = append(j.Args, Arg{Value: a.Bytes})
	}
	simulated, err := sim.Run(k, args, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return simulated, launch(t, j)
}

// agree compares what both have counted: bytes moved, and threads at barriers.
func agree(t *testing.T, k *kernel.Kernel, scalars []op.Value, seed uint64) {
	t.Helper()
	simulated, checked := both(t, k, scalars, seed)
	if simulated.Err() != nil || checked.Faults != nil {
		t.Errorf("faults by the simulator: %v\nby Oclgrind: %v\n%s", simulated.Err(), checked.Faults, kernel.Text(k))
	}
	for _, s := range []kernel.Space{kernel.Global, kernel.Shared} {
		x, y := simulated.Space(s), checked.Space(s)
		loads := x.LoadedBytes == y.LoadedBytes
		if maySkip(k) {
			loads = x.LoadedBytes >= y.LoadedBytes
		}
		if !loads || x.StoredBytes != y.StoredBytes {
			t.Errorf("%s: %v memory: the simulator has counted %d bytes loaded and %d stored, Oclgrind %d and %d\n%s",
				k.Name, s, x.LoadedBytes, x.StoredBytes, y.LoadedBytes, y.StoredBytes, kernel.Text(k))
		}
	}
	env := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		env[v] = scalars[i]
	}
	g, _ := kernel.LaunchGeometry(k, env) // both has refused what has none
	threads := g.Threads[0] * g.Threads[1] * g.Threads[2]
	if want := simulated.Barriers[kernel.BlockScope] * threads; checked.Barriers != want {
		t.Errorf("%s: %d threads have come to barriers in the simulator, under Oclgrind %d", k.Name, want, checked.Barriers)
	}
}

// maySkip reports whether an operand of "and" or "or" loads something: C leaves
// the second out where the first decides, and the kernel IR evaluates both.
func maySkip(k *kernel.Kernel) bool {
	found := false
	kernel.WalkStmts(k.Body, nil, func(root kernel.Expr) {
		kernel.Walk(root, func(e kernel.Expr) {
			if b, ok := e.(*kernel.Binary); ok && (b.Op == op.LAnd || b.Op == op.LOr) {
				kernel.Walk(b.Y, func(e kernel.Expr) {
					_, load := e.(*kernel.Load)
					found = found || load
				})
			}
		})
	})
	return found
}

// The simulator's counts are Oclgrind's, on kernels of real programs, at sizes
// at which interiors and edges both occur: under the default plan and a random
// one.
func TestExamplesAgree(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, name := range []string{"blur.loom", "heat3d.loom", "life.loom", "redblack.loom"} {
		text, err := fs.ReadFile(examples.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		set := map[string]string{"L": "5", "M": "7", "N": "11"}
		if !strings.Contains(string(text), "L =") {
			delete(set, "L")
		}
		b := bind(t, name, string(text), set)
		everyLaunch(t, lowered(t, b, schedule.Plan{}), b)
		census := lower.Space(lower.GPU, b.Program.Axes).Census()
		everyLaunch(t, drawn(t, b, census, rng), b)
	}
}

func lowered(t *testing.T, b *ir.Binding, p schedule.Plan) *kernel.Module {
	t.Helper()
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Strict: true, Bound: b, Plan: p})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// drawn lowers a program under a random plan that OpenCL has words for, with
// small blocks, since Oclgrind is slow.
func drawn(t *testing.T, b *ir.Binding, from *schedule.Census, rng *rand.Rand) *kernel.Module {
	t.Helper()
draw:
	for range 100 {
		p := schedule.Plan{Every: from.Draw(rng)}
		threads := int64(1)
		for _, n := range p.Every.Ints("block") {
			threads *= n
		}
		if threads > 64 {
			continue
		}
		m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Strict: true, Bound: b, Plan: p})
		if err != nil {
			continue // it fits no kernel
		}
		for _, k := range m.Kernels {
			if emit.OpenCL.Lacks(k) != nil {
				continue draw
			}
		}
		t.Log(p)
		return m
	}
	t.Fatal("no plan fits")
	return nil
}

func bind(t *testing.T, name, text string, set map[string]string) *ir.Binding {
	t.Helper()
	src := diag.NewSource(name, text)
	p, list := lang.Load(src)
	var b *ir.Binding
	if !list.HasErrors() {
		b, list = p.Bind(set)
	}
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return b
}

// everyLaunch compares the launches of all stages, each kernel once.
func everyLaunch(t *testing.T, m *kernel.Module, b *ir.Binding) {
	t.Helper()
	script, err := exec.NewScript(m, b)
	if err != nil {
		t.Fatal(err)
	}
	kernels := map[string]*kernel.Kernel{}
	for _, k := range m.Kernels {
		kernels[emit.OpenCL.Symbol(k.Name)] = k
	}
	seen := map[string]bool{}
	for _, s := range script.Stages {
		for _, l := range s.Launches {
			k := kernels[emit.OpenCL.Symbol(script.Kernels[l.Kernel])]
			var scalars []op.Value
			for i, v := range k.Scalars {
				scalars = append(scalars, device.Decode(v.Type, l.Args[len(k.Buffers)+i].Bits[:]))
			}
			if !seen[k.Name] {
				seen[k.Name] = true
				agree(t, k, scalars, uint64(len(seen)))
			}
		}
	}
}

// nodes are hand-written kernels of 2 blocks, with what the families may not
// have yet, and with mistakes. The faults are those that both report.
var nodes = []struct {
	name, text string
	faults     []sim.Kind
}{
	{"shared", `
(kernel k
  (buffer u f64 global in (i64 64))
  (buffer v f64 global out (i64 64))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (alloc tile f64 shared (i64 32))
    (alloc flags bool shared (i64 32))
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (let i i64 (add (mul b (i64 32)) t))
      (var sum f64 (f64 0))
      (for round i64 serial (i64 0) (i64 3) (i64 1)
        (store tile t (mul (load u i) (cast f64 round)))
        (store flags t (gt (load u i) (f64 0)))
        (barrier block)
        (if (load flags (sub (i64 31) t))
          (then
            (set sum (add sum (load tile (sub (i64 31) t))))))
        (barrier block))
      (store v i sum))))`, nil},
	{"wide", `
(kernel k
  (buffer u f64 global in (i64 64))
  (buffer p f32 global inout (i64 128))
  (buffer c u8 global inout (i64 256))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (alloc tile f32 shared (i64 64))
    (for t i64 thread.x (i64 0) (i64 16) (i64 1)
      (let i i64 (add (mul b (i64 16)) t))
      (if (lt i (i64 30))
        (then
          (loads (p0 p1 p2 p3) p (mul i (i64 4)))
          (loads (u0 u1) u (mul i (i64 2)))
          (stores p (mul i (i64 4)) (p3 (cast f32 u1) p1 (cast f32 u0)))
          (loads (c0 c1 c2 c3 c4 c5 c6 c7) c (mul i (i64 8)))
          (stores c (mul i (i64 8)) (c7 c6 c5 c4 c3 c2 c1 c0))
          (stores tile (mul t (i64 4)) (p0 p1 p2 p3))
          (loads (t0 t1) tile (add (mul t (i64 4)) (i64 2)))
          (stores p (mul i (i64 4)) (t0 t1)))))))`, nil},
	{"race", `
(kernel k
  (buffer v f64 global out (i64 64))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (store v (add (mul b (i64 32)) (div t (i64 2))) (cast f64 t)))))`, []sim.Kind{sim.Race}},
	{"race in shared memory", `
(kernel k
  (buffer u f64 global in (i64 64))
  (buffer v f64 global out (i64 64))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (alloc tile f64 shared (i64 32))
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (let i i64 (add (mul b (i64 32)) t))
      (store tile t (load u i))
      (barrier block)
      (store v i (load tile (sub (i64 31) t)))
      (store tile t (f64 0)))))`, []sim.Kind{sim.Race}},
	{"out of bounds", `
(kernel k
  (buffer v f64 global out (i64 60))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (store v (add (mul b (i64 32)) t) (f64 1)))))`, []sim.Kind{sim.OutOfBounds}},
	{"unwritten", `
(kernel k
  (buffer v f64 global out (i64 64))
  (for b i64 block.x (i64 0) (i64 2) (i64 1)
    (alloc tile f64 shared (i64 33))
    (for t i64 thread.x (i64 0) (i64 32) (i64 1)
      (store tile t (f64 1))
      (barrier block)
      (store v (add (mul b (i64 32)) t) (load tile (add t (i64 1)))))))`, []sim.Kind{sim.Unwritten}},
}

func TestNodesAgree(t *testing.T) {
	for i, n := range nodes {
		k, err := kernel.ParseText(n.text)
		if err == nil {
			err = kernel.Verify(k)
		}
		if err != nil {
			t.Errorf("%s: %v", n.name, err)
			continue
		}
		if n.faults == nil {
			agree(t, k, nil, uint64(i))
			continue
		}
		simulated, checked := both(t, k, nil, uint64(i))
		var x, y []sim.Kind
		for _, f := range simulated.Faults {
			x = append(x, f.Kind)
		}
		for _, f := range checked.Faults {
			y = append(y, f.Kind)
		}
		slices.Sort(x)
		slices.Sort(y)
		if x = slices.Compact(x); !slices.Equal(x, n.faults) {
			t.Errorf("%s: the simulator reports %v", n.name, simulated.Err())
		}
		if y = slices.Compact(y); !slices.Equal(y, n.faults) {
			t.Errorf("%s: Oclgrind reports %v", n.name, checked.Faults)
		}
	}
}
