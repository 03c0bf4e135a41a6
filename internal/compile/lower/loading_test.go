package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// mixed reads grids of every kind: u and w, otherwise, around a cell, c and d at it, a
// coefficient for each plane, and a few at fixed places.
const mixed = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N], w[L,M,N], c[L,M,N], depth[L], few[5];
float d[L,M,N];
boundary u : clamp;
boundary w : clamp;
copyin u, w, c, d, depth, few;
stencil mix (out, u, w, c, d, depth, few) {
  out[k][j][i] = c[k][j][i]*(u[k+1][j][i] - u[k-1][j][i]) + d[k][j][i]*(w[k+1][j][i] - w[k-1][j][i])
               + depth[k]*(u[k][j+1][i+1] + w[k][j-1][i]) + few[1]*u[k][j][i-1] - few[3]*w[k][j][i-1];
}
iterate 2 { mix (v, u, w, c, d, depth, few); mix (u, v, w, c, d, depth, few); }
copyout u;
`

// mixedChoice returns the space of the first kernel of the program.
func mixedChoice(t *testing.T, sizes string, o lower.Options) (*ir.Program, *ir.Binding, lower.Choice) {
	t.Helper()
	p := load(t, "mixed", mixed)
	o.Target, o.Sized, o.NoInitial = lower.GPU, true, true
	o.Bound = bind(t, p, sizes)
	choices, err := lower.Choices(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, o.Bound, choices[0]
}

// loading lists the parameters of how grids are loaded, with their values.
func loading(c lower.Choice, family string) string {
	var lines []string
	for _, p := range c.Space.Family(family).Params {
		if strings.HasPrefix(p.Name, "load") || strings.HasPrefix(p.Name, "shared_") {
			lines = append(lines, fmt.Sprintf("%s %v %v", p.Name, p.Values, p.Default))
		}
	}
	return strings.Join(lines, "\n")
}

// swapped reads one grid.
const swapped = `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N];
copyin u;
stencil heat (out, in) { out[k][j][i] = in[k+1][j][i] + in[k-1][j][i] + 0.5*in[k][j][i]; }
iterate 2 { heat (v, u); swap (u, v); }
copyout u;
`

func TestLoadingParameters(t *testing.T) {
	_, _, c := mixedChoice(t, "L=9 M=9 N=9", lower.Options{})
	const own = `load [plain readonly image] readonly
load_w [same plain readonly image] same
load_c [same plain readonly image] same
load_d [same plain readonly image] same
load_few [same plain readonly image constant] same
load_depth [same plain readonly image constant] same`
	if got := loading(c, "tile"); got != own+"\nshared_u [yes no] yes\nshared_w [yes no] yes" {
		t.Errorf("tile:\n%s", got)
	}
	_, _, c = mixedChoice(t, "L=9 M=9 N=9", lower.Options{Lacks: []machine.Capability{machine.Image, machine.Constant}})
	if got := loading(c, "tile"); strings.Contains(got, "image") || strings.Contains(got, "constant") {
		t.Errorf("where there is neither:\n%s", got)
	}
	// Plans for some sizes are plans for others, and for those that are not known.
	p := load(t, "mixed", mixed)
	choices, err := lower.Choices(p, lower.Options{Target: lower.GPU, Bound: bind(t, p, "L=9 M=9 N=9")})
	if err != nil {
		t.Fatal(err)
	}
	if got := loading(choices[0], "tile"); got != own+"\nshared_u [yes no] yes\nshared_w [yes no] yes" {
		t.Errorf("for all sizes:\n%s", got)
	}
	c.Config = choices[0].Space.Default("tile").With("load_depth", schedule.Word("constant"))
	if err := choices[0].Space.Check(c.Config); err == nil ||
		!strings.Contains(err.Error(), "the size of depth is not known by then") {
		t.Error(err)
	}
	if err := choices[0].Space.Check(
		choices[0].Space.Default("tile").With("load_few", schedule.Word("constant"))); err != nil {
		t.Error(err)
	}
	// A single kind of grids has one parameter, by its old name.
	p = load(t, "swap", swapped)
	choices, err = lower.Choices(p, lower.Options{Target: lower.GPU, Bound: bind(t, p, "L=9 M=9 N=9"), Sized: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := loading(choices[0], "tile"); got != "load [plain readonly image] readonly" {
		t.Errorf("one grid: %s", got)
	}
}

// Buffers of a kernel are where the configuration wants them.
func TestLoadingBuffers(t *testing.T) {
	for _, test := range []struct{ config, buffers string }{
		{"family=tile,vec=2", "out global, u global, w global, c global, d global, depth global, few global"},
		{"family=tile,vec=2,load=plain,load_w=image",
			"out global, u global, w_image2 image 2, w_image image 1, c global, d global, depth global, few global"},
		{"family=tile,vec=1,load=image", "out global, u_image image 1, w_image image 1, c_image image 1, " +
			"d_image image 1, depth_image image 1, few_image image 1"},
		{"family=tile,vec=4,load_d=image",
			"out global, u global, w global, c global, d_image4 image 4, depth global, few global"},
		{"family=tile,load_depth=constant,load_few=constant",
			"out global, u global, w global, c global, d global, depth constant 9, few constant 5"},
		// What is copied to shared memory is not read from an image, but for its edges.
		{"family=tile,stages=1,shared_u=no,load=image,block=1x4x32,vec=2",
			"out global, u_image2 image 2, u_image image 1, w global, c_image2 image 2, d_image2 image 2, " +
				"depth_image image 1, few_image image 1"},
	} {
		p := load(t, "mixed", mixed)
		o := lower.Options{
			Target: lower.GPU, Sized: true, NoInitial: true, Bound: bind(t, p, "L=9 M=9 N=9"),
			Plan: plan(t, test.config),
		}
		m, err := lowered(p, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range m.Kernels[0].Buffers {
			text := b.Name + " " + b.Space.String()
			if b.Texel > 0 {
				text += fmt.Sprint(" ", b.Texel)
			}
			if n, ok := b.Fixed(); ok && b.Space == kernel.Constant {
				text += fmt.Sprint(" ", n)
			}
			got = append(got, text)
		}
		if got := strings.Join(got, ", "); got != test.buffers {
			t.Errorf("%s: %s", test.config, got)
		}
	}
}

// Whatever way each grid is loaded, the values are those of the reference.
func TestLoading(t *testing.T) {
	p, b, c := mixedChoice(t, "L=7 M=6 N=11", lower.Options{})
	rng := rand.New(rand.NewPCG(3, 3))
	for _, f := range c.Space.Families {
		counter := schedule.Space{Families: []schedule.Family{f}}.Counter()
		for range 12 {
			k := c.Kernel
			k.Config = counter.Draw(rng)
			all := schedule.Plan{Kernels: []schedule.Kernel{k}}
			if err := check(b, way{target: lower.GPU, strict: true, plan: all}, rng.Uint64()); err != nil &&
				!strings.Contains(err.Error(), "takes") {
				t.Errorf("%v\n%s", err, p.Name)
			}
		}
	}
}

func TestLoadingRefused(t *testing.T) {
	h, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	gpu := *h.GPU
	gpu.ImageTexels = 1000
	small := *h
	small.GPU = &gpu
	for _, test := range []struct{ sizes, config, want string }{
		{"L=6 M=6 N=9", "load=image", ""},
		{"L=11 M=9 N=16", "load=image", "loads by image (an image has at most 1000 elements, and u has 1584)"},
		{"L=11 M=9 N=16", "load_w=image", "loads by image (an image has at most 1000 elements, and w has 1584)"},
		{"L=11 M=9 N=16", "load_few=image", ""},
		{"L=9000 M=9 N=9", "load_depth=constant", "constant memory has 65536 bytes, and depth takes 72000"},
		{"L=9 M=9 N=9", "load=readonly,load_w=readonly",
			"one word for a way (what is loaded as load says is called same)"},
		{"L=9 M=9 N=9", "load_u=image", "has no parameter load_u"},
		{"L=9 M=9 N=9", "load=constant", "load=constant"},
	} {
		p := load(t, "mixed", mixed)
		o := lower.Options{
			Target: lower.GPU, Sized: true, NoInitial: true, Bound: bind(t, p, test.sizes), Machine: &small,
			Plan: plan(t, "family=tile,"+test.config),
		}
		_, err := lower.Plan(p, o)
		if test.want == "" && err != nil ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: %v", test.sizes, test.config, err)
		}
	}
}
