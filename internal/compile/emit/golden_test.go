package emit_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/compare"
	runner "github.com/gridloom/gridloom/internal/run/exec"
)

var update = flag.Bool("update", false, "write the goldens of kernels")

// goldens are programs of internal/compile/lower/testdata with ways to lower
// them, and sizes to run them at.
var goldens = []struct {
	name, source string
	target       lower.Target
	strict       bool
	plan         string
	sizes        []string
}{
	{name: "heat", source: "heat", strict: true, sizes: []string{"", "L=1 M=1 N=1", "L=3 M=20 N=67"}},
	{name: "heat-blocks", source: "heat", strict: true, plan: "block=0x4x64,threads=2",
		sizes: []string{"", "L=3 M=20 N=133"}},
	{name: "heat-gpu", source: "heat", target: lower.GPU},
	{name: "star-async", source: "star", target: lower.GPU,
		plan: "family=planes,block=4x32,vec=4,chunk=16,stages=2,cse=yes"},
	{name: "star-tensor", source: "star", target: lower.GPU,
		plan: "family=planes,block=4x32,vec=4,chunk=16,stages=2,copy=tensor,cse=yes"},
	{name: "redblack", source: "redblack", strict: true, sizes: []string{"", "M=1 N=1", "M=34 N=33"}},
	{name: "norm", source: "norm", sizes: []string{"", "M=3 N=1", "M=70 N=133"}},
	{name: "norm-strict", source: "norm", strict: true, sizes: []string{"", "M=3 N=1", "M=70 N=133"}},
	{name: "local", source: "local", strict: true, sizes: []string{"", "M=4 N=4", "M=37 N=50"}},
	{name: "domains", source: "domains", strict: true, sizes: []string{"", "M=6 N=6", "M=40 N=50"}},
	{name: "line", source: "line", strict: true, sizes: []string{"", "N=1", "N=2", "N=3", "N=20000"}},
	{name: "cell", source: "cell", strict: true, sizes: []string{"", "N=300"}},
	{name: "staggered", source: "staggered", strict: true, sizes: []string{"", "M=2 N=4", "M=40 N=50"}},
	{name: "types", source: "types", strict: true, sizes: []string{"", "N=1", "N=2", "N=1000"}},
}

func goldenModule(t *testing.T, i int) *kernel.Module {
	t.Helper()
	g := goldens[i]
	p := loadFile(t, "../lower/testdata/"+g.source+".loom", strings.NewReplacer())
	plan, err := schedule.ParsePlan(g.plan)
	if err != nil {
		t.Fatal(err)
	}
	mode := arith.Contract
	if g.strict {
		mode = arith.Strict
	}
	m, err := lower.Program(p.In(mode), lower.Options{Target: g.target, Plan: plan, NoInitial: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func goldenFile(i int) string {
	suffix := ".c"
	if goldens[i].target == lower.GPU {
		suffix = ".cu"
	}
	return filepath.Join("testdata", "kernels", goldens[i].name+suffix)
}

func TestGoldens(t *testing.T) {
	for i, g := range goldens {
		dialect := emit.C
		if g.target == lower.GPU {
			dialect = emit.CUDA
		}
		got := emit.Source(dialect, goldenModule(t, i))
		file := goldenFile(i)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s has changed; see the difference with -update and git diff\n%s", file, got)
		}
	}
}

func TestGoldensCompile(t *testing.T) {
	var files []string
	for i, g := range goldens {
		if g.target == lower.CPU {
			files = append(files, goldenFile(i))
		}
	}
	strictlyCompile(t, files...)
}

// The goldens themselves compute what the programs mean, so that no update can
// bless wrong code.
func TestGoldensRun(t *testing.T) {
	for i, g := range goldens {
		if g.target == lower.GPU {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(goldenFile(i))
			if err != nil {
				t.Fatal(err)
			}
			m := goldenModule(t, i)
			image := build(t, string(text), m.Program.Arithmetic)
			with, err := compiler()
			if err != nil {
				t.Fatal(err)
			}
			bounds := interp.ModeOf(m.Program, with.Compiler.FMA)
			for seed, sizes := range g.sizes {
				set := map[string]string{}
				for pair := range strings.FieldsSeq(sizes) {
					name, value, _ := strings.Cut(pair, "=")
					set[name] = value
				}
				b, list := m.Program.Bind(set)
				if list.HasErrors() {
					t.Fatal(list[0].Message)
				}
				for _, s := range agree(t, m, b, image, bounds, uint64(seed)) {
					t.Errorf("%s: %s", sizes, s)
				}
			}
		})
	}
}

// agree runs a compiled module and the reference on random inputs and says
// where they differ.
func agree(t *testing.T, m *kernel.Module, b *ir.Binding, image string, bounds interp.Mode,
	seed uint64) (wrong []string) {
	t.Helper()
	want, err := runner.OpenReference(b, runner.ReferenceOptions{Bounds: bounds})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	got, err := runner.Open(context.Background(), m, b, runner.Options{Device: "cpu", Image: image})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	for _, r := range []runner.Runner{want, got} {
		for k, g := range b.Program.Grids {
			if !g.CopyIn && !g.Constant {
				continue
			}
			cells, err := r.Grid(g.Name)
			if err != nil {
				t.Fatal(err)
			}
			copy(cells, gen.Input(g.Type, len(cells)/g.Type.Size(), seed+uint64(k)))
		}
		if err := r.Initialise(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Advance(context.Background(), runner.Limit{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range b.Program.Grids {
		x, err := got.Grid(g.Name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := want.Grid(g.Name)
		if err != nil {
			t.Fatal(err)
		}
		limits, err := want.Bounds(g.Name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Bounds: limits}, y, x)
		if err != nil {
			t.Fatal(err)
		}
		if !r.OK() {
			wrong = append(wrong, r.String())
		}
	}
	for _, s := range b.Program.Scalars {
		x, err := got.Scalar(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := want.Scalar(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		if bounds == interp.NoBounds && !x.Same(y) {
			wrong = append(wrong, s.Name+" is "+x.String()+", not "+y.String())
		}
	}
	return wrong
}
