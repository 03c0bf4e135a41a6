package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const spanHead = `
parameter M, N, T = 7;
iterator j, i;
float u[M,N], v[M,N], w[M,N];
float dt = 0.25;
`

const spanStencils = `
stencil s (out, in, t) { out[j][i] = in[j][i-1] - 0.5*in[j-1][i] + dt*in[j][i+1] + in[j+1][i] + t; }
stencil l (out, b, a, t) { out[j][i] = b[j][i-1] - 0.5*b[j-1][i] + dt*a[j][i] + t; }
stencil bump (u, t) { u[j][i] += t + 1; }
`

// spanKernels is a program with the kernels that spans need besides: of steps ahead, copies, and one that spoils.
const spanKernels = spanHead + `copyin u, v, w; copyout u, v, w;
stencil s1 (out, in, t) { out[j][i] = in[j][i-1] - 0.5*in[j-1][i] + dt*in[j][i+1] + in[j+1][i] + (t + 1); }
stencil s2 (out, in, t) { out[j][i] = in[j][i-1] - 0.5*in[j-1][i] + dt*in[j][i+1] + in[j+1][i] + (t + 2); }
stencil s3 (out, in, t) { out[j][i] = in[j][i-1] - 0.5*in[j-1][i] + dt*in[j][i+1] + in[j+1][i] + (t + 3); }
stencil l1 (out, b, a, t) { out[j][i] = b[j][i-1] - 0.5*b[j-1][i] + dt*a[j][i] + (t + 1); }
stencil l2 (out, b, a, t) { out[j][i] = b[j][i-1] - 0.5*b[j-1][i] + dt*a[j][i] + (t + 2); }
stencil keep (out, in) { out[j][i] = in[j][i]; }
stencil spoil (out) { [1:M-2, 1:N-2] : out[j][i] = -1; }
iterate 3 {
  s1 (v, u, step); s2 (v, u, step); s3 (v, u, step); l1 (w, v, u, step); l2 (w, v, u, step); keep (v, u); spoil (v);
}
`

// spanner adds spans to a module.
type spanner struct {
	*kernel.Module
	gpu    bool
	meet   bool // blocks may meet
	aux    *kernel.Module
	spares map[string]*kernel.Spare
}

// at returns a grid's memory, or that of a spare: "u'" is one like u.
func (b *spanner) at(name string) kernel.Arg {
	if like, ok := strings.CutSuffix(name, "'"); ok {
		if b.spares[like] == nil {
			b.spares[like] = &kernel.Spare{Name: name, Like: b.Program.Grid(like)}
		}
		return kernel.SpareArg{Spare: b.spares[like]}
	}
	return kernel.GridArg{Grid: b.Program.Grid(name)}
}

// launch launches the kernel of a stencil on memory by its names.
func (b *spanner) launch(stencil string, memory ...string) *kernel.Launch {
	m := b.Module
	if strings.ContainsAny(stencil, "123") || stencil == "keep" || stencil == "spoil" {
		m = b.aux
	}
	for _, call := range m.Program.Calls {
		if call.Stencil != stencil {
			continue
		}
		formals := strings.Fields(map[bool]string{true: "w v u", false: "v u"}[stencil[0] == 'l'])
		own := *m.Calls[call][0]
		own.Args = nil
		for _, a := range m.Calls[call][0].Args {
			switch x := a.(type) {
			case kernel.GridArg:
				for n, name := range formals {
					if x.Grid.Name == name {
						a = b.at(memory[n])
					}
				}
			case kernel.ScalarArg:
				a = kernel.ScalarArg{Scalar: b.Program.Scalar(x.Scalar.Name)}
			}
			own.Args = append(own.Args, a)
		}
		found := false
		for _, k := range b.Kernels {
			found = found || k == own.Kernel
		}
		if !found {
			b.Kernels = append(b.Kernels, own.Kernel)
		}
		return &own
	}
	panic("no stencil " + stencil)
}

func (b *spanner) exchange(grids ...string) []kernel.Exchange {
	var list []kernel.Exchange
	for _, g := range grids {
		list = append(list, kernel.Exchange{Grid: b.Program.Grid(g), Spare: b.at(g + "'").(kernel.SpareArg).Spare})
	}
	return list
}

func (b *spanner) even() *kernel.Span {
	return &kernel.Span{Depth: 2, Launches: []*kernel.Launch{b.launch("s", "v", "u"), b.launch("s1", "u'", "v")},
		Exchanges: b.exchange("u"), Prepare: []*kernel.Launch{b.launch("keep", "u'", "u")}}
}

func (b *spanner) long() *kernel.Span {
	s := b.even()
	s.Depth = 4
	s.Launches = append(s.Launches, b.launch("s2", "v", "u'"), b.launch("s3", "u'", "v"))
	return s
}

func (b *spanner) unseen() *kernel.Span {
	return &kernel.Span{Depth: 2, After: 1, Exchanges: b.exchange("u"),
		Launches: []*kernel.Launch{b.launch("s", "v'", "u"), b.launch("s1", "u'", "v'"), b.launch("spoil", "v")},
		Prepare:  []*kernel.Launch{b.launch("keep", "u'", "u"), b.launch("keep", "v'", "v")}}
}

func (b *spanner) three() *kernel.Span {
	return &kernel.Span{Depth: 3, Exchanges: b.exchange("u", "v"), Launches: []*kernel.Launch{
		b.launch("l", "w", "v", "u"), b.launch("l1", "u'", "w", "v"), b.launch("l2", "v'", "u'", "w")},
		Prepare: []*kernel.Launch{b.launch("keep", "u'", "u"), b.launch("keep", "v'", "v")}}
}

// bumps is a kernel of rounds of three iterations, each of which adds to u and then swaps it with v. A block has four
// rows.
const bumps = `
(kernel bumps
  (buffer u f32 global in (mul M N))
  (buffer v f32 global in (mul M N))
  (buffer u_spare f32 global out (mul M N))
  (buffer v_spare f32 global out (mul M N))
  (scalar M i64) (scalar N i64) (scalar step i32) (scalar rounds i32)
  (for b i64 TAG (i64 0) (div (add M (i64 3)) (i64 4)) (i64 1)
   (for j i64 serial (mul b (i64 4)) (min M (add (mul b (i64 4)) (i64 4))) (i64 1)
    (for i i64 serial (i64 0) N (i64 1)
      (let c i64 (add (mul j N) i))
      (var first f32 (load u c))
      (var second f32 (load v c))
      (for n i32 serial (i32 0) (mul (i32 3) rounds) (i32 1)
        (let made f32 (add first (cast f32 (add (add step n) (i32 1)))))
        (set first second)
        (set second made))
      (store u_spare c first)
      (store v_spare c second)))))`

// repeats is a span whose launch has a number of rounds.
func (b *spanner) repeats() *kernel.Span {
	text := strings.Replace(bumps, "TAG", "serial", 1)
	if b.gpu {
		text = strings.Replace(bumps, "TAG", "block.x", 1)
	}
	if b.meet { // the GPU that pretends holds one block: so five rows are carried out one by one
		text = strings.TrimSuffix(text, "))") + "\n    (barrier grid)))"
	}
	k, err := kernel.ParseText(text)
	if err != nil {
		panic(err)
	}
	b.Kernels = append(b.Kernels, k)
	args := []kernel.Arg{
		b.at("u"), b.at("v"), b.at("u'"), b.at("v'"),
		kernel.SizeArg{Param: 0}, kernel.SizeArg{Param: 1}, kernel.StepArg{}, kernel.RoundsArg{},
	}
	return &kernel.Span{Depth: 3, Repeats: true, Exchanges: b.exchange("u", "v"),
		Launches: []*kernel.Launch{{Kernel: k, Args: args}}}
}

type spanFunc = func(b *spanner) *kernel.Span

// spanned adds spans to the innermost iterate of a module.
func spanned(t testing.TB, m *kernel.Module, o lower.Options, spans ...spanFunc) {
	t.Helper()
	aux, err := lower.Program(libraryProgram(t, "aux", spanKernels), o)
	if err != nil {
		t.Fatal(err)
	}
	it := m.Program.Body[0].(*ir.Iterate)
	if inner, ok := it.Body[0].(*ir.Iterate); ok {
		it = inner
	}
	gpu := o.Target == lower.GPU
	b := &spanner{m, gpu, gpu && !slices.Contains(o.Lacks, machine.GridBarrier), aux, map[string]*kernel.Spare{}}
	for _, f := range spans {
		s := f(b)
		s.Iterate = it
		m.Spans = append(m.Spans, s)
	}
}

var spanPrograms = []struct {
	name, text string
	spans      []spanFunc
	want       string // that the source holds
}{
	{"rims", "copyin u, v; copyout u, v;\niterate T { s (v, u, step); swap (v, u); }", []spanFunc{(*spanner).even},
		"while (count - done >= 2) {"},
	{"hidden", "copyin u; copyout u;\niterate T { s (v, u, step); swap (v, u); }",
		[]spanFunc{(*spanner).long, (*spanner).even}, "while (count - done >= 4) {"},
	{"unseen", "copyin u, v; copyout u, v;\niterate T { s (v, u, step); swap (v, u); }",
		[]spanFunc{(*spanner).long, (*spanner).unseen}, "while (count - done >= 3) {"},
	{"three", "copyin u, w; copyout u, v;\niterate T { l (w, v, u, step); rotate (u, v, w); }",
		[]spanFunc{(*spanner).three}, "gl_together(h, g, 0, count_1)"},
	{"nested",
		"copyin u, v; copyout u, v;\niterate 2 { iterate T { s (v, u, step); swap (v, u); } bump (u, step); }",
		[]spanFunc{(*spanner).unseen}, "int32_t step_1 = (int32_t)gl_together(h, g, 0, count_1)"},
	{"repeats", "copyin u, v; copyout u, v;\niterate T { bump (u, step); swap (u, v); }",
		[]spanFunc{(*spanner).repeats},
		"const int32_t gl_rounds = (int32_t)(fit < 4096 ? fit : 4096);"},
	{"until", "copyin u; copyout u, v;\niterate until (step >= 5) max 7 { s (v, u, step); swap (v, u); }",
		[]spanFunc{(*spanner).even}, ""},
}

// spanCases are uses of the programs with spans.
func spanCases() []libraryCase {
	var list []libraryCase
	for n := range 10 {
		list = append(list, libraryCase{"M=5 N=7", "", "u v w", []int{n}})
	}
	for n := 1; n < 10; n++ {
		list = append(list, libraryCase{fmt.Sprintf("M=4 N=9 T=%d", n), "dt=0.5", "u", []int{3, run, n % 3, 5}})
	}
	return list
}

// Libraries that carry out several iterations together compute the same.
func TestLibrarySpans(t *testing.T) {
	for _, c := range spanPrograms {
		for _, d := range []*Dialect{C, CUDA, OpenCL} {
			t.Run(d.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				copied, body, _ := strings.Cut(c.text, "\n")
				p := libraryProgram(t, c.name, spanHead+copied+spanStencils+body)
				o := lower.Options{}
				if d != C {
					o.Target = lower.GPU
					_, o.Lacks = d.On(nil)
				}
				m, err := lower.Program(p, o)
				if err != nil {
					t.Fatal(err)
				}
				spanned(t, m, o, c.spans...)
				files, err := Library(m, LibraryOptions{Dialect: d})
				if err != nil {
					t.Fatal(err)
				}
				b := compiled(t, p, d, files)
				text, err := os.ReadFile(filepath.Join(b.dir, files[1].Name))
				if err != nil {
					t.Fatal(err)
				}
				want := c.want
				if d != C {
					want = strings.Replace(want, "while (", "while (!h->failed && ", 1)
				}
				together := strings.Contains(string(text), "gl_together")
				if !strings.Contains(string(text), want) || together != (c.want != "") {
					t.Errorf("the library has no %q", want)
				}
				var cases []libraryCase
				for _, use := range spanCases() {
					var given []string
					for _, name := range strings.Fields(use.given) {
						if g := p.Grid(name); g.CopyIn || g.CopyOut {
							given = append(given, name)
						}
					}
					use.given = strings.Join(given, " ")
					if !p.Scalar("dt").Used { // so the library has none
						use.scalars = ""
					}
					cases = append(cases, use)
				}
				drive(t, b, p, cases)
				// What is allocated is freed, and nothing beside it is touched.
				if d == C && (c.name == "three" || c.name == "unseen" || c.name == "repeats") {
					const flags = "-std=c11 -g -fopenmp -fsanitize=address,undefined -fno-sanitize-recover=all"
					b.sh(t, "gcc %s %s.c main.c -o example -lm && ./example 6 9 9", flags, b.name)
				}
			})
		}
	}
}

// compiled compiles the files of a library.
func compiled(t testing.TB, p *ir.Program, d *Dialect, files []File) *built {
	t.Helper()
	name := libraryName(p.Name)
	b := &built{name: name, module: pythonModule(name), class: pythonClass(name), dir: t.TempDir(), inPlace: d == CUDA}
	for _, f := range files {
		write(t, filepath.Join(b.dir, f.Name), f.Text)
	}
	switch d {
	case CUDA:
		need(t, "g++")
		b.sh(t, "%s -fPIC -shared -x c++ %s.cu -o lib%s.so", pretendedCUDA(t), name, name)
	case OpenCL:
		need(t, "gcc")
		b.sh(t, "gcc %s -fPIC -shared %s.c -o lib%s.so -lOpenCL -lm", testFlags, name, name)
	default:
		need(t, "gcc")
		b.sh(t, "gcc %s -fopenmp -fPIC -shared %s.c -o lib%s.so -lm", testFlags, name, name)
	}
	return b
}

// Each variant of a library has its own spans and spares.
func TestLibraryVariantsSpans(t *testing.T) {
	c := spanPrograms[0]
	for _, d := range []*Dialect{C, OpenCL} {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			copied, body, _ := strings.Cut(c.text, "\n")
			p := libraryProgram(t, "rims", spanHead+copied+spanStencils+body)
			o := lower.Options{}
			if d != C {
				o.Target = lower.GPU
				_, o.Lacks = d.On(nil)
			}
			modules, err := lower.Variants(p, o, make([]schedule.Plan, 3))
			if err != nil {
				t.Fatal(err)
			}
			spanned(t, modules[1], o, (*spanner).unseen)
			spanned(t, modules[2], o, (*spanner).long, (*spanner).even)
			var list []Variant
			for n, m := range modules {
				list = append(list, Variant{Module: m, Cells: int64(10 * (n*n + 1))})
			}
			files, err := Library(modules[0], LibraryOptions{Dialect: d, Variants: list})
			if err != nil {
				t.Fatal(err)
			}
			b := compiled(t, p, d, files)
			text, err := os.ReadFile(filepath.Join(b.dir, files[1].Name))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{
				"    while (h->variant == 2 && ", "count - done >= 4) {",
				"    if (!status && h->variant == 1) status = gl_take(h, &h->own.v_, \"a spare of v\", ",
			} {
				if !strings.Contains(string(text), part) {
					t.Errorf("the library has no %q:\n%s", part, text)
				}
			}
			var cases []libraryCase
			for n := range 8 {
				for _, sizes := range []string{"M=3 N=3", "M=4 N=5", "M=6 N=9"} {
					cases = append(cases, libraryCase{sizes, "", "u v", []int{n, run, 2}})
				}
			}
			drive(t, b, p, cases)
		})
	}
}

// largerCases are the cases of spans at sizes that kernels of plans have several tiles of, with these grids given.
func largerCases(given string) []libraryCase {
	cases := spanCases()
	for i := range cases {
		use := &cases[i]
		use.sizes = strings.NewReplacer("M=5 N=7", "M=19 N=45", "M=4 N=9", "M=8 N=70").Replace(use.sizes)
		use.given = given
	}
	return cases
}

// The spans of lowering are carried out like those made by hand.
func TestLibrarySpansOfPlans(t *testing.T) {
	for _, c := range spanPrograms[:2] {
		for _, d := range []*Dialect{C, CUDA, OpenCL} {
			t.Run(d.Name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				copied, body, _ := strings.Cut(c.text, "\n")
				p := libraryProgram(t, c.name, spanHead+copied+spanStencils+body)
				var files []File
				if d == C {
					files = packaged(t, p, arith.Strict, "body[0:2]@3{family=wavefront,block=8x0}")
				} else {
					files = packagedGPU(t, p, d, arith.Strict, "body[0:2]@3{family=overlap,block=32,tile=4x16}")
				}
				if !strings.Contains(files[1].Text, "count - done >= 3) {") &&
					!strings.Contains(files[1].Text, "count - done >= 4) {") {
					t.Errorf("the library has no span of three iterations:\n%s", files[1].Text)
				}
				drive(t, compiled(t, p, d, files), p, largerCases("u"))
			})
		}
	}
}

// Kernels of one iteration carry out the statements of all its calls, or of sets of them with others in between.
func TestLibrarySpansOfCalls(t *testing.T) {
	const all, sets = "iterate T { s (w, u, step); l (v, w, u, step); swap (u, v); }",
		"iterate T { s (w, u, step); bump (x, step); s (u, w, step); l (y, x, x, step); swap (x, y); }"
	for _, c := range []struct{ steps, plan string }{
		{all, "body[0:3]@1{%[1]s}"}, {sets, "body[0,2]@1{%[1]s};body[1,3,4]@1{%[1]s}"},
	} {
		for _, d := range []*Dialect{C, CUDA, OpenCL} {
			t.Run(d.Name, func(t *testing.T) {
				t.Parallel()
				p := libraryProgram(t, "calls", spanHead+"float x[M,N], y[M,N]; copyin u, w; copyout u, w, x;"+
					spanStencils+c.steps)
				var files []File
				if d == C {
					files = packaged(t, p, arith.Strict, fmt.Sprintf(c.plan, "family=wavefront,block=8x0"))
				} else {
					plan := fmt.Sprintf(c.plan, "family=overlap,block=32,tile=4x16")
					if c.steps == all {
						plan += ";body[0:3]@2{family=overlap,block=32,tile=4x16}"
					}
					files = packagedGPU(t, p, d, arith.Strict, plan)
				}
				if !strings.Contains(files[1].Text, "count - done >= 1) {") &&
					!strings.Contains(files[1].Text, "count - done >= 2) {") {
					t.Errorf("the library has no kernel of one iteration:\n%s", files[1].Text)
				}
				drive(t, compiled(t, p, d, files), p, largerCases("u w"))
			})
		}
	}
}

// On a domain that is too small for the kernels of several iterations, a library carries them out one by one.
func TestLibrarySpansOfSmallDomains(t *testing.T) {
	p := libraryProgram(t, "small", `parameter M, N, T = 7; iterator j, i; float u[M,N], v[M,N];
boundary u, v : mirror;
copyin u; copyout u, v;
stencil s (out, in) { out[j][i] = in[j][i-2] - 0.5*in[j-1][i] + 0.25*in[j][i+1] + in[j+1][i]; }
iterate T { s (v, u); swap (v, u); }
`)
	files := packagedGPU(t, p, CUDA, arith.Strict, "body[0:2]@3{family=pipe,block=2x32,cells=2,stages=0}")
	if want := "h->size.M >= 2 && h->size.N >= 3 && count - done >= 4"; !strings.Contains(files[1].Text, want) {
		t.Fatalf("the library has no %q", want)
	}
	var cases []libraryCase
	for _, sizes := range []string{"M=1 N=9", "M=9 N=2", "M=1 N=1", "M=2 N=3", "M=19 N=45"} {
		cases = append(cases, libraryCase{sizes, "", "u", []int{3, run, 1, 8}})
	}
	b := compiled(t, p, CUDA, files)
	b.inPlace = false // rows are padded
	drive(t, b, p, cases)
}
