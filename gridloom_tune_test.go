package gridloom_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom"
)

const heat = `
parameter N = 24, M = 40;
iterator j, i;
double u[N,M], next[N,M];
boundary u, next : clamp;
initial { u[j][i] = j*i; }
stencil heat (out, in) { out[j][i] = in[j][i] + 0.1*(in[j][i+1] + in[j][i-1] + in[j+1][i] + in[j-1][i] - 4*in[j][i]); }
iterate 4 { heat (next, u); swap (next, u); }
copyout u;`

// What Tune has found is a plan that Run and Emit take, and that changes no
// result under strict arithmetic.
// What Tune finds, Run and Emit take, in every arithmetic.
func TestTune(t *testing.T) {
	for _, fp := range []string{"strict", "contract", "fast"} {
		t.Run(fp, func(t *testing.T) { tuneRunAndEmit(t, fp) })
	}
}

func tuneRunAndEmit(t *testing.T, fp string) {
	ctx := context.Background()
	p, err := gridloom.Parse("heat.loom", heat)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	r, err := p.Tune(ctx, gridloom.TuneOptions{
		FP: fp, Strategy: "random", Seed: 3, Trials: 3, Progress: func(s gridloom.TuneProgress) { told = s.Trials },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Trials != 3 || told != 3 || r.Interrupted || r.Bound < 0 || len(r.Plans) < 3 {
		t.Errorf("%+v, told of %d", r, told)
	}
	if !strings.HasPrefix(r.Plan, "heat[0:1]@1{family=loops") || r.LibraryPlan == "" {
		t.Errorf("the best plan is %q, that of a library %q", r.Plan, r.LibraryPlan)
	}
	for _, x := range r.Plans {
		if x.Time <= 0 || x.GStencils <= 0 {
			t.Errorf("%+v", x)
		}
	}
	var results [3]*gridloom.Result
	for i, o := range []gridloom.RunOptions{{FP: fp, Device: "ref"}, {FP: fp}, {FP: fp, Plan: r.Plan}} {
		if results[i], err = p.Run(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	near := 0.0 // the exact modes leave no bit open
	if fp == "fast" {
		near = 1e-12
	}
	numbers := 0
	for i, v := range results[0].Grids["u"].Float64() {
		for _, other := range results[1:] {
			if w := other.Grids["u"].Float64()[i]; math.Abs(w-v) > near*math.Abs(v) {
				t.Fatalf("cell %d is %v on the reference executor, and %v", i, v, w)
			}
		}
		if v != 0 {
			numbers++
		}
	}
	if numbers == 0 {
		t.Error("there is nothing but zeros")
	}
	if _, err := p.Emit(gridloom.EmitOptions{FP: fp, Plan: r.LibraryPlan}); err != nil {
		t.Error(err)
	}
}

// A plan that only fast arithmetic allows is one for Emit, too.
func TestFastPlansAreTaken(t *testing.T) {
	p, err := gridloom.Parse("fold.loom", "parameter N = 40;\niterator i;\ndouble u[N], v[N], r = 0.5;\ncopyin u; copyout v;\n"+
		"stencil s () { v[i] = r*u[i-1] + r*u[i+1]; }\ns ();")
	if err != nil {
		t.Fatal(err)
	}
	for fp, want := range map[string]string{"fast": "", "contract": "fold=yes fits no kernel", "strict": "fold=yes fits no kernel"} {
		_, err := p.Emit(gridloom.EmitOptions{Target: "cuda", FP: fp, Plan: "fold=yes"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fp, err, want)
		}
	}
}

func TestTuneMistakes(t *testing.T) {
	p, err := gridloom.Parse("heat.loom", heat)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx     context.Context
		options gridloom.TuneOptions
		want    string
	}{
		{nil, gridloom.TuneOptions{Trials: -1}, "neither can be negative"},
		{nil, gridloom.TuneOptions{Set: map[string]string{"K": "3"}}, "K"},
		{nil, gridloom.TuneOptions{FP: "loose"}, "loose"},
		{nil, gridloom.TuneOptions{Plan: "threads"}, "name=value"},
		{nil, gridloom.TuneOptions{Device: "abacus"}, "abacus"},
		{nil, gridloom.TuneOptions{Strategy: "hope", Trials: 1}, "hope"},
		{ended, gridloom.TuneOptions{Trials: 1}, context.Canceled.Error()},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = context.Background()
		}
		r, err := p.Tune(ctx, c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) && !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v, %v, want %s", c.options, r, err, c.want)
		}
	}
}
