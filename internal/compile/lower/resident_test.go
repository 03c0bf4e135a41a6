package lower_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Blocks that stay for many iterations leave the bits that the reference executor computes, in
// every cell of every grid, whatever the numbers of rounds and of iterations between exchanges are.
func TestResident(t *testing.T) {
	sizes := []string{"M=1 N=1", "M=3 N=2", "M=13 N=37", "M=35 N=19", "M=50 N=180", "M=29 N=101"}
	configs := []string{
		"block=4x32,cells=5x1", "block=4x32,cells=4x1,wait=grid,barrier=whole,sizes=literals", "block=1x32,cells=12x2",
		"block=6x32,cells=4x2,barrier=whole", "block=6x32,cells=2x1,sizes=literals",
		"block=2x32,cells=8x4,sizes=literals",
	}
	// What has not all axes, colours, or other ends is refused.
	never := []string{
		"a row of its own beside a stream", "a wider grid beside", "a wider grid beside one that wraps", "leapfrog",
		"in place, two colours",
	}
	for _, prog := range spanPrograms {
		if prog.axes != 2 {
			continue
		}
		t.Run(prog.name, func(t *testing.T) {
			t.Parallel()
			right := 0
			for i, size := range sizes {
				for depth := 2; depth <= 4; depth++ {
					rounds := []int{1, 2, 3, 9}[(i+depth)%4]
					steps := rounds*depth + 1 + i%depth
					p := load(t, "span", strings.Replace(prog.text, "iterate T", fmt.Sprintf("iterate %d", steps), 1))
					b, list := p.Bind(settings(size))
					if list.HasErrors() {
						continue // too small for the stencil
					}
					text := fmt.Sprintf("body[0:%d]@%d{family=resident,%s}", prog.leaves, depth,
						configs[(i+depth)%len(configs)])
					err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, uint64(7*i+depth))
					switch {
					case err == nil:
						right++
					case strings.Contains(err.Error(), "cells of halos"),
						strings.Contains(err.Error(), "rows of a neigh"),
						strings.Contains(err.Error(), "boundaries, and the"),
						slices.Contains(never, prog.name) && (strings.Contains(err.Error(), "family=resident:") ||
							strings.Contains(err.Error(), "cannot share a kernel")):
					default:
						t.Fatalf("%s, %d iterations, %s: %v", size, steps, text, err)
					}
				}
			}
			if none := slices.Contains(never, prog.name); none != (right == 0) || !none && right < 4 {
				t.Errorf("%d were right", right)
			}
		})
	}
}

// Where blocks exchange nothing, since no iteration changes what others read, warps still wait for each other
// before they leave the rows of the next round.
func TestResidentWithoutExchange(t *testing.T) {
	for _, text := range []string{
		"h[j][i] = 0.5*u[j][i]; u[j][i] = h[j][i] + q[j-1][i] + q[j][i+1];",
		"h[j][i] = q[j-1][i] + q[j][i+1]; u[j][i] = 0.5*u[j][i] + h[j+1][i];",
	} {
		p := load(t, "constant", `parameter M, N; iterator j, i; double u[M,N], q[M,N], h[M,N]; boundary u, q, h : clamp;
copyin u, q; stencil s (u, q, h) { `+text+` }
iterate 13 { s (u, q, h); } copyout u;`)
		for _, config := range []string{"wait=grid,barrier=whole", "barrier=split", "barrier=whole,sizes=literals"} {
			text := "body[0:1]@2{family=resident,block=4x32,cells=2x1," + config + "}"
			if err := checkSpan(t, lower.GPU, bind(t, p.In(arith.Contract), "M=13 N=40"), text, 3); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// Mistakes in the exchange of halos are found, whichever block comes first.
func TestSpoiltResident(t *testing.T) {
	const text = "body[0:2]@3{family=resident,block=4x32,cells=4x1}"
	prog := spanPrograms[slices.IndexFunc(spanPrograms, func(p spanProgram) bool {
		return p.name == "rims that differ"
	})]
	p := load(t, "span", strings.Replace(prog.text, "iterate T", "iterate 18", 1))
	b := bind(t, p.In(arith.Contract), "M=50 N=60")
	want, err := expect(b, interp.NoBounds, 5)
	if err != nil {
		t.Fatal(err)
	}
	run := func(old, new string, spoil func(*pipeline.Pipeline)) error {
		m, err := lower.Program(b.Program, lower.Options{
			Target: lower.GPU, Plan: plan(t, text), Bound: b, Sized: true, Spoil: spoil,
		})
		if err != nil {
			t.Fatal(err)
		}
		k := m.Spans[0].Launches[0].Kernel
		text := kernel.Text(k)
		find := regexp.MustCompile(old)
		if old != "" && !find.MatchString(text) {
			t.Fatalf("nothing to spoil:\n%s", text)
		}
		spoilt, err := kernel.ParseText(find.ReplaceAllString(text, new))
		if err != nil {
			t.Fatal(err)
		}
		*k = *spoilt
		got, err := want.simulate(m, b)
		if err != nil {
			return err
		}
		return want.compare(b.Program, got)
	}
	if err := run("", "", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mistake, old, new string
		spoil             func(*pipeline.Pipeline)
		want              string
	}{
		{"no wait", `\(flag.wait .* done\)`, "", nil, "while thread"},
		{"a wait for the round before", `(\(flag.wait .*) done\)`, "$1 (sub done (i32 1)))", nil, "while thread"},
		{"a wait for the round after", `(\(flag.wait .*) done\)`, "$1 (add done (i32 1)))", nil, "wait for ever"},
		{"one turn for all rounds", `(\(let turn (i\d\d)) .*\)\n`, "$1 ($2 0))\n", nil, "while thread"},
		{"a flag that is set too early", `\(barrier block\)(\s*\(if [^\n]*\s*\(then\s*\(flag.set)`, "$1", nil,
			"while thread"},
		{"nobody sets the flag", `\(flag.set [^\n]* done\)`, "", nil, "wait for ever"},
		{"rows of the wrong iteration", `\(mbarrier.wait [^\n]*\)`, "", nil, "while thread"},
		{"a halo that is too narrow", "", "", func(p *pipeline.Pipeline) { p.Stages[0].Halo[1].High-- }, "cell"},
	} {
		err := run(c.old, c.new, c.spoil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.mistake, err)
		}
	}
}

// What the family cannot carry out it refuses, with a reason.
func TestResidentRefuses(t *testing.T) {
	const looped = `parameter M = 64, N = 64; iterator j, i; double u[M,N], v[M,N]; copyin u;
stencil f (v, u) { v[j][i] = 0.5*u[j][i+1] + 0.5*u[j-1][i]; }
iterate 9000 { f (v, u); swap (u, v); }
copyout u;`
	withRow := strings.NewReplacer("(v, u)", "(v, u, w)", "v[M,N]", "v[M,N], w[N]", "copyin u", "copyin u, w",
		"0.5*u[j-1][i]", "w[i]*u[j-1][i]")
	for _, c := range []struct {
		text, plan string
		lacks      []machine.Capability
		want       string
	}{
		{looped, "body[0:2]@8{family=resident,block=1x32,cells=4x4}", nil,
			"plan for body[0:2]@8: the kernel body_8 takes 8 cells of halos along j, and a block has 4"},
		{looped, "body[0:2]@8{family=resident}", []machine.Capability{machine.GridBarrier},
			"plan for body[0:2]@8: family=resident needs grid-barrier, which this device does not have"},
		{strings.Replace(looped, "= 64, N = 64", "= 6400, N = 6400", 1), "body[0:2]@8{family=resident}",
			nil,
			"plan for body[0:2]@8: the kernel body_8 takes 4300 blocks that wait for each other, and the device has 132"},
		{withRow.Replace(looped), "body[0:2]@8{family=resident}", nil,
			"plan for body[0:2]@8: family=resident: w has not all axes"},
		{`parameter M = 5; iterator j, i; double u[M+2,M]; byte v[M,1]; copyin u, v;
stencil f (u) { u[j][i] = 0.5*u[j][i]; }
stencil one (v) { v[j][i] |= 2; v[j][i] = 1; }
iterate 3 { one (v); f (u); }
copyout u, v;`, "body[0:2]@3{family=resident}", nil, // what has other ends reads nothing
			"plan for body[0:2]@3: family=resident: v has other ends than other grids"},
	} {
		p := load(t, "looped", c.text)
		o := lower.Options{Target: lower.GPU, Plan: plan(t, c.plan), Bound: bind(t, p, ""), Sized: true, Lacks: c.lacks}
		if _, err := lower.Program(p, o); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v", c.plan, err)
		}
	}
}

// The family is among those of a kernel's space where the registers of the device hold the domain.
func TestResidentIsOffered(t *testing.T) {
	p := load(t, "looped", `parameter M, N; iterator j, i; double u[M,N], v[M,N]; copyin u;
stencil f (v, u) { v[j][i] = 0.5*u[j][i+1] + 0.5*u[j-1][i]; }
iterate 9000 { f (v, u); swap (u, v); }
copyout u;`)
	for sizes, want := range map[string]bool{"M=64 N=64": true, "M=1000 N=1000": true, "M=9000 N=9000": false} {
		o := lower.Options{Target: lower.GPU, Bound: bind(t, p, sizes), Sized: true}
		c, err := lower.SpanChoice(p, o, graph.Loops(p)[0], 8)
		if err != nil {
			t.Fatal(err)
		}
		if has := c.Space.Family("resident") != nil; has != want || c.Repeats() != want {
			t.Errorf("%s: resident %t, repeats %t", sizes, has, c.Repeats())
		}
	}
}
