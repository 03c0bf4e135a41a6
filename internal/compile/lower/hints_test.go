package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// hinted is a program with a pragma before its stencil and hints inside.
func hinted(pragma, inside string) string {
	return fmt.Sprintf(`
parameter L = 13, M = 19, N = 37;
iterator k, j, i;
double u[L,M,N], v[L,M,N], c[L,M,N], line[N], plane[M,N];
boundary u : clamp;
copyin u, c, line, plane;
%s
stencil flow (out, in, c, line, plane) {
  %s
  out[k][j][i] = c[k][j][i]*(in[k+1][j][i] + in[k-1][j][i] + in[k][j+1][i] + in[k][j][i-1])
               + line[i]*plane[j][i] + c[k][j][i+1];
}
flow (v, u, c, line, plane);
copyout v;
`, pragma, inside)
}

// choice returns the space of a program's only kernel, and the warnings.
func choice(t *testing.T, text string, o lower.Options) (*ir.Program, lower.Choice, string) {
	t.Helper()
	src := diag.NewSource("hinted.loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	o.Target, o.Bound = lower.GPU, bind(t, p, "")
	choices, err := lower.Choices(p, o)
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := lower.Hints(p, o)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range warnings {
		said = append(said, text[w.Range.Start:w.Range.End]+": "+w.Message)
	}
	return p, choices[0], strings.Join(said, "\n")
}

// last returns a number of a parameter, the n-th from the end on; 1 if the configuration has none.
func last(c schedule.Config, name string, n int) int64 {
	if !c.Has(name) {
		return 1
	}
	list := c.Ints(name)
	return list[len(list)-n]
}

// What the source fixes is not searched: all members of the space have it, and
// members of the whole space that have it are left.
func TestHints(t *testing.T) {
	whole := func(name string, test func(schedule.Config) bool) func(schedule.Config) bool {
		return func(c schedule.Config) bool { return c.Has(name) && test(c) }
	}
	for _, test := range []struct {
		pragma, inside, defaults string
		holds                    func(schedule.Config) bool
	}{
		{"#pragma stream k", "", "family=planes,stream=k",
			whole("stream", func(c schedule.Config) bool { return c.Word("stream") == "k" })},
		// The innermost axis comes first.
		{"#pragma block (32,4)", "", "family=cells,block=4x32", func(c schedule.Config) bool {
			b := c.Ints("block")
			return b[len(b)-1] == 32 && b[len(b)-2] == 4 && (len(b) == 2 || b[0] == 1)
		}},
		{"#pragma stream k block (32,16)", "", "family=planes,stream=k", whole("stream", func(c schedule.Config) bool {
			return c.Word("stream") == "k" && fmt.Sprint(c.Ints("block")) == "[16 32]"
		})},
		{"#pragma block (64)", "", "family=tile,block=1x1x64", func(c schedule.Config) bool {
			b := c.Ints("block")
			return b[len(b)-1] == 64 && b[len(b)-2] == 1 && b[0]*b[len(b)-2] <= 1
		}},
		{"#pragma unroll i=4", "", "vec=4", whole("vec", func(c schedule.Config) bool {
			return c.Int("vec")*last(c, "repeat", 1) == 4
		})},
		{"#pragma unroll j=2", "", "rows=1x2", whole("rows", func(c schedule.Config) bool {
			return last(c, "rows", 1)*last(c, "repeat", 2) == 2
		})},
		{"#pragma stream k unroll j=2,i=2,k=4", "", "unroll=4", whole("stream", func(c schedule.Config) bool {
			return c.Int("vec") == 2 && c.Int("rows") == 2 && c.Int("unroll") == 4
		})},
		{"", "shmem in;", "stages=1", whole("stages", func(c schedule.Config) bool {
			if c.Family == "planes" { // which copies what threads read of each other
				return c.Int("stages") > 0
			}
			return c.Has("shared_in") && c.Is("shared_in")
		})},
		{"", "#assign gmem (in), no-shmem (c)", "family=cells", func(c schedule.Config) bool {
			// Nothing is left of which several threads read the same cells.
			return !c.Has("stages") || c.Int("stages") == 0 && c.Word("load") != "image"
		}},
		{"", "#assign gmem (in, c, line, plane)", "family=cells", func(c schedule.Config) bool {
			return !c.Has("stages") || c.Int("stages") == 0 && !strings.Contains(c.String(), "=image")
		}},
		{"#pragma occupancy 1.0", "", "family=cells,block=8x32", func(c schedule.Config) bool {
			threads := int64(1)
			for _, n := range c.Ints("block") {
				threads *= n
			}
			registers := int64(0)
			if c.Has("registers") {
				registers = c.Int("registers")
			}
			return threads >= 64 && registers <= 32
		}},
	} {
		text := hinted(test.pragma, test.inside)
		_, got, warnings := choice(t, text, lower.Options{})
		if warnings != "" {
			t.Errorf("%s%s: %s", test.pragma, test.inside, warnings)
		}
		if !strings.Contains(got.Config.String(), test.defaults) {
			t.Errorf("%s%s: the default is %s", test.pragma, test.inside, got.Config)
		}
		if err := got.Space.Verify(); err != nil {
			t.Errorf("%s%s: %v", test.pragma, test.inside, err)
		}
		counter, rng := got.Space.Counter(), rand.New(rand.NewPCG(7, 7))
		for range 300 {
			if c := counter.Draw(rng); !test.holds(c) {
				t.Errorf("%s%s: %s", test.pragma, test.inside, c)
				break
			}
		}
		_, free, _ := choice(t, text, lower.Options{Free: true})
		counter = free.Space.Counter()
		for range 800 {
			c := counter.Draw(rng)
			if err := got.Space.Check(c); (err == nil) != test.holds(c) {
				t.Errorf("%s%s: %s: %v", test.pragma, test.inside, c, err)
				break
			}
		}
	}
}

// inPlace is hinted, for a stencil that updates cells from others.
func inPlace(pragma, inside string) string {
	return fmt.Sprintf(`
parameter M = 9, N = 20;
iterator j, i;
double u[M,N];
copyin u;
%s
stencil relax (inout:in) {
  #assign %s
  color (j+i) %% 2 == 0 : in[j][i] += in[j][i+1];
}
relax (u);
copyout u;
`, pragma, inside)
}

// A hint that cannot be had is a warning at its place, with what could be.
func TestHintsUnmet(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{hinted("#pragma stream i", ""),
			"#pragma stream i: stream i is not followed: blocks of threads can go along k"},
		{hinted("#pragma stream k block (48,5)", ""), "#pragma stream k block (48,5): block (48,5) is not followed: " +
			"no such block of threads is made here; near it are (64,4), (32,4), (64,8)"},
		{hinted("#pragma unroll i=3", ""),
			"#pragma unroll i=3: unroll i=3 is not followed: threads can have 1, 2, 4, 8, 16, 32 cells on i here"},
		{hinted("#pragma stream k unroll k=8", ""),
			"#pragma stream k unroll k=8: unroll k=8 is not followed: threads can have 1, 2, 3, 4 cells on k here"},
		{hinted("", "#assign gmem (out,line), no-shmem (plane)"), ""},
		{hinted("", "shmem out;"), "out: shmem (out) is not followed: no kernel reads out"},
		{hinted("", "shmem line;"), ""},
		{hinted("#pragma stream k", "shmem line;"),
			"line: shmem (line) is not followed: line has no axis that blocks go along"},
		{hinted("#pragma stream k", "#assign shmem (in,plane)"),
			"plane: shmem (plane) is not followed: plane has no axis that blocks go along"},
		{hinted("#pragma block (32) occupancy 0.75", ""), "#pragma block (32) occupancy 0.75: " +
			"occupancy 0.75 is not followed: the blocks that there are can fill 0.5 of a multiprocessor at most"},
		{inPlace("#pragma stream j unroll i=2", "shmem (in)"),
			`#pragma stream j unroll i=2: stream j is not followed: the kernel reads cells that it overwrites, and has a thread for each
#pragma stream j unroll i=2: unroll i=2 is not followed: threads can have 1 cells on i here
in: shmem (in) is not followed: the kernel reads cells that it overwrites, and has a thread for each`},
		{"parameter N = 9; iterator j, i; double u[N], v[N];\n#pragma stream i unroll j=2\n" +
			"stencil s (v, u) { v[i] = u[i]; }\ns (v, u); copyout v;",
			`#pragma stream i unroll j=2: stream i is not followed: the kernel has no other axis than i
#pragma stream i unroll j=2: unroll j=2 is not followed: no kernel runs over j`},
	} {
		_, got, warnings := choice(t, test.text, lower.Options{})
		if warnings != test.want {
			t.Errorf("%s\nwant %s", warnings, test.want)
		}
		if err := got.Space.Verify(); err != nil {
			t.Error(err)
		}
		if _, _, free := choice(t, test.text, lower.Options{Free: true}); free != "" {
			t.Error(free)
		}
	}
}

// A plan has to keep to the source, and is told what that fixes.
func TestHintsAndPlans(t *testing.T) {
	p := load(t, "hinted", hinted("#pragma stream k block (32,4)", "shmem in;"))
	for _, c := range []struct{ plan, want string }{
		{"vec=4", ""},
		{"family=cells", "plan: family=cells fits no kernel: no family is called cells; there is planes; " +
			"the source fixes stream k, block (32,4), shmem (in)"},
		{"flow[0:1]@1{stages=0}", "plan for flow[0:1]: stages takes no value 0; it takes 1, 2, 3; " +
			"the source fixes stream k, block (32,4), shmem (in)"},
	} {
		_, err := lower.Plan(p, lower.Options{Target: lower.GPU, Plan: plan(t, c.plan), Bound: bind(t, p, "")})
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: %v\nwant %s", c.plan, err, c.want)
		}
	}
	if _, err := lower.Plan(p, lower.Options{
		Target: lower.GPU, Plan: plan(t, "family=cells"), Bound: bind(t, p, ""), Free: true,
	}); err != nil {
		t.Error(err)
	}
	if got, err := lower.Plan(p, lower.Options{}); err != nil ||
		got.String() != "flow[0:1]@1{family=loops,block=0x0x0,threads=0}" {
		t.Errorf("a CPU: %s, %v", got, err)
	}
}

// shared names the arrays that a kernel holds in shared memory.
func shared(m *kernel.Module) string {
	var names []string
	kernel.WalkStmts(m.Kernels[0].Body, func(s kernel.Stmt) {
		if a, ok := s.(*kernel.Alloc); ok && a.Buffer.Space == kernel.Shared {
			names = append(names, a.Buffer.Name)
		}
	}, nil)
	return strings.Join(names, " ")
}

// Arrays are held in shared memory as the source says, and those that are read
// least leave it for an occupancy.
func TestStorage(t *testing.T) {
	const wide = "family=tile,block=1x8x32,vec=2,rows=1x2,stages=1,staging=all"
	for _, c := range []struct{ pragma, inside, plan, want, err string }{
		{"", "", "family=tile,block=1x8x32,stages=1", "c_shared in_shared", ""},
		{"", "gmem in;", "family=tile,block=1x8x32,stages=1", "c_shared", ""},
		{"", "", "family=tile,block=1x8x32,stages=1,staging=halos", "c_shared in_shared", ""},
		{"", "shmem line;", "family=tile,block=1x8x32,stages=1", "c_shared in_shared line_shared", ""},
		{"", "no-shmem c;", "family=tile,block=1x8x32,stages=1", "in_shared", ""},
		{"", "#assign shmem (in), gmem (c)", "family=tile,block=1x8x32,stages=1", "in_shared", ""},
		// Eight warps of eight blocks: 28 KB each.
		{"#pragma occupancy 1.0", "", wide, "in_shared", ""},
		{"#pragma occupancy 0.5", "", wide, "c_shared in_shared", ""},
		{"#pragma occupancy 1.0", "shmem c;", wide, "c_shared", ""},
		{"#pragma occupancy 1.0", "#assign shmem (c,in)", wide, "",
			"the kernel flow takes 35376 bytes of shared memory a block, and each of 8 blocks has 28160; " +
				"the source fixes shmem (in), shmem (c), occupancy 1"},
	} {
		p := load(t, "hinted", hinted(c.pragma, c.inside))
		m, err := lowered(p, lower.Options{Target: lower.GPU, Plan: plan(t, c.plan), Bound: bind(t, p, "")})
		if err != nil {
			if err.Error() != c.err {
				t.Errorf("%s %s, %s: %v", c.pragma, c.inside, c.plan, err)
			}
			continue
		}
		if got := shared(m); got != c.want {
			t.Errorf("%s %s, %s: %q is in shared memory, want %q", c.pragma, c.inside, c.plan, got, c.want)
		}
		if strings.Contains(c.pragma, "1.0") && m.Kernels[0].MinBlocks != 8 {
			t.Errorf("%d blocks", m.Kernels[0].MinBlocks)
		}
	}
}

// Hints change no value.
func TestHintsCompute(t *testing.T) {
	for _, c := range []struct{ pragma, inside, plan string }{
		{"#pragma stream k block (32,4) unroll j=2", "shmem in;", "chunk=4,vec=2"},
		{"#pragma block (32,4) unroll j=2", "#assign shmem (in), gmem (c)", "vec=2"},
		{"#pragma stream k unroll i=4 occupancy 0.5", "shmem in;", "chunk=7,block=4x64,stages=1"},
		{"#pragma occupancy 1.0", "#assign shmem (in,c)", "block=4x32,vec=1,chunk=4"},
		{"#pragma block (16,4,2)", "gmem in;", "family=tile,vec=2"},
	} {
		p := load(t, "hinted", hinted(c.pragma, c.inside))
		if err := check(bind(t, p, ""), way{target: lower.GPU, strict: true, plan: plan(t, c.plan)}, 4); err != nil {
			t.Errorf("%s %s: %v", c.pragma, c.inside, err)
		}
	}
}
