package lower_test

import (
	"embed"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

//go:embed testdata/*.loom
var sources embed.FS

// source reads and checks a program of testdata.
func source(t testing.TB, name string) *ir.Program {
	t.Helper()
	text, err := sources.ReadFile("testdata/" + name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, name, string(text))
}

// names lists the programs of testdata.
func names(t testing.TB) []string {
	t.Helper()
	files, err := sources.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, strings.TrimSuffix(f.Name(), ".loom"))
	}
	return list
}

// shapes are the sizes that a program of testdata is run at: as declared, the
// smallest that bind, rows longer than a block or a vector, and unlike ones.
var shapes = map[string][]string{
	"cell":      {"", "N=300"},
	"colors":    {"", "M=5 N=4", "M=3 N=70", "M=33 N=5"},
	"domains":   {"", "M=6 N=6", "M=7 N=131", "M=40 N=7"},
	"heat":      {"", "L=1 M=1 N=1", "L=3 M=1 N=67", "L=17 M=18 N=2"},
	"initial":   {"", "M=3 N=1", "M=5 N=130"},
	"interior":  {"", "M=5 N=6", "M=7 N=200", "M=35 N=9"},
	"kept":      {"", "M=1 N=4", "M=9 N=70"},
	"line":      {"", "N=1", "N=2", "N=3", "N=5", "N=150", "N=20000"},
	"local":     {"", "M=4 N=4", "M=5 N=140", "M=37 N=5"},
	"norm":      {"", "M=3 N=1", "M=3 N=3", "M=5 N=133", "M=70 N=61"},
	"redblack":  {"", "M=1 N=1", "M=2 N=3", "M=5 N=130", "M=34 N=3"},
	"star":      {"", "L=3 M=5 N=5", "L=9 M=5 N=67", "L=17 M=9 N=6"},
	"staggered": {"", "M=2 N=4", "M=4 N=130", "M=21 N=5"},
	"types":     {"", "N=1", "N=2", "N=100"},
	"uniform":   {"", "M=2 N=4", "M=3 N=150"},
}

// plans are configurations that cut loops in every way, for any of the ranks
// that a program's kernels have.
var plans = map[lower.Target][]string{
	lower.CPU: {
		"", "threads=4",
		"block=64", "block=128,threads=2",
		"block=2x0", "block=0x64", "block=4x64,threads=2", "block=1x0,threads=1",
		"block=2x0x0", "block=0x4x0", "block=1x2x64,threads=2", "block=0x0x64",
	},
	lower.GPU: {"", "block=64", "block=1024", "block=2x128", "block=16x16", "block=1x256"},
}

// The programs of testdata do in the simulator what the reference executor
// does, whatever their plan.
func TestSources(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := source(t, name)
			if len(shapes[name]) == 0 {
				t.Fatal("no shapes")
			}
			for i, values := range shapes[name] {
				b := bind(t, p, values)
				for target, texts := range plans {
					for j, text := range texts {
						// Every plan at the declared sizes, and by turns at others.
						w := way{target: target, strict: (i+j)%3 != 0, plan: plan(t, text)}
						if i > 0 && j%len(shapes[name]) != i-1 && j > 0 {
							continue
						}
						if _, err := lower.Program(p, lower.Options{
							Target: target, Plan: w.plan, Bound: b,
						}); err != nil {
							continue // it has no kernel of that rank
						}
						if err := check(b, w, uint64(i+j)); err != nil {
							t.Errorf("%s: %v", values, err)
						}
					}
				}
			}
		})
	}
}
