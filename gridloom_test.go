package gridloom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom"
)

const smooth = `
parameter N = 6;
iterator i;
double u[N], v[N];
double change;
boundary u : clamp;
copyin u;
copyout v, change;

stencil smooth (out, in) {
  out[i] = 0.25*in[i-1] + 0.5*in[i] + 0.25*in[i+1];
  reduce max change = abs(out[i] - in[i]);
}

smooth (v, u);
`

func Example() {
	p, err := gridloom.Parse("smooth.loom", smooth)
	if err != nil {
		fmt.Print(err)
		return
	}
	r, err := p.Run(context.Background(), gridloom.RunOptions{
		In: map[string]any{"u": []float64{0, 0, 4, 0, 0, 8}},
	})
	if err != nil {
		fmt.Print(err)
		return
	}
	fmt.Println(r.Grids["v"].Float64(), r.Scalars["change"])
	// Output: [0 1 2 1 2 6] 2
}

func TestDevicesAgree(t *testing.T) {
	p, err := gridloom.Parse("smooth.loom", smooth)
	if err != nil {
		t.Fatal(err)
	}
	in := make([]float64, 1001)
	for i := range in {
		in[i] = 1 / float64(i+1)
	}
	var results []*gridloom.Result
	for _, device := range []string{"ref", "cpu"} {
		r, err := p.Run(context.Background(), gridloom.RunOptions{
			Set: map[string]string{"N": "1001"}, In: map[string]any{"u": in}, Device: device, FP: "strict",
		})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	x, y := results[0].Grids["v"].Float64(), results[1].Grids["v"].Float64()
	if len(x) != 1001 || len(y) != 1001 {
		t.Fatalf("%d and %d cells", len(x), len(y))
	}
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("cell %d: %g on ref, %g on cpu", i, x[i], y[i])
		}
	}
	if results[0].Scalars["change"] != results[1].Scalars["change"] || x[0] == in[0] {
		t.Errorf("change %v and %v", results[0].Scalars, results[1].Scalars)
	}
}

func TestMistakes(t *testing.T) {
	_, err := gridloom.Parse("bad.loom", "parameter N = 4;\niterator i;\ndouble u[N];\ncopyin w;\n")
	var source *gridloom.SourceError
	if !errors.As(err, &source) || len(source.Diagnostics) == 0 || !strings.HasPrefix(err.Error(), "bad.loom:4:8: error:") {
		t.Errorf("a misspelt name: %v", err)
	}
	p, err := gridloom.Parse("smooth.loom", smooth)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options gridloom.RunOptions
		want    string
	}{
		{gridloom.RunOptions{Set: map[string]string{"M": "3"}}, "the program has no parameter or scalar called M"},
		{gridloom.RunOptions{In: map[string]any{"u": []float64{1}}}, "gridloom: u has [6] cells, and 1 values were given"},
		{gridloom.RunOptions{In: map[string]any{"u": []float32{1}}}, "gridloom: u is a double grid and cannot take []float32"},
		{gridloom.RunOptions{In: map[string]any{"w": []float64{1}}}, "gridloom: the program has no grid w"},
		{gridloom.RunOptions{Device: "tpu"}, "gridloom: there is no device tpu"},
	} {
		if _, err := p.Run(context.Background(), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.options, err, c.want)
		}
	}
}

func TestEmit(t *testing.T) {
	p, err := gridloom.Parse("smooth.loom", smooth)
	if err != nil {
		t.Fatal(err)
	}
	files, err := p.Emit(gridloom.EmitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "smooth.h smooth.c main.c CMakeLists.txt smooth.py smooth.f90 README.md" {
		t.Errorf("files %s", got)
	}
	for target, want := range map[string]string{"cuda": "static __global__ ", "opencl": "clBuildProgram"} {
		gpu, err := p.Emit(gridloom.EmitOptions{Target: target})
		if err != nil || len(gpu) != len(files) || !strings.Contains(gpu[1].Text, want) {
			t.Errorf("%s: %v %v", target, gpu, err)
		}
	}
	if _, err := p.Emit(gridloom.EmitOptions{Target: "pascal"}); err == nil {
		t.Error("an unknown target is accepted")
	}
}
