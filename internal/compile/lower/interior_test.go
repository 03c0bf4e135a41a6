package lower_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// collection returns the examples, the programs of testdata and some random
// ones, by name, each at sizes that it has.
func collection(t testing.TB, random uint64) map[string]*ir.Binding {
	t.Helper()
	all := map[string]*ir.Binding{}
	files, err := fs.Glob(examples.FS, "*.loom")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, f := range files {
		text, err := examples.FS.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all["example "+f] = bind(t, load(t, strings.TrimSuffix(f, ".loom"), string(text)), "")
	}
	for _, name := range names(t) {
		all[name] = bind(t, source(t, name), "")
	}
	for seed := range random {
		c, err := gen.Make(seed, gen.Options{Size: 4 + int(seed%6)})
		if err != nil {
			t.Fatal(err)
		}
		b, list := c.Program.Bind(c.Sets[0])
		if list.HasErrors() {
			t.Fatal(list[0].Message)
		}
		all[fmt.Sprintf("seed %d", seed)] = b
	}
	return all
}

// Kernels verify, read back from their text, and have no boundary tests in
// their interior loops. On a processor every loop over cells has an interior.
func TestKernels(t *testing.T) {
	t.Parallel()
	for name, b := range collection(t, 150) {
		for _, w := range []way{
			{target: lower.CPU, strict: false, plan: plan(t, "")},
			{target: lower.CPU, strict: true, plan: plan(t, "threads=2")},
			{target: lower.GPU, strict: true, plan: plan(t, "")},
		} {
			m, err := lowered(b.Program, lower.Options{Target: w.target, Plan: w.plan, Bound: b})
			if err != nil {
				t.Errorf("%s: %v: %v", name, w, err)
				continue
			}
			for _, k := range m.Kernels {
				back, err := kernel.ParseText(kernel.Text(k))
				if err != nil || kernel.Text(back) != kernel.Text(k) {
					t.Errorf("%s: %v: %s does not read back: %v", name, w, k.Name, err)
				}
			}
			if w.target == lower.CPU {
				for _, k := range m.Kernels {
					if loops := pathsOf(k); loops[kernel.Edge] > 0 && loops[kernel.Interior] == 0 {
						t.Errorf("%s: %v: %s has edges and no interior\n%s", name, w, k.Name, kernel.Text(k))
					}
				}
			}
		}
	}
}

// pathsOf counts a kernel's loops by path.
func pathsOf(k *kernel.Kernel) map[kernel.Path]int {
	n := map[kernel.Path]int{}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok {
			n[l.Path]++
		}
	}, nil)
	return n
}

// The interior is all that it can be: edges are as wide as what is read.
func TestInteriorIsLarge(t *testing.T) {
	for _, c := range []struct {
		source, sizes string
		kernel        int
		// The ends of the interior by axis, the upper ones exclusive, where they are not the loop's.
		want string
	}{
		{"heat", "L=20 M=30 N=40", 0, "k 1:19, j 1:29, i 1:39"},
		{"heat", "L=1 M=2 N=3", 0, "k 1:1, j 1:1, i 1:2"},
		{"interior", "M=20 N=30", 0, ""}, // nothing but interior
		{"redblack", "M=20 N=30", 0, "j 1:19, i 1:29"},
		{"line", "N=30", 0, "i 4:23"}, // d starts at 1 and is read at i-3, e ends at N-3 and is read at i+5
		{"line", "N=4", 0, "i 4:4"},
		// lap lives on 1:M-2, 1:N-2 and is read at i+1; then at j-2 and j+1.
		{"local", "M=20 N=30", 1, "j 1:19, i 1:28"},
		{"local", "M=20 N=30", 2, "j 3:18, i :29"},
	} {
		m, err := lower.Program(source(t, c.source), lower.Options{Target: lower.CPU})
		if err != nil {
			t.Fatal(err)
		}
		b := bind(t, m.Program, c.sizes)
		k := m.Kernels[c.kernel]
		env := map[*kernel.Var]op.Value{}
		for i, a := range m.Calls[m.Program.Calls[0]][c.kernel].Args[len(k.Buffers):] {
			v := op.Int(types.I64, 0)
			if size, ok := a.(kernel.SizeArg); ok {
				v = op.Int(types.I64, b.Params[size.Param])
			}
			env[k.Scalars[i]] = v
		}
		ends := map[string]string{}
		for _, s := range k.Body {
			if l, ok := s.(*kernel.Let); ok {
				env[l.Var] = kernel.Eval(l.Value, env)
				ends[l.Var.Name] = env[l.Var].String()
			}
		}
		var got []string
		for _, axis := range m.Program.Axes {
			lo, hi := ends[axis+"_in_lo"], ends[axis+"_in_hi"]
			if lo != "" || hi != "" {
				got = append(got, fmt.Sprintf("%s %s:%s", axis, lo, hi))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s at %s: the interior of %s is %q, want %q", c.source, c.sizes, k.Name, s, c.want)
		}
	}
}
