package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// libraryCase is one use of a library: sizes, scalars, and calls, where n >= 0
// is iterate n and run is run.
type libraryCase struct {
	sizes   string // "N=5 M=3"
	scalars string // "a=0.5"
	given   string // grids with contents, "u v"
	calls   []int
}

const run = -1

// expected executes a case with the reference executor. It returns the inputs
// and the final contents by grid, and scalars and steps as drive.py prints them.
type expected struct {
	in, out map[string][]byte
	scalars string
	shapes  map[string][]int
	values  map[string]string // of sizes and scalars that were set
}

func expect(t testing.TB, p *ir.Program, c libraryCase) expected {
	t.Helper()
	set := map[string]string{}
	for _, f := range strings.Fields(c.sizes + " " + c.scalars) {
		name, value, _ := strings.Cut(f, "=")
		set[name] = value
	}
	b, errs := p.Bind(set)
	if errs.HasErrors() {
		t.Fatalf("%+v: %s", c, errs[0].Message)
	}
	s, err := interp.New(b, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := expected{in: map[string][]byte{}, out: map[string][]byte{}, shapes: map[string][]int{}, values: set}
	skip := map[*ir.Grid]bool{}
	r := rand.New(rand.NewSource(int64(len(c.sizes)) + int64(b.Params[0])))
	for _, name := range strings.Fields(c.given) {
		g := p.Grid(name)
		skip[g] = true
		a := s.Grid(name)
		for n := range a.Len() {
			a.Set(n, randomCell(r, g.Type))
		}
		e.in[name] = bytes.Clone(a.Data)
	}
	s.RunInitial(skip)
	steps := int64(0)
	loop := theLoop(p)
	for _, n := range c.calls {
		if n == run {
			steps = 0
			var cursor ir.Cursor
			for s.Step(&cursor) {
			}
			if loop != nil {
				steps = cursor.Completed
			}
			continue
		}
		for range n {
			if loop == nil {
				if err := s.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				continue
			}
			for _, o := range loop.Body {
				if it, ok := o.(*ir.Iterate); ok {
					var cursor ir.Cursor
					for {
						leaf, ok := cursor.Next([]ir.Op{it}, s.Evaluate)
						if !ok {
							break
						}
						s.Execute(leaf)
					}
					continue
				}
				s.Execute(ir.Leaf{Op: o, Step: steps})
			}
			steps++
		}
	}
	for _, name := range p.Arguments {
		if g := p.Grid(name); g != nil {
			e.out[name], e.shapes[name] = s.Grid(name).Data, s.Grid(name).Shape
		}
	}
	var text strings.Builder
	for _, x := range p.Scalars {
		if !x.Used && !x.Reduced {
			continue
		}
		v, _ := s.Scalar(x)
		if x.Type.IsFloat() {
			fmt.Fprintf(&text, "%s %s\n", x.Name, pythonHex(v.F))
		} else {
			fmt.Fprintf(&text, "%s %d\n", x.Name, v.I)
		}
	}
	if loop != nil {
		fmt.Fprintf(&text, "steps %d\n", steps)
	}
	e.scalars = text.String()
	return e
}

func theLoop(p *ir.Program) *ir.Iterate {
	if len(p.Body) != 1 {
		return nil
	}
	it, ok := p.Body[0].(*ir.Iterate)
	if ok && it.Sequence {
		it = nil
	}
	return it
}

func randomCell(r *rand.Rand, t types.Type) float64 {
	switch t {
	case types.Bool:
		return float64(r.Intn(2))
	case types.U8:
		return float64(r.Intn(256))
	case types.I32:
		return float64(r.Intn(2000) - 1000)
	case types.F32:
		return float64(float32(r.Float64()*2 - 1))
	}
	return r.Float64()*2 - 1
}

// pythonHex prints a number as Python's float.hex does.
func pythonHex(v float64) string {
	switch {
	case math.IsInf(v, 0), math.IsNaN(v):
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+"))
	case v == 0:
		if math.Signbit(v) {
			return "-0x0.0p+0"
		}
		return "0x0.0p+0"
	}
	text := strconv.FormatFloat(v, 'x', 13, 64)
	mantissa, exponent, _ := strings.Cut(text, "p")
	sign, digits := exponent[:1], strings.TrimLeft(exponent[1:], "0")
	if digits == "" {
		digits = "0"
	}
	return mantissa + "p" + sign + digits
}

// differs says where two arrays' bytes first differ, NaNs apart; "" if they do not.
func differs(t types.Type, got, want []byte) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	size := t.Size()
	a, b := &interp.Array{Type: t, Data: got}, &interp.Array{Type: t, Data: want}
	for n := range len(got) / size {
		if !bytes.Equal(got[n*size:][:size], want[n*size:][:size]) && (a.At(n) == a.At(n) || b.At(n) == b.At(n)) {
			return fmt.Sprintf("cell %d is %v, want %v", n, a.At(n), b.At(n))
		}
	}
	return ""
}

type job struct {
	Folder    string         `json:"folder"`
	Arguments []any          `json:"arguments"`
	Threads   int            `json:"threads"`
	Device    bool           `json:"device"` // arrays are in a GPU's memory
	Set       map[string]any `json:"set"`
	Given     []string       `json:"given"`
	Calls     []int          `json:"calls"`
	Scalars   []string       `json:"scalars"`
}

// drive runs cases through the Python module and compares everything with the
// reference executor, bit for bit.
func drive(t *testing.T, b *built, p *ir.Program, cases []libraryCase) {
	t.Helper()
	py := python(t)
	var jobs []job
	var want []expected
	for n, c := range cases {
		e := expect(t, p, c)
		want = append(want, e)
		j := job{
			Folder: filepath.Join(b.dir, fmt.Sprintf("case%d", n)), Set: map[string]any{},
			Given: append([]string{}, strings.Fields(c.given)...), Calls: c.calls, Threads: n % 3,
			Device: b.inPlace && n%2 == 1, Scalars: []string{},
		}
		if err := os.Mkdir(j.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, data := range e.in {
			write(t, filepath.Join(j.Folder, name+".in"), string(data))
		}
		required := map[string]bool{}
		for _, name := range p.Arguments {
			s := p.Scalar(name)
			switch {
			case p.Param(name) >= 0:
			case s != nil && s.Init == nil && s.Used && !s.Reduced:
			default:
				continue
			}
			required[name] = true
			j.Arguments = append(j.Arguments, jsonValue(p, name, e.values[name]))
		}
		for name, text := range e.values {
			if !required[name] {
				j.Set[name] = jsonValue(p, name, text)
			}
		}
		for line := range strings.Lines(e.scalars) {
			if name, _, _ := strings.Cut(line, " "); name != "steps" {
				j.Scalars = append(j.Scalars, name)
			}
		}
		jobs = append(jobs, j)
	}
	data, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.dir, "jobs.json"), string(data))
	driver, err := filepath.Abs("testdata/library/drive.py")
	if err != nil {
		t.Fatal(err)
	}
	b.sh(t, "PYTHONPATH=. %s -W error %s %s %s jobs.json", py, driver, b.module, b.class)
	for n, c := range cases {
		compare(t, p, fmt.Sprintf("%+v", c), jobs[n].Folder, want[n])
	}
}

// compare reads what a caller has written and compares it.
func compare(t *testing.T, p *ir.Program, label, folder string, want expected) {
	t.Helper()
	for name, data := range want.out {
		got, err := os.ReadFile(filepath.Join(folder, name+".out"))
		if err != nil {
			t.Fatal(err)
		}
		if d := differs(p.Grid(name).Type, got, data); d != "" {
			t.Errorf("%s: %s: %s", label, name, d)
		}
	}
	got, err := os.ReadFile(filepath.Join(folder, "scalars"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.scalars {
		t.Errorf("%s: scalars\n%swant\n%s", label, got, want.scalars)
	}
}

// jsonValue is a size's or scalar's value as Python takes it; nil for none.
func jsonValue(p *ir.Program, name, text string) any {
	if text == "" {
		return nil
	}
	if s := p.Scalar(name); s != nil && s.Type == types.Bool {
		return text == "true"
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	if s := p.Scalar(name); s != nil && s.Type.IsFloat() {
		return v
	}
	return int(v)
}

// The programs: each is compiled once and run at many sizes.
var libraryPrograms = []struct {
	name, text string
	cases      []libraryCase
}{
	{"heat", `
parameter L, M = 4, N = M + 3;
iterator k, j, i;
double u[L,M,N], next[L,M,N], a;
boundary u, next : constant(a) on k, clamp on j, periodic on i;
copyin u; copyout u;
stencil heat (out, in) {
  out[k][j][i] = in[k][j][i] + a*(in[k][j][i+1] + in[k][j][i-1] + in[k][j+1][i] + in[k][j-1][i]
      + in[k+1][j][i] + in[k-1][j][i] - 6*in[k][j][i]);
}
iterate 5 { heat (next, u); swap (next, u); }`,
		[]libraryCase{
			{"L=1 M=1 N=1", "a=0.1", "u", []int{1, 2, run}},
			{"L=7 M=13 N=11", "a=0.1", "u", []int{0, 3, 3, 1}},
			{"L=3", "a=0.25", "u", []int{1, run, 2}},
			{"L=2 M=17", "a=0.25", "", []int{4}},
		}},

	// All threads read the same few cells of a grid.
	{"weights", `
parameter M, N;
iterator j, i;
double u[M,N], next[M,N], few[3];
copyin u, few; copyout u;
stencil weigh (out, in, w) {
  out[j][i] = w[0]*in[j][i] + w[1]*(in[j][i+1] + in[j][i-1]) + w[2]*(in[j+1][i] + in[j-1][i]);
}
iterate 5 { weigh (next, u, few); swap (next, u); }`,
		[]libraryCase{
			{"M=13 N=11", "", "u few", []int{1, 2, run}},
			{"M=5 N=40", "", "few", []int{2}},
			{"M=5 N=40", "", "u", []int{run}},
		}},

	// Old contents stay in the rims, and both time levels are the caller's.
	{"leapfrog", `
parameter M, N;
iterator j, i;
float p[M,N], prev[M,N], v[M,N];
float dt = 0.01, h = 1.0/3, r = dt*dt/(h*h);
copyin p, prev; constant v; copyout p;
stencil wave (prev, p, t) {
  prev[j][i] = 2*p[j][i] - prev[j][i] + r*v[j][i]*(p[j][i+1] + p[j][i-1] + p[j+1][i] + p[j-1][i] - 4*p[j][i])
      + (j == M/2 && i == N/2 ? t : 0);
}
iterate 7 { wave (prev, p, step*dt); swap (prev, p); }`,
		[]libraryCase{
			{"M=3 N=3", "", "p prev v", []int{1}},
			{"M=13 N=11", "", "p prev v", []int{2, 3, 4}},
			{"M=61 N=67", "dt=0.125 h=0.5", "p prev v", []int{run, 1}},
			{"M=5 N=40", "", "p v", []int{run}},
		}},

	// Three levels, of which the caller has one or two; none is overwritten whole.
	{"levels", `
parameter N;
iterator i;
double a[N], b[N], c[N], d[N], e[N];
copyin a, d; copyout a, d, e;
stencil one (x, y, z) { x[i] = 2*y[i-1] - z[i+1] + 0.5*x[i]; }
iterate 4 { one (c, b, a); rotate (a, b, c); one (d, e, a); swap (d, e); one (e, d, a); swap (e, a); }`,
		[]libraryCase{
			{"N=3", "", "a d", []int{1, 1, 1, 1}},
			{"N=2053", "", "a d e", []int{1, 2, 5, run}},
			{"N=5000", "", "a d", []int{run, run, 7}},
		}},

	// Every type, as grid and as argument.
	{"kinds", `
parameter M, N;
iterator j, i;
byte cells[M,N], next[M,N];
bool mask[0:M-1, 2:N+1], off;
int count[M,N], shift, births[N];
float f[M,N], weight, total;
double d[N..N+M], scale = 2*weight + shift;
byte rule;
boundary cells, next : periodic;
copyin cells, mask, births; copyout cells, mask, count, f, d, births, total;
stencil life (out, in) {
  int n = in[j-1][i-1] + in[j-1][i] + in[j-1][i+1] + in[j][i-1] + in[j][i+1] + in[j+1][i-1] + in[j+1][i] + in[j+1][i+1];
  out[j][i] = n == rule || in[j][i] && n == 2 ? in[j][i] + 1 : 200;
  count[j][i] = n*shift;
}
stencil rest () {
  [0:M-1, 2:N-1] : mask[j][i] = (cells[j][i] > 100) != off;
  f[j][i] = f[j][i] + weight*cells[j][i];
  births[i] += i;
  reduce sum total = f[j][i];
}
stencil line () { d[i] = scale*i + (off ? 1 : 0); }
iterate 3 { life (next, cells); swap (next, cells); rest (); }
line ();`,
		[]libraryCase{
			{"M=3 N=5", "shift=-3 off=true weight=0.25 rule=3", "cells mask births", []int{1, run}},
			{"M=17 N=31", "shift=100000 off=false weight=1e-3 rule=255", "cells mask count f d births", []int{2}},
			{"M=1 N=4", "shift=7 off=false weight=3 rule=0 scale=0.5", "cells", []int{1, 1}},
		}},

	// Convergence, nested loops, local grids and constant indices.
	{"relax", `
parameter M, N;
iterator j, i;
double u[M,N], f[M,N], res = 5, tol = 0.1, omega = 1.5;
int inner = 2;
boundary u : antimirror;
copyin f; copyout u, res;
initial { f[j][i] = i == 3 ? 1.0 : j; u[j][i] = 0.5*f[j][i]; }
stencil smooth () {
  color (j+i) % 2 == each : u[j][i] += omega*0.25*(f[j][i] + u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i] - 4*u[j][i]);
}
stencil error () {
  double t[M,N];
  boundary t : clamp;
  t[j][i] = f[j][i] + u[j][i+1] + u[j][i-1] + u[j+1][i] + u[j-1][i] - 4*u[j][i];
  reduce max res = abs(t[j][i+1] - t[j][i]) + abs(u[0][i]) - abs(u[0][i]);
}
iterate until (res < tol || step > 90) check 3 max 100 {
  iterate inner { smooth (); }
  error ();
  iterate until (step >= 2) { smooth (); }
}`,
		[]libraryCase{
			{"M=4 N=5", "", "", []int{run}},
			{"M=13 N=7", "tol=0.001", "f", []int{2, run, 1}},
			{"M=40 N=33", "tol=1e-9 inner=1 omega=1", "f u", []int{run}},
			{"M=5 N=5", "res=0", "", []int{0}},
		}},

	// A program that is no loop: calls in a row, and rotations that nothing undoes.
	{"pingpong", `
parameter N = 20;
iterator i;
double a[N], b[N], c[N], s;
int sweeps = 3;
boundary a, b, c : reflect;
copyin a; copyout a, c, s;
stencil jacobi (out, in) { out[i] = 0.5*(in[i-1] + in[i+1]); }
stencil norm (x) { reduce sum s = x[i]*x[i]; }
jacobi (b, a);
iterate sweeps { jacobi (a, b); jacobi (b, a); }
rotate (a, b, c);
norm (a);`,
		[]libraryCase{
			{"N=1", "", "a", []int{1}},
			{"N=2", "sweeps=0", "a", []int{1, run, 2}},
			{"N=1021", "", "a c", []int{3, run}},
		}},

	// The initial block reads what is given, and its grids may be left out.
	{"start", `
parameter M, N;
iterator j, i;
double noise[M,N], u[M,N], v[M,N], w[M,N];
copyin noise, u; copyout u, v, w;
boundary noise : mirror;
initial {
  double base = noise[j][i+1] - noise[j][i];
  u[j][i] = base*2 + random(3);
  v[j][i] = base + u[j][i];
  [1:M-2, 0:N-1] : w[j][i] = v[j-1][i] + v[j+1][i];
  u[j][i] += 1;
}
stencil add () { u[j][i] += w[j][i]; }
iterate 2 { add (); }`,
		[]libraryCase{
			{"M=3 N=1", "", "noise", []int{run}},
			{"M=7 N=5", "", "noise u", []int{1}},
			{"M=30 N=11", "", "noise v w", []int{2}},
			{"M=3 N=50", "", "", []int{0}},
		}},

	// Nothing but a result comes out.
	{"result", `
parameter N;
iterator i;
double u[0:N], v[N], total;
copyout total;
initial { u[i] = 1.0/(i + 1); }
stencil add () { v[i] = u[i] + u[i+1]; }
stencil all () { reduce sum total = v[i]; }
iterate 2 { add (); }
all ();`,
		[]libraryCase{
			{"N=1", "", "", []int{0}},
			{"N=1000", "", "", []int{1}},
		}},

	// Names that mean something in C, C++, Fortran or Python.
	{"double", `
parameter n, N = n;
iterator j, class;
double new[n,N], register[n,N], self[N], sum[n], lambda = 0.5, Lambda = 0.25, handle, NULL, h = 2;
float SIZE_MAX, at_0, name;
double value, count;
copyin new, self, sum; copyout new, register, sum, self, count;
initial { register[j][class] = class; }
stencil kernel (main) {
  double gl_x = lambda*self[class] + sum[j], h_ = Lambda*handle + NULL*h;
  main[j][class] += gl_x + h_ + value + SIZE_MAX + at_0 + name;
  reduce max count = main[j][class];
}
stencil double_run (g) { self[class] = g[0][class]; sum[j] = g[j][0]; }
kernel (new);
double_run (new);
swap (new, register);`,
		[]libraryCase{
			{"n=3", "handle=1 NULL=2 SIZE_MAX=3 at_0=4 name=5 value=6", "new self sum", []int{1, 1}},
			{"n=5 N=7", "handle=1 NULL=2 SIZE_MAX=3 at_0=4 name=5 value=6 h=0.5 Lambda=1",
				"new self sum register", []int{run}},
		}},
}

func TestLibraryAgreesWithReference(t *testing.T) {
	for _, c := range libraryPrograms {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := libraryProgram(t, c.name, c.text)
			drive(t, build(t, p, arith.Strict, ""), p, c.cases)
		})
	}
}

// The plan's blocks and threads, and the compiler's best efforts, change
// nothing but speed.
func TestLibraryWithPlan(t *testing.T) {
	c := libraryPrograms[0]
	p := libraryProgram(t, c.name, c.text)
	b := buildWith(t, p, arith.Strict, "block=2x4x64,threads=2", "-O3 -march=native -fno-math-errno -fno-trapping-math")
	text, err := os.ReadFile(filepath.Join(b.dir, "heat.c"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("gl_team(h, 2);")) || bytes.Contains(text, []byte("num_threads(2)")) {
		t.Error("the plan's number of threads is not what a caller may change")
	}
	drive(t, b, p, c.cases)
}
