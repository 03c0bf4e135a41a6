package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// variantsOf makes the files of a library with a variant for each plan; plans
// are for the sizes that stand before them: "N=5 M=3: threads=2".
func variantsOf(t testing.TB, p *ir.Program, d *Dialect, texts ...string) ([]File, error) {
	t.Helper()
	var plans []schedule.Plan
	var sizes []string
	for _, text := range texts {
		size, plan, _ := strings.Cut(text, ":")
		parsed, err := schedule.ParsePlan(plan)
		if err != nil {
			t.Fatal(err)
		}
		plans, sizes = append(plans, parsed), append(sizes, size)
	}
	o := lower.Options{}
	if d != C {
		o.Target = lower.GPU
		_, o.Lacks = d.On(nil)
	}
	modules, err := lower.Variants(p, o, plans)
	if err != nil {
		return nil, err
	}
	var list []Variant
	for i, m := range modules {
		set := map[string]string{}
		for f := range strings.FieldsSeq(sizes[i]) {
			name, value, _ := strings.Cut(f, "=")
			set[name] = value
		}
		b, errs := p.Bind(set)
		if errs.HasErrors() {
			t.Fatal(errs[0].Message)
		}
		list = append(list, Variant{Module: m, Plan: plans[i].String(), Cells: Cells(m, b.Params)})
	}
	return Library(modules[0], LibraryOptions{Dialect: d, Variants: list})
}

// buildVariants compiles such a library.
func buildVariants(t testing.TB, p *ir.Program, d *Dialect, texts ...string) *built {
	t.Helper()
	files, err := variantsOf(t, p, d, texts...)
	if err != nil {
		t.Fatal(err)
	}
	name := libraryName(p.Name)
	b := &built{name: name, module: pythonModule(name), class: pythonClass(name), dir: t.TempDir()}
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

// picked asks a library which variant it picks for some sizes.
const picked = `
#include "heat.h"
#include <stdio.h>
int main(void)
{
    heat *h = NULL;
    int value = -1;
    const int64_t sizes[] = { 1, 4, 10, 11, 12, 30, 90, 100 };
    if (heat_new(&h))
        return 1;
    printf("%s;", heat_message(heat_variant(h, &value)));
    for (unsigned n = 0; n < sizeof sizes / sizeof *sizes; ++n) {
        if (heat_configure(h, sizes[n], 10, 10, 0.5) || heat_variant(h, &value))
            return 1;
        printf(" %d:%d", (int)sizes[n], value);
    }
    printf("\n");
    return heat_exit(&h);
}
`

// heatCells has a grid with 100 N cells and an argument.
const heatCells = `
parameter N, M, L;
iterator k, j, i;
double u[N,M,L], next[N,M,L], a, most;
boundary u, next : periodic;
copyin u; copyout u, most;
stencil heat (out, in) { out[k][j][i] = in[k][j][i] + a*(in[k][j][i+1] + in[k][j][i-1] + in[k+1][j][i] - 3*in[k][j][i]); }
stencil measure () { reduce max most = u[k+1][j][i]; }
iterate 3 { heat (next, u); swap (next, u); measure (); }`

// A library with several variants picks the one whose sizes are nearest, and
// computes the same with each, bit for bit.
func TestLibraryVariants(t *testing.T) {
	cases := []libraryCase{
		{"N=2 M=3 L=5", "a=0.25", "u", []int{1, run}},
		{"N=13 M=9 L=40", "a=0.1", "u", []int{2, 1}},
		{"N=70 M=10 L=11", "a=0.1", "u", []int{run}},
	}
	// 400, 900 and 10,000 cells: boundaries at 600 and 3,000.
	for _, c := range []struct {
		dialect *Dialect
		texts   []string
	}{
		{C, []string{
			"N=4 M=10 L=10 a=1:block=2x4x0", "N=100 M=10 L=10 a=1:threads=2", "N=9 M=10 L=10 a=1:block=2x0x0,threads=1",
		}},
		{CUDA, []string{
			"N=4 M=10 L=10 a=1:family=cells,block=4x32", "N=9 M=10 L=10 a=1:family=tile,vec=4",
			"N=100 M=10 L=10 a=1:family=planes,vec=2",
		}},
		{OpenCL, []string{
			"N=4 M=10 L=10 a=1:family=cells,block=4x32", "N=9 M=10 L=10 a=1:family=tile,vec=2",
			"N=100 M=10 L=10 a=1:family=planes,vec=4",
		}},
	} {
		t.Run(c.dialect.Name, func(t *testing.T) {
			t.Parallel()
			p := libraryProgram(t, "heat", heatCells)
			b := buildVariants(t, p, c.dialect, c.texts...)
			drive(t, b, p, cases)
			write(t, filepath.Join(b.dir, "picked.c"), picked)
			b.sh(t, "gcc -std=c11 -Wall -Werror picked.c -o picked -L. -lheat -Wl,-rpath,.")
			if got, want := b.sh(t, "./picked"),
				"a call that must come before is missing; 1:0 4:0 10:1 11:1 12:1 30:2 90:2 100:2\n"; got != want {
				t.Errorf("picked %swant   %s", got, want)
			}
			if got := b.sh(t, "PYTHONPATH=. %s -c 'import heat; print(heat.Heat(30, 10, 10, a=0.5).variant)'",
				python(t)); got != "2\n" {
				t.Errorf("Python says %q", got)
			}
			text, err := os.ReadFile(filepath.Join(b.dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "| 1 | 600 cells on | 900 cells |") {
				t.Errorf("%s", text)
			}
		})
	}
}

// Kernels that are alike in all variants are there once.
func TestLibraryVariantsShare(t *testing.T) {
	p := libraryProgram(t, "heat", heatCells)
	files, err := variantsOf(t, p, C, "N=4 M=10 L=10 a=1:heat[0:1]@1{family=loops,block=2x4x0}",
		"N=100 M=10 L=10 a=1:threads=0")
	if err != nil {
		t.Fatal(err)
	}
	source := ""
	for _, f := range files {
		if f.Name == "heat.c" {
			source = f.Text
		}
	}
	for text, want := range map[string]int{
		"static void heat_v1_kernel(": 1, "static void heat_v2_kernel(": 1, "static void measure_v1_kernel(": 1,
		"measure_v2_kernel": 0, "switch (h->variant) {": 1,
	} {
		if got := strings.Count(source, text); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
}

func TestOrdered(t *testing.T) {
	for _, c := range []struct {
		list []Variant
		want string // numbers from which on each is picked
	}{
		{[]Variant{{Cells: 900}, {Cells: 400}}, "400:0 900:600"},
		{[]Variant{{Cells: 1 << 40}, {Cells: 1}, {Cells: 1 << 20, From: 7}}, "1:0 1048576:7 1099511627776:1073741824"},
		{[]Variant{{Cells: 5}, {Cells: 5}}, ""},
		{[]Variant{{Cells: 5}, {Cells: 6, From: 100}, {Cells: 7}}, ""},
		{[]Variant{{Cells: 5}, {}}, ""},
	} {
		list, err := Ordered(c.list)
		var texts []string
		for _, v := range list {
			texts = append(texts, fmt.Sprintf("%d:%d", v.Cells, v.From))
		}
		if got := strings.Join(texts, " "); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%v: %q, %v, want %q", c.list, got, err, c.want)
		}
	}
}
