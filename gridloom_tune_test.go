package gridloom_test

import (
	"context"
	"errors"
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
func TestTune(t *testing.T) {
	ctx := context.Background()
	p, err := gridloom.Parse("heat.loom", heat)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	r, err := p.Tune(ctx, gridloom.TuneOptions{
		FP: "strict", Strategy: "random", Seed: 3, Trials: 3, Progress: func(s gridloom.TuneProgress) { told = s.Trials },
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
	var results [2]*gridloom.Result
	for i, plan := range []string{"", r.Plan} {
		if results[i], err = p.Run(ctx, gridloom.RunOptions{FP: "strict", Plan: plan}); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range results[0].Grids["u"].Float64() {
		if w := results[1].Grids["u"].Float64()[i]; w != v {
			t.Fatalf("cell %d is %v, and %v with the usual plan", i, w, v)
		}
	}
	if _, err := p.Emit(gridloom.EmitOptions{FP: "strict", Plan: r.LibraryPlan}); err != nil {
		t.Error(err)
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
