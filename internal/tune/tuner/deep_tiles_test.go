package tuner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const solid = `
parameter L = 256, M = 256, N = 256;
iterator k, j, i;
float u[L,M,N], next[L,M,N];
stencil seven (out, in) {
  out[k][j][i] = 0.4*in[k][j][i] + 0.1*in[k][j][i-1] + 0.11*in[k][j][i+1] + 0.12*in[k][j-1][i] + 0.08*in[k][j+1][i]
    + 0.09*in[k-1][j][i] + 0.1*in[k+1][j][i];
}
iterate 100 { seven (next, u); swap (next, u); }
`

// In three dimensions a search begins with the tiles that the model predicts to be fast, whatever the seeds are, and
// with the best of them in all forms.
func TestTilesByForecast(t *testing.T) {
	decides(t)
	b := program(t, solid)
	s := newScripted(t, b, byDepth(map[int]float64{4: 0.5}))
	o := deepOptions(t, s, b, 60)
	o.Lab, o.MaxDepth, o.Plan, o.Strategy = h200(t, s), 4, plan(t, "seven[0:1]@1{family=cells}"), usualStrategy
	r := tune(t, o)
	i := slices.IndexFunc(r.Kernels, func(k KernelResult) bool { return strings.HasSuffix(k.Kernel, "@4") })
	if i < 0 {
		t.Fatalf("depth 4 was not tried: %v", depthsOf(r))
	}
	tiles, forms := map[string]int{}, map[string]bool{}
	for _, o := range r.Kernels[i].Trials {
		c, err := schedule.ParseConfig(o.Config)
		if err != nil {
			t.Fatal(err)
		}
		if c.Family != tileFamily {
			continue
		}
		text := func(names ...string) string {
			var list []string
			for _, n := range names {
				v, _ := c.Get(n)
				list = append(list, v.String())
			}
			return strings.Join(list, " ")
		}
		tiles[text("block", tileParam)]++
		forms[text("chunk", "rims", "rimvec", "rimless", "rimtiles")] = true
	}
	most := 0
	for _, n := range tiles {
		most = max(most, n)
	}
	if len(tiles) < 6 || most < len(tileForms) {
		t.Errorf("tiles %v", tiles)
	}
	for _, want := range []string{
		"0 step 4 common edge", "0 rows 1 common edge", "0 step 4 own edge", "256 step 4 common all",
	} {
		if !forms[want] {
			t.Errorf("%s is not among %v", want, forms)
		}
	}
}

// Each form is in the space of a kernel of several iterations: a setting that has another name now would be left out.
func TestTileForms(t *testing.T) {
	b := program(t, solid)
	o := lower.Options{Target: lower.GPU, Sized: true, Bound: b}
	choice, err := lower.SpanChoice(b.Program, o, graph.Loops(b.Program)[0], 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range append(slices.Clone(tileForms), spanSeeds[3]...) {
		if !strings.HasPrefix(form, "family=") {
			form = tileText("8x32", "4x2", form)
		}
		c, err := schedule.ParseConfig(form)
		if err != nil {
			t.Fatal(err)
		}
		if full, err := choice.Space.Complete(c); err != nil || !contains(full, c) {
			t.Errorf("%s: %s, %v", form, full, err)
		}
	}
}

// contains reports whether a configuration has all settings of another.
func contains(full, c schedule.Config) bool {
	return !slices.ContainsFunc(c.Values, func(s schedule.Setting) bool {
		v, ok := full.Get(s.Name)
		return !ok || !v.Equal(s.Value)
	})
}

// Where nothing keeps its rim, what says how rims are put in place is not searched, and seeds lose that alone.
func TestNoRims(t *testing.T) {
	clamped := strings.Replace(solid, "stencil", "boundary u, next : clamp;\nstencil", 1)
	elsewhere, err := schedule.ParseConfig("family=pipe,block=8x32,cells=3x2,chunk=256,rims=step,rimless=own")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]string{}
	for _, source := range []string{solid, clamped} {
		b := program(t, source)
		s, err := newSubject(b, h200(t, newScripted(t, b, smooth)), false)
		if err != nil {
			t.Fatal(err)
		}
		tuned := &tuning{subject: s, result: &Result{}, clock: time.Now}
		tuned.findLoops()
		if len(tuned.loops) != 1 {
			t.Fatal(tuned.result.Loops)
		}
		l := tuned.loops[0]
		c, err := l.choice(4)
		if err != nil {
			t.Fatal(err)
		}
		family := c.Space.Family(tileFamily)
		got := ""
		for _, name := range []string{"rims", "rimvec", "rimtiles", "rimless"} {
			got += fmt.Sprint(len(family.Param(name).Values), " ")
		}
		k := l.kernelOf(c, l.loop.span(s, 4, 0))
		seed, ok := k.space.Schedule().NearSeed(tileText("8x32", "4x2", tileForms[3]))
		sizes[source] = got + fmt.Sprint(ok, " ", seed)
		// What was the best of a program with rims is a start of one without, and the other way round.
		k.starts = []schedule.Config{elsewhere}
		if n := len(k.good()); n == 0 || !strings.Contains(k.space.Text(k.good()[0]), "cells=3x2") {
			t.Errorf("%d starts, none of them %s", n, elsewhere)
		}
	}
	for source, want := range map[string]string{
		solid: "2 3 2 2 true family=pipe,block=8x32,cells=4x2,chunk=256,stages=2,pointwise=prefetch,persistent=0," +
			"sizes=literals,registers=0,barrier=split,rims=step,rimvec=4,rimtiles=all,rimless=common,cluster=1",
		clamped: "1 1 1 1 true family=pipe,block=8x32,cells=4x2,chunk=256,stages=2,pointwise=prefetch,persistent=0," +
			"sizes=literals,registers=0,barrier=split,rims=rows,rimvec=4,rimtiles=edge,rimless=common,cluster=1",
	} {
		if sizes[source] != want {
			t.Errorf("%s, not %s", sizes[source], want)
		}
	}
}
