package oclgrind

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// The simulator's counts are Oclgrind's, on kernels of real programs, at sizes
// at which interiors and edges both occur: under the default plan and a random
// one.
func TestExamplesAgree(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	others := 0
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
		checkModule(t, lowered(t, b, schedule.Plan{}), b)
		if m := drawn(t, b, lower.Space(lower.GPU, b.Program.Axes).Families, rng); m != nil {
			checkModule(t, m, b)
			others++
		}
	}
	if others == 0 {
		t.Error("no program was checked under another plan")
	}
}

func lowered(t *testing.T, b *ir.Binding, p schedule.Plan) *kernel.Module {
	t.Helper()
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b, Plan: p, Lacks: lacks()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// lacks are what OpenCL has no words for.
func lacks() []machine.Capability {
	_, list := emit.OpenCL.On(nil)
	return list
}

// drawn lowers a program under a random plan of a random family that OpenCL has words for, with
// small blocks and kernels, since Oclgrind is slow; nil if none comes up.
func drawn(t *testing.T, b *ir.Binding, families []schedule.Family, rng *rand.Rand) *kernel.Module {
	t.Helper()
	var from []*schedule.Counter
	for _, f := range families {
		from = append(from, schedule.Space{Families: []schedule.Family{f}}.Counter())
	}
draw:
	for range 100 {
		p := schedule.Plan{Every: from[rng.IntN(len(from))].Draw(rng)}
		threads := int64(1)
		for _, n := range p.Every.Ints("block") {
			threads *= n
		}
		if threads > 64 {
			continue
		}
		m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Bound: b, Plan: p, Lacks: lacks()})
		if err != nil {
			continue // it fits no kernel
		}
		for _, k := range m.Kernels {
			if emit.OpenCL.Lacks(k) != nil || len(kernel.Text(k)) > 40_000 {
				continue draw
			}
		}
		t.Log(p)
		return m
	}
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

func checkModule(t *testing.T, m *kernel.Module, b *ir.Binding) {
	t.Helper()
	if err := CheckModule(context.Background(), m, b, 1, patience); err != nil {
		var d *Disagreement
		if errors.As(err, &d) {
			t.Log(kernel.Text(d.Kernel))
		}
		t.Error(err)
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
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
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
			if err := Check(context.Background(), k, nil, uint64(i), patience); err != nil {
				t.Errorf("%s: %v", n.name, err)
			}
			continue
		}
		simulated, checked, err := Both(context.Background(), k, nil, uint64(i), patience)
		if err != nil {
			t.Errorf("%s: %v", n.name, err)
			continue
		}
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

// A disagreement names the kernel and what was seen.
func TestDisagreement(t *testing.T) {
	if _, err := Find(); err != nil {
		t.Skip(err)
	}
	k, err := kernel.ParseText(nodes[2].text)
	if err != nil {
		t.Fatal(err)
	}
	err = Check(context.Background(), k, nil, 1, patience)
	var d *Disagreement
	if !errors.As(err, &d) || d.Kernel != k ||
		!strings.HasPrefix(err.Error(), "the kernel k: the simulator reports: ") {
		t.Error(err)
	}
	if err := Check(context.Background(), k, []op.Value{{}}, 1, patience); err == nil ||
		err.Error() != "the kernel k takes 0 scalars, not 1" {
		t.Error(err)
	}
}
