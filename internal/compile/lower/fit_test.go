package lower_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// damping is a fourth difference of displacements in three directions, as SW4's
// supergrid layers have it: so many grids in shared memory that blocks of the usual
// size have no room for them.
func damping(pragma, inside string) string {
	var b strings.Builder
	b.WriteString("parameter N = 40;\niterator k, j, i;\n")
	for _, name := range []string{"out0", "out1", "out2", "u0", "u1", "u2", "w0", "w1", "w2", "rho"} {
		fmt.Fprintf(&b, "double %s[N,N,N];\n", name)
	}
	const all = "(out0, out1, out2, u0, u1, u2, w0, w1, w2, rho)"
	fmt.Fprintf(&b, "%s\nstencil damp %s {\n  %s\n", pragma, all, inside)
	for c := range 3 {
		at := func(name string, axis, offset int) string {
			ix := []string{"k", "j", "i"}
			if offset != 0 {
				ix[axis] += fmt.Sprintf("%+d", offset)
			}
			return name + "[" + strings.Join(ix, "][") + "]"
		}
		var terms []string
		for axis := range 3 {
			for _, o := range []int{-1, 0, 1} {
				second := func(name string) string {
					name = fmt.Sprintf("%s%d", name, c)
					return fmt.Sprintf("(%s - 2*%s + %s)", at(name, axis, o+1), at(name, axis, o), at(name, axis, o-1))
				}
				terms = append(terms,
					fmt.Sprintf("%d*%s*(%s - %s)", 1-3*(1-o*o), at("rho", axis, o), second("u"), second("w")))
			}
		}
		fmt.Fprintf(&b, "  out%d[k][j][i] = out%d[k][j][i] - 0.1*(%s)/rho[k][j][i];\n",
			c, c, strings.Join(terms, " + "))
	}
	fmt.Fprintf(&b, "}\ndamp %s;\ncopyout out0, out1, out2;\n", all)
	return b.String()
}

const everything = "#assign shmem (u0,u1,u2,w0,w1,w2,rho)"

// with is an H200 with less shared memory for a block.
func with(t *testing.T, bytes int64) *machine.Machine {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	m.GPU.SharedPerBlock = bytes
	return m
}

// sharedGrids names the grids that a kernel holds in shared memory.
func sharedGrids(k *kernel.Kernel) string {
	var names []string
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if a, ok := s.(*kernel.Alloc); ok && a.Buffer.Space == kernel.Shared {
			name, _ := strings.CutSuffix(strings.TrimSuffix(a.Buffer.Name, "_tile"), "_shared")
			names = append(names, name)
		}
	}, nil)
	return strings.Join(names, " ")
}

// What the source wants in shared memory is there, in a block that has room for
// it: with the source's threads and shorter vectors, or with fewer threads, which is
// told; and if nothing helps, that is told.
func TestSharedHintsFit(t *testing.T) {
	const kept = "rho u0 w0 u1 w1 u2 w2"
	for _, c := range []struct {
		pragma, inside string
		bytes          int64
		block          string // of the plan; "" for any
		sharedGrids    string
		warns          []string
	}{
		{"#pragma stream k block (32,16)", everything, 227 << 10, "16x32", kept, nil},
		{"#pragma stream k", everything, 227 << 10, "", kept, nil},
		{"", everything, 227 << 10, "", kept, nil},
		{"#pragma stream k block (32,16)", everything, 48 << 10, "", kept, []string{
			"block (32,16) is not followed: with all that the source asks for, the kernel damp takes ",
		}},
		{"#pragma stream k block (32,16)", everything, 2 << 10, "16x32", "", []string{
			"shmem (u0) is not followed: ", "shmem (rho) is not followed: ",
		}},
	} {
		text := damping(c.pragma, c.inside)
		o := lower.Options{Target: lower.GPU, Machine: with(t, c.bytes)}
		p, k, warnings := choice(t, text, o)
		o.Bound = bind(t, p, "")
		m, err := lower.Program(p, o)
		if err != nil {
			t.Errorf("%s in %d bytes: %v", c.pragma, c.bytes, err)
			continue
		}
		if e := lower.Resources(m.Kernels[0]); e.Shared > c.bytes {
			t.Errorf("%s: %d bytes of %d", c.pragma, e.Shared, c.bytes)
		}
		if got := sharedGrids(m.Kernels[0]); got != c.sharedGrids {
			t.Errorf("%s in %d bytes: %q in shared memory", c.pragma, c.bytes, got)
		}
		if v, _ := k.Config.Get("block"); c.block != "" && v.String() != c.block {
			t.Errorf("%s in %d bytes: %v", c.pragma, c.bytes, k.Config)
		}
		for _, want := range c.warns {
			if !strings.Contains(warnings, want) {
				t.Errorf("%s in %d bytes: %s\nwant %s", c.pragma, c.bytes, warnings, want)
			}
		}
		if c.warns == nil && warnings != "" {
			t.Errorf("%s: %s", c.pragma, warnings)
		}
		// A search takes the kernel with all its settings, as a run takes what it found.
		o.Plan = schedule.Plan{Kernels: []schedule.Kernel{k.Kernel}}
		if err := k.Space.Check(k.Config); err != nil {
			t.Errorf("%s: %v", c.pragma, err)
		}
		if again, err := lower.Program(p, o); err != nil || kernel.Text(again.Kernels[0]) != kernel.Text(m.Kernels[0]) {
			t.Errorf("%s: the plan in full is another: %v", c.pragma, err)
		}
	}
}

// A plan that asks for too much is refused, and the message names one that is
// lowered.
func TestRemedy(t *testing.T) {
	for _, c := range []struct{ pragma, inside, plan string }{
		{"", everything, "family=planes,stream=k,block=8x64,rows=4"},
		{"", everything, "family=planes,block=16x32,vec=4"},
		{"", everything, "damp[0:3]@1{family=tile,block=4x8x32,vec=2}"},
		{"#pragma stream k block (32,16)", everything, "block=16x32,vec=2,rows=2"},
		{"", "", "family=planes,block=16x64,vec=2,stages=3"},
	} {
		text := damping(c.pragma, c.inside)
		p := load(t, "damping", text)
		o := lower.Options{
			Target: lower.GPU, Bound: bind(t, p, ""), Plan: plan(t, c.plan), Advise: true, Machine: with(t, 160<<10),
		}
		_, err := lower.Program(p, o)
		if _, ok := errors.AsType[*lower.ResourceLimit](err); !ok {
			t.Errorf("%s: %v", c.plan, err)
			continue
		}
		_, named, found := strings.Cut(err.Error(), "; a plan that fits is ")
		if !found {
			t.Errorf("%s: no plan is named: %v", c.plan, err)
			continue
		}
		o.Plan, o.Advise = plan(t, named), false
		m, err := lower.Program(p, o)
		if err != nil || lower.Resources(m.Kernels[0]).Shared > 160<<10 {
			t.Errorf("%s: %s: %v", c.plan, named, err)
		}
		if strings.HasPrefix(c.plan, "family=planes,stream=k,") &&
			!strings.HasPrefix(named, "family=planes,stream=k,block=") {
			t.Errorf("%s: %s is another kind of plan", c.plan, named)
		}
	}
}

// Settings that the plan leaves open make room, too.
func TestPlanShrinks(t *testing.T) {
	p := load(t, "damping", damping("", ""))
	o := lower.Options{
		Target: lower.GPU, Bound: bind(t, p, ""), Plan: plan(t, "family=planes,stages=2"), Machine: with(t, 96<<10),
	}
	m, err := lower.Program(p, o)
	if err != nil {
		t.Fatal(err)
	}
	if e := lower.Resources(m.Kernels[0]); e.Shared == 0 || e.Shared > 96<<10 {
		t.Errorf("%d bytes", e.Shared)
	}
	full, err := lower.Plan(p, o)
	if err != nil || full.Kernels[0].Config.Int("stages") != 2 || full.Kernels[0].Config.Family != "planes" {
		t.Errorf("%v: %v", full, err)
	}
}
