package lower_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// spanProgram is a time loop of which several iterations may share a kernel. T is the
// number of iterations.
type spanProgram struct {
	name, text string
	leaves     int
	axes       int
	noPipe     bool // some array has cells of two colours, or another domain
}

// spanPrograms are all of them.
var spanPrograms = []spanProgram{
	{"heat3d", `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
boundary u, next : constant(0.25) on k, clamp on j, periodic on i;
copyin u;
stencil heat (out, in) {
  out[k][j][i] = 0.31*in[k][j][i] + 0.11*in[k][j][i+1] + 0.13*in[k][j][i-1] + 0.07*in[k][j+1][i]
               + 0.17*in[k][j-1][i] + 0.05*in[k+1][j][i] + 0.16*in[k-1][j][i];
}
iterate T { heat (next, u); swap (next, u); }
copyout u;
`, 2, 3, false},
	{"box that wraps in 3D", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
boundary u, next : periodic;
copyin u, next;
stencil box (out, in) {
  out[k][j][i] = 0.31*in[k][j][i] + 0.11*in[k+1][j-1][i+1] + 0.13*in[k-1][j+1][i-1] + 0.07*in[k][j+1][i+1]
               + 0.17*in[k+1][j-1][i] + 0.05*in[k+1][j][i] + 0.16*in[k-1][j][i+1];
}
iterate T { box (next, u); swap (next, u); }
copyout u;
`, 2, 3, false},
	{"a row of its own beside a stream", `
parameter M, N;
iterator j, i;
double v[M,N], q[M,N];
boundary v : reflect;
copyin v, q;
stencil sweep (q, v) {
  q[j][i] = 0.5*q[j][i] - 0.1*v[0][i];
  q[j][i] = 0.3*v[j][i-1]*q[j][i] + 0.2;
}
iterate T { sweep (q, v); }
copyout q;
`, 1, 2, false},
	{"a value at one side, made of values at the other", `
parameter M, N;
iterator j, i;
double u[M,N];
boundary u : periodic on j, clamp on i;
copyin u;
stencil sweep (u) {
  double h[M,N];
  boundary h : mirror on j.low, constant(0.1) on j.high, clamp on i;
  h[j][i] = 0.7*u[j-3][i+1];
  u[j][i] = 0.5*u[j][i] + 0.3*h[j+1][i] - 0.2*h[j][i-2];
}
iterate T { sweep (u); }
copyout u;
`, 1, 2, false},
	{"bytes", `
parameter M, N;
iterator j, i;
byte a[M,N], b[M,N];
copyin a, b;
stencil count (b, a) { b[j][i] = a[j][i-1] + 3*a[j+1][i] + 1; }
iterate T { count (b, a); swap (a, b); }
copyout a, b;
`, 2, 2, false},
	{"rows before alone", `
parameter L, M, N;
iterator k, j, i;
double a[L,M,N], b[L,M,N], c[L,M,N];
copyin a, b, c;
stencil relax (a, b, c) {
  a[k][j][i] = 0.5*c[k][j][i];
  c[k][j][i] = 0.1*a[k][j][i] - b[k][j-1][i-1];
}
iterate T { relax (a, b, c); swap (b, a); }
copyout a, b, c;
`, 2, 3, false},
	{"planes before alone, and three grids in turn", `
parameter M, N;
iterator j, i;
float p[M,N], q[M,N], r[M,N];
double f[M,N];
copyin p, q, r, f;
stencil blur (out, in, f) { out[j][i] = 0.3*f[j][i]*in[j-1][i] + 0.2*f[j][i]; }
iterate T { blur (p, q, f); rotate (p, q, r); }
copyout p, q, r;
`, 2, 2, false},
	{"wraps, and a part is assigned", `
parameter M, N;
iterator j, i;
double u[M,N], next[M,N];
boundary u, next : periodic;
copyin u, next;
stencil heat (out, in) {
  [1:M-1,0:N-2] : out[j][i] = 0.12*in[j-1][i] + 0.2*in[j][i-1] + 0.28*in[j][i] + 0.16*in[j][i+1] + 0.24*in[j+1][i];
}
iterate T { heat (next, u); swap (next, u); }
copyout u, next;
`, 2, 2, false},
	{"wraps along the stream alone", `
parameter M, N;
iterator j, i;
double u[M,N], next[M,N], f[M,N];
boundary u, next : periodic on j;
copyin u, next, f;
stencil heat (out, in, f) {
  [0:M-1,1:N-2] : out[j][i] = 0.12*in[j-1][i] + 0.2*in[j][i-1] + 0.28*in[j][i] + 0.16*in[j][i+1] + 0.24*in[j+1][i]
    + 0.1*f[j][i]*(j + i) + 0.01*step;
}
iterate T { heat (next, u, f); swap (next, u); }
copyout u, next;
`, 2, 2, false},

	{"star in 3D", `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
copyin u, next;
stencil heat (out, in) {
  out[k][j][i] = 0.31*in[k][j][i] + 0.11*in[k][j][i+1] + 0.13*in[k][j][i-1] + 0.07*in[k][j+1][i]
               + 0.17*in[k][j-1][i] + 0.05*in[k+1][j][i] + 0.16*in[k-1][j][i];
}
iterate T { heat (next, u); swap (next, u); }
copyout u, next;
`, 2, 3, false},
	{"box in 3D", `
parameter L, M, N;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
boundary u, next : constant(0.25) on k, clamp on j, antireflect on i.low, mirror on i.high;
copyin u, next;
stencil box (out, in) {
  out[k][j][i] = 0.31*in[k][j][i] + 0.11*in[k+1][j-1][i+1] + 0.13*in[k-1][j+1][i-1] + 0.07*in[k][j+1][i+1]
               + 0.17*in[k+1][j-1][i] + 0.05*in[k+1][j][i] + 0.16*in[k-1][j][i+1];
}
iterate T { box (next, u); swap (next, u); }
copyout u;
`, 2, 3, false},
	{"rims that differ", `
parameter M, N;
iterator j, i;
float u[M,N], next[M,N];
copyin u, next;
stencil box (out, in) {
  out[j][i] = 0.21*in[j][i] + 0.12*in[j][i+1] + 0.13*in[j][i-2] + 0.24*in[j+1][i-1] + 0.3*in[j-1][i+1];
}
iterate T { box (next, u); swap (next, u); }
copyout u, next;
`, 2, 2, false},
	{"in one dimension", `
parameter N;
iterator i;
double u[N], v[N];
boundary u, v : mirror on i.low, antireflect on i.high;
copyin u;
stencil s (out, in) { out[i] = 0.4*in[i-3] + 0.25*in[i] + 0.35*in[i+2]; }
iterate T { s (v, u); swap (v, u); }
copyout u;
`, 2, 1, true},
	{"leapfrog", `
parameter M, N;
iterator j, i;
double p[M,N], u[M,N], n[M,N], c[M,N], w[N];
boundary p, u, n : clamp;
copyin p, u, c, w;
stencil wave (n, u, p, c, w) {
  double lap = u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i] - 4*u[j][i];
  n[j][i] = 2*u[j][i] - p[j][i] + 0.1*c[j][i]*lap*w[i] + 0.001*step;
}
iterate T { wave (n, u, p, c, w); rotate (p, u, n); }
copyout u, p;
`, 2, 2, false},
	{"reaction", `
parameter M, N;
iterator j, i;
float u[M,N], v[M,N], un[M,N], vn[M,N];
boundary u, v, un, vn : periodic;
copyin u, v;
stencil react (un, vn, u, v) {
  float uvv = u[j][i]*v[j][i]*v[j][i];
  un[j][i] = u[j][i] + 0.2*(u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i] - 4*u[j][i]) - 0.1*uvv + 0.01*(1 - u[j][i]);
  vn[j][i] = v[j][i] + 0.1*(v[j][i+1] + v[j][i-1] + v[j+1][i] + v[j-1][i] - 4*v[j][i]) + 0.1*uvv - 0.02*v[j][i];
}
iterate T { react (un, vn, u, v); swap (un, u); swap (vn, v); }
copyout u, v;
`, 3, 2, false},
	{"in place, two colours", `
parameter M, N;
iterator j, i;
double u[M,N], f[M,N];
copyin u, f;
stencil half (u, f) {
  color (j+i) % 2 == 0 : u[j][i] = 0.2*(u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i]) + 0.1*f[j][i];
  color (j+i) % 2 == 1 : u[j][i] = 0.2*(u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i]) - 0.1*f[j][i];
}
iterate T { half (u, f); }
copyout u;
`, 1, 2, true},
	{"local grids", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
boundary u, v : clamp on j;
copyin u;
stencil step1 (out, in) {
  double flux[M,N];
  flux[j][i] = 0.3*in[j+1][i] - 0.2*in[j][i] + 0.05*i;
  out[j][i] = in[j][i] + 0.5*(flux[j][i+1] - flux[j-1][i]);
}
iterate T { step1 (v, u); swap (u, v); }
copyout u;
`, 2, 2, true},
	{"two calls and a narrower domain", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N], s[M,N];
boundary u, v : constant(1) on j, reflect on i;
copyin u, v, s;
stencil blur (out, in) { out[j][i] = 0.5*in[j][i] + 0.3*in[j-1][i] + 0.2*in[j][i+1]; }
stencil add (out, in, s) { [1:M-1, 0:N-2] : out[j][i] = in[j][i+1]*0.7 + s[j][i]*0.3; }
iterate T { blur (v, u); add (u, v, s); }
copyout u, v;
`, 2, 2, true},
	{"reflections that lead far", `
parameter M, N;
iterator j, i;
double u[M,N], v[M,N];
boundary u, v : reflect on j, antimirror on i;
copyin u;
stencil s (out, in) { out[j][i] = 0.5*in[j+3][i] + 0.3*in[j][i-4] + 0.2*in[j][i]; }
iterate T { s (v, u); swap (v, u); }
copyout u;
`, 2, 2, true},
	{"a wider grid beside", `
parameter M, N;
iterator j, i;
double u[M,N], w[-1:M+1,N+2];
boundary u : clamp on j, reflect on i;
copyin u, w;
stencil s (w, u) {
  w[j][i] = 0.5*w[j][i] + 0.3*u[j][i] + 0.2*u[j-2][i+1];
  u[j][i] = 0.25*u[j][i] + 0.25*w[j+1][i+2];
}
iterate T { s (w, u); }
copyout u, w;
`, 1, 2, true},
	{"a wider grid beside one that wraps", `
parameter M, N;
iterator j, i;
double u[-1:M+1,N], v[-1:M+1,N], w[-1:M+1,N], x[-1:M+1,N], y[-1:M+1,N], q[M,N], r[M,N];
boundary q, r : periodic on j;
copyin u, v, w, x, y, q;
stencil s (u, r, q) {
  u[j][i] = 0.5*u[j][i] + 0.25;
  r[j][i] = 0.5*q[j-1][i] + 0.3*q[j+1][i];
}
iterate T { s (u, r, q); swap (q, r); rotate (u, v, w, x, y); }
copyout u, v, w, x, y, q;
`, 3, 2, true},
}

// A local grid wraps around what is assigned of it, which blocks do not know.
func TestSpanRefusesPartsThatWrap(t *testing.T) {
	p := load(t, "part", `
parameter N;
iterator i;
double u[N];
copyin u;
stencil s (u) {
  double tmp[N];
  boundary tmp : periodic;
  tmp[i] = 0.5*u[i-2];
  u[i] = 0.5*tmp[i+1] + 0.25*u[i];
}
iterate 9 { s (u); }
copyout u;
`)
	_, err := lower.SpanChoice(p, lower.Options{Target: lower.GPU}, graph.Loops(p)[0], 2)
	r, ok := errors.AsType[*graph.Refusal](err)
	if !ok || !strings.Contains(r.Reason, "is not assigned over all of it") {
		t.Error(err)
	}
}

// A boundary may lead from anywhere to the end of a grid with other extents.
func TestSpanRefusesFarReads(t *testing.T) {
	p := load(t, "far", `
parameter M, N;
iterator j, i;
double u[M,2], v[M,N];
boundary u : clamp;
copyin u, v;
stencil s (u, v) {
  u[j][i] = 0.5*v[j][i] + 0.25*u[j][i];
  v[j][i] = 0.5*u[j][i] + 0.25*v[j][i];
}
iterate 9 { s (u, v); }
copyout u, v;
`)
	_, err := lower.SpanChoice(p, lower.Options{Target: lower.GPU}, graph.Loops(p)[0], 2)
	r, ok := errors.AsType[*graph.Refusal](err)
	if !ok || !strings.Contains(r.Reason, "u is read far beyond its ends") {
		t.Error(err)
	}
}

// whole has tests go through all of their combinations, which "make proof" does.
var whole = flag.Bool("whole", false, "all combinations of sizes, depths and kernels, and not a part of them")

// firstLarge is the first of the sizes, by axes, whose domains take long to simulate.
var firstLarge = map[int]int{1: 3, 2: 5, 3: 5}

// Several iterations in one kernel leave the bits that the reference executor computes, in
// every cell of every grid, whatever the number of iterations is.
func TestSpans(t *testing.T) {
	sizes := map[int][]string{
		1: {"N=1", "N=5", "N=67"},
		2: {"M=1 N=1", "M=3 N=2", "M=13 N=37", "M=35 N=19", "M=50 N=180"},
		3: {
			"L=1 M=1 N=1", "L=3 M=5 N=2", "L=5 M=3 N=5", "L=7 M=9 N=21", "L=5 M=12 N=70", "L=20 M=40 N=90",
			"L=12 M=36 N=66", "L=60 M=14 N=50",
		},
	}
	tiles := map[int][]string{1: {"32", "256"}, 2: {"4x16", "8x32"}, 3: {"2x4x8", "4x4x16"}}
	pipes := map[int][]string{
		1: {"", "", ""},
		2: {
			"family=pipe,block=1x32,cells=4,chunk=7", "family=pipe,block=2x32,cells=1,chunk=0",
			"family=pipe,block=4x32,cells=3,chunk=16,stages=0", "family=pipe,block=1x32,cells=16,chunk=32,stages=4",
			"family=pipe,block=2x32,cells=4,chunk=0,persistent=1",
			"family=pipe,block=2x32,cells=2,chunk=9,sizes=literals",
		},
		3: {
			"family=pipe,block=8x32,cells=2x1,chunk=7", "family=pipe,block=6x32,cells=4x2,chunk=0",
			"family=pipe,block=12x32,cells=2x2,chunk=16,stages=0",
			"family=pipe,block=12x32,cells=1x2,chunk=16,barrier=whole",
			"family=pipe,block=8x32,cells=2x1,chunk=0,persistent=2",
			"family=pipe,block=8x32,cells=2x2,chunk=0,persistent=8,sizes=literals",
			"family=pipe,block=4x32,cells=4x2,chunk=6,sizes=literals",
		},
	}
	for number, prog := range spanPrograms {
		t.Run(prog.name, func(t *testing.T) {
			t.Parallel()
			right := map[string]int{}
			for i, size := range sizes[prog.axes] {
				// Large domains, which have several tiles on each axis, take most of the time: a depth each, which
				// differs from program to program, and tiles in shared memory on one of them.
				large := i >= firstLarge[prog.axes] && !*whole
				for depth := 2; depth <= 4; depth++ {
					if large && depth != 2+(i+number)%3 {
						continue
					}
					steps := 2*depth + 1 + i
					if large {
						steps = 2*depth + 1 + i%2
					}
					p := load(t, "span", strings.Replace(prog.text, "iterate T", fmt.Sprintf("iterate %d", steps), 1))
					b, list := p.Bind(settings(size))
					if list.HasErrors() {
						continue // too small for the stencil
					}
					seed := uint64(7*i + depth)
					tile := tiles[prog.axes][(i+depth)%2]
					turn := i + depth
					if large {
						turn += number // so that each meets all
					}
					pipe := pipes[prog.axes][turn%len(pipes[prog.axes])]
					for _, config := range []string{fmt.Sprintf("family=overlap,block=32,tile=%s", tile), pipe} {
						if config == "" || strings.Contains(config, "pipe") && prog.noPipe {
							continue
						}
						if large && strings.Contains(config, "overlap") && (i+number/3)%3 != 0 && !prog.noPipe {
							continue
						}
						text := fmt.Sprintf("body[0:%d]@%d{%s}", prog.leaves, depth, config)
						err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, seed)
						switch {
						case err == nil:
							right[config[:len("family=pipe")]]++
						case strings.Contains(err.Error(), "cells of halos"),
							strings.Contains(err.Error(), "boundaries, and the"):
						default:
							t.Fatalf("%s, %d iterations, %s: %v", size, steps, text, err)
						}
					}
				}
			}
			if right["family=over"] < 5 || right["family=pipe"] < 5 && !prog.noPipe {
				t.Errorf("so many were right: %v", right)
			}
		})
	}
}

// settings reads a text like "M=8 N=3".
func settings(text string) map[string]string {
	set := map[string]string{}
	for pair := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	return set
}

// checkSpan runs a program with a plan in the simulator and compares every cell with the
// reference. The plan's spans have to be used.
func checkSpan(t *testing.T, target lower.Target, b *ir.Binding, text string, seed uint64) error {
	t.Helper()
	want, err := expect(b, interp.NoBounds, seed)
	if err != nil {
		return err
	}
	o := lower.Options{Target: target, Plan: plan(t, text), Bound: b, Sized: true, AnyIntegers: true}
	if target == lower.GPU {
		if o.Machine, err = machine.Builtin("h200"); err != nil {
			return err
		}
		if strings.Contains(text, "persistent") {
			o.Machine.Units = 2 // so that blocks that share all tiles have whole ones, too
		}
	}
	m, err := lowered(b.Program, o)
	if err != nil {
		return err
	}
	got, err := want.simulate(m, b)
	if err != nil {
		return err
	}
	if got.Spans() == 0 {
		return errors.New("no span was carried out")
	}
	return want.compare(b.Program, got, m.Dropped()...)
}
