package proof

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A slice of the proof for GPUs with fixed seeds, in which every family turns
// up, with shared memory, shuffles and kernels for one size.
func TestRandomPairs(t *testing.T) {
	t.Parallel()
	n := 36
	if testing.Short() {
		n = 12
	}
	r, err := GPU(context.Background(), GPUOptions{Pairs: n, Seed: 70100, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	if r.Pairs != n || r.Runs < n || r.Tiled == 0 || r.Strict == 0 || r.Bounded == 0 || r.Cells == 0 ||
		r.NextSeed != uint64(70100+n) {
		t.Errorf("%d pairs, %d runs (%d of three tiles, %d strict, %d bounded), %d cells, next %d",
			r.Pairs, r.Runs, r.Tiled, r.Strict, r.Bounded, r.Cells, r.NextSeed)
	}
	for _, c := range []Counts{
		{"family", []Count{{Value: "cells"}, {Value: "tile"}, {Value: "planes"}}},
		{"shuffle", []Count{{Value: "no"}, {Value: "yes"}}},
		{"stages", []Count{{Value: "0"}, {Value: "1"}, {Value: "2"}, {Value: "3"}}},
		{"sizes", []Count{{Value: "arguments"}, {Value: "literals"}}},
		{"local", []Count{{Value: "fused"}, {Value: "stored"}}},
	} {
		at := slices.IndexFunc(r.Values, func(x Counts) bool { return x.Name == c.Name })
		have := r.Families
		if at >= 0 {
			have = r.Values[at]
		}
		for _, v := range c.Values {
			if !slices.ContainsFunc(have.Values, func(x Count) bool { return x.Value == v.Value && x.Times > 0 }) {
				t.Errorf("no kernel has %s=%s", c.Name, v.Value)
			}
		}
	}
}

// A sample of the pairs is judged by others, too.
func TestCrossCheckers(t *testing.T) {
	if testing.Short() {
		t.Skip("PoCL's compiler is slow")
	}
	// Not in parallel: PoCL is told by the environment what to do.
	r, err := GPU(context.Background(), GPUOptions{Pairs: 2, Seed: 70008, Workers: 2, Every: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	for _, m := range r.Missing {
		t.Log("without", m)
	}
	if r.Missing == nil && (r.PoCL == 0 || r.Oclgrind == 0 || r.Clang == 0) {
		t.Errorf("%d runs on PoCL, %d under Oclgrind, %d kernels compiled by clang", r.PoCL, r.Oclgrind, r.Clang)
	}
}

// subtract turns the first sum of real numbers in every kernel into a
// difference.
func subtract(m *kernel.Module) {
	for _, k := range m.Kernels {
		found := false
		kernel.WalkStmts(k.Body, nil, func(root kernel.Expr) {
			kernel.Walk(root, func(e kernel.Expr) {
				if b, ok := e.(*kernel.Binary); ok && !found && b.Op == op.Add && b.X.Type().IsFloat() {
					b.Op, found = op.Sub, true
				}
			})
		})
	}
}

// Kernels that compute something else, or forget a barrier, are found, and the
// program that shows it is small.
func TestWrongKernelsAreFound(t *testing.T) {
	t.Parallel()
	p := &gpuProver{GPUOptions: GPUOptions{Pairs: 4, Seed: 70010, Workers: 2}, spoil: &spoiler{module: subtract}}
	r, err := p.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) == 0 {
		t.Fatal("the proof holds although the kernels are wrong")
	}
	for _, f := range r.Failures {
		pair, err := newPair(f.Seed, false, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Source) > len(pair.source)/2 {
			t.Errorf("seed %d: %d characters are left of %d:\n%s", f.Seed, len(f.Source), len(pair.source), f.Source)
		}
		if !strings.Contains(f.Reason, "should be") || len(f.Set) == 0 || !strings.Contains(f.Plan, "family=") {
			t.Errorf("seed %d: %s", f.Seed, f.String())
		}
	}
}

// A proof that is interrupted says how far it has come.
func TestProofIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	p := &gpuProver{GPUOptions: GPUOptions{Pairs: 1000, Seed: 70020, Workers: 2}}
	n := 0
	var mu sync.Mutex
	p.spoil = &spoiler{module: func(*kernel.Module) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 12 {
			stop()
		}
	}}
	r, err := p.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pairs > 12 || len(r.Failures) > 0 || r.NextSeed != 70020+uint64(r.Pairs) {
		t.Errorf("%d pairs, %d failures, next %d", r.Pairs, len(r.Failures), r.NextSeed)
	}
}

// Tiles are what blocks compute, and sizes have three of them.
func TestTiles(t *testing.T) {
	axes := []string{"k", "j", "i"}
	for _, c := range []struct {
		config string
		want   []int64
	}{
		{"family=cells,block=4x32", []int64{1, 4, 32}},
		{"family=tile,block=2x4x32,vec=2,rows=2x1,repeat=1x2x4", []int64{4, 8, 256}},
		{"family=planes,stream=k,block=4x32,rows=2,vec=4,chunk=16", []int64{16, 8, 128}},
		{"family=planes,stream=k,block=4x32,rows=1,vec=1,chunk=0", []int64{2, 4, 32}},
	} {
		config, err := schedule.ParseConfig(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := tileOf(config, axes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.config, got, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	p, list := lang.Load(diag.NewSource("sizes.loom", `
parameter M = 4, N = 4, P = N+2;
iterator j, i;
double u[M+1,N], v[M+1,P];
boundary u : clamp;
stencil s (v, u) { v[j][i] = 0.3*u[j][i-1] + 0.6*u[j+1][i]; }
s (v, u);
copyin u;
copyout v;
`))
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	s := newSizing(p, nil)
	if s == nil || !slices.Equal(s.lengths, []int64{5, 6}) {
		t.Fatalf("%+v", s)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		set, b, all := s.large([]int64{4, 32}, 1_000_000, rng)
		l := lengths(b)
		if !all || l[0] <= 12 || l[0] >= 16 || l[1] <= 96 || l[1] >= 128 {
			t.Errorf("%v: %v", set, l)
		}
	}
	// With little work, few tiles.
	if _, b, all := s.large([]int64{4, 32}, 600, rng); all || b != nil && s.work(b, []int64{4, 32}) > 600 {
		t.Error("too much work")
	}
}
