package contest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	runexec "github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

func TestMain(m *testing.M) {
	worker.Main(measure.Service, runexec.Service)
	os.Exit(m.Run())
}

const heatRival = "../../../../bench/rivals/heat3d.c"

// heat is the shipped example with values like "L=5 steps=12".
func heat(t *testing.T, values string) PlainOptions {
	t.Helper()
	if _, err := toolchain.Find(t.Context(), os.Getenv, nil); err != nil {
		t.Skip(err)
	}
	t.Setenv("OMP_WAIT_POLICY", "passive") // other tests run at the same time
	text, err := examples.FS.ReadFile("heat3d.loom")
	if err != nil {
		t.Fatal(err)
	}
	src := diag.NewSource("heat3d.loom", string(text))
	program, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	o := PlainOptions{Set: map[string]string{}, Rival: heatRival, Rounds: FewestRounds, Open: OpenDevice("cpu", 0),
		Commit: "abc", Log: io.Discard}
	for _, v := range strings.Fields(values) {
		name, value, _ := strings.Cut(v, "=")
		o.Set[name] = value
	}
	if o.Bound, list = program.Bind(o.Set); list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return o
}

// The example is tuned and set against plain C, at a small size.
func TestPlain(t *testing.T) {
	o := heat(t, "L=6 M=7 N=19 steps=12")
	o.Trials = 2
	r, err := Plain(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Program != "heat3d" || r.DType != "double" || r.Grid != "6x7x19" || r.Trials != 2 || r.Rounds != 7 ||
		r.Cells != 2*6*7*19 || r.Commit != "abc" {
		t.Errorf("%+v", r)
	}
	if r.Seconds <= 0 || r.Threads < 1 || !strings.HasSuffix(r.Device, fmt.Sprintf(", %d threads", r.Threads)) ||
		r.Compiler == "" {
		t.Errorf("%+v", r)
	}
	p, err := schedule.ParsePlan(r.Plan)
	if err != nil || len(p.Kernels) == 0 || p.Kernels[0].Depth > 1 {
		t.Errorf("%s: %v", r.Plan, err)
	}
	for _, k := range p.Kernels[1:] { // several iterations of the loop in a kernel, if that was faster
		if k.Depth < 2 {
			t.Errorf("%s: a second kernel of single iterations", r.Plan)
		}
	}
	for _, v := range [][3]float64{
		{r.Low, r.GStencils, r.High}, {r.PlainLow, r.Plain, r.PlainHigh}, {r.NativeLow, r.Native, r.NativeHigh},
		{r.RatioLow, r.Ratio, r.RatioHigh}, {r.RatioNativeLow, r.RatioNative, r.RatioNativeHigh},
	} {
		if v[0] < 0 || v[1] <= 0 || v[0] > v[2] {
			t.Errorf("%v", v)
		}
	}
}

// The plain code is the example, walls and sizes of one cell included.
func TestPlainRival(t *testing.T) {
	for _, values := range []string{"L=1 M=1 N=1", "L=1 M=2 N=2", "L=2 M=1 N=3", "L=5 M=4 N=9"} {
		o := heat(t, values+" steps=11")
		p := &plain{opts: &o, dir: t.TempDir()}
		if _, err := p.rivals(t.Context()); err != nil {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// What is wrong with a rival is known before the search begins.
func TestPlainRefuses(t *testing.T) {
	right, err := os.ReadFile(heatRival)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, values, want string }{
		{"- 6 * c[i]", "- 5 * c[i]", "",
			"-O3 -fopenmp: 60 of 60 cells of u are further from the reference executor than rounding may put them, " +
				"such as [0 0 0]: "},
		{"gl_heat", "gl_cold", "", "-O3 -fopenmp: the compiled code has no kernel heat: "},
		{"#pragma omp", "#error no\n#pragma omp", "", "does not compile "},
		{"", "", "steps=10", "heat3d has no more than 10 iterations, after which timing would begin"},
	} {
		o := heat(t, "L=3 M=4 N=5 "+c.values)
		o.Rival = filepath.Join(t.TempDir(), "rival.c")
		if err := os.WriteFile(o.Rival, []byte(strings.Replace(string(right), c.old, c.new, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		p := &plain{opts: &o, dir: t.TempDir()}
		list, err := p.rivals(t.Context())
		if err == nil {
			err = p.time(t.Context(), list[0])
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
		if _, wrong := errors.AsType[*Disagreement](err); wrong != strings.Contains(c.want, "cells of") {
			t.Errorf("%T", err)
		}
	}
	o := heat(t, "L=3 M=4 N=5")
	o.Rounds = 6
	if _, err := Plain(t.Context(), o); err == nil || err.Error() != "6 rounds tell no scatter: at least 7 are needed" {
		t.Error(err)
	}
}

func TestPlainJSON(t *testing.T) {
	row := &PlainRow{
		Program: "heat3d", DType: "double", Grid: "64x64x128", Device: "a processor, 2 threads", Compiler: "cc 1",
		Threads: 2, Strategy: "auto",
		Seconds: 61.5, Trials: 120, Plan: "heat[0:1]@1{family=loops}", Cells: 1048576, Rounds: 31, GStencils: 3,
		Low: 2.9, High: 3.1,
		Plain: 2, PlainLow: 1.9, PlainHigh: 2.1, Ratio: 1.5, RatioLow: 1.4, RatioHigh: 1.6,
		Native: 2.5, NativeLow: 2.4, NativeHigh: 2.6, RatioNative: 1.2, RatioNativeLow: 1.1, RatioNativeHigh: 1.3,
		Commit: "abc",
	}
	golden(t, "plain.json", []*PlainRow{row})
	var out strings.Builder
	WritePlain(&out, row)
	const want = `heat3d double 64x64x128 on a processor, 2 threads: 120 configurations in 61.5 s
heat[0:1]@1{family=loops}
  tuned             3.000 GStencil/s (2.900 to 3.100)
  plain             2.000 GStencil/s (1.900 to 2.100)
  plain, native     2.500 GStencil/s (2.400 to 2.600)
  1.500 times as fast as -O3 -fopenmp (1.400 to 1.600)
  1.200 times as fast as -O3 -fopenmp -march=native -ffp-contract=fast (1.100 to 1.300)
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
