package proof

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// A slice of the proof of spans with fixed seeds: nearly all pairs carry out what their plan
// has, at depths of all kinds.
func TestRandomSpans(t *testing.T) {
	t.Parallel()
	n := 12
	if testing.Short() {
		n = 6
	}
	r, err := GPU(context.Background(), GPUOptions{Pairs: n, Seed: 70500, Workers: 2, Spans: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	s := r.Spans
	if s.Pairs < n*3/4 || s.Runs < s.Pairs || s.Carried < s.Runs || len(s.Depths.Values) < 3 ||
		len(s.Families.Values) < 3 { // overlap, pipe and resident
		t.Errorf("%d pairs, %+v", r.Pairs, s)
	}
	for _, c := range s.Met { // boundaries, exchanges, iterations, rounds and lengths of several kinds
		if len(c.Values) < 2 {
			t.Errorf("%s: %v alone", c.Name, c.Values)
		}
	}
	if len(s.Met) != 5 {
		t.Errorf("%+v", s.Met)
	}
}

// Without spans there is no result of them; two results of spans add up.
func TestSpansAddUp(t *testing.T) {
	first := &GPUResult{FirstSeed: 1, NextSeed: 3, Spans: &SpanResult{Pairs: 2, Runs: 5, Idle: 1, Carried: 9}}
	first.Spans.Depths.add("4")
	second := &GPUResult{FirstSeed: 3, NextSeed: 4, Spans: &SpanResult{Pairs: 1, Runs: 2, Carried: 2}}
	second.Spans.Depths.add("4")
	first.Spans.Met = []Counts{{Name: "length", Values: []Count{{"1", 2}}}}
	second.Spans.Met = []Counts{{Name: "length", Values: []Count{{"1", 3}, {"prime", 1}}}}
	first.Set, second.Set = versions.Current(), versions.Current()
	if err := second.After(first); err != nil {
		t.Fatal(err)
	}
	s := second.Spans
	if s.Pairs != 3 || s.Runs != 7 || s.Idle != 1 || s.Carried != 11 || s.Depths.Values[0].Times != 2 {
		t.Errorf("%+v", s)
	}
	if v := s.Met[0].Values; len(s.Met) != 1 || len(v) != 2 || v[0].Times != 5 || v[1].Times != 1 {
		t.Errorf("%+v", s.Met)
	}
	if err := (&GPUResult{FirstSeed: 4, Set: versions.Current()}).After(second); err == nil {
		t.Error("a proof without spans goes on from one with spans")
	}
}

// withoutBarriers removes the barriers from the kernels of spans.
func withoutBarriers(m *kernel.Module) {
	var without func(list []kernel.Stmt) []kernel.Stmt
	without = func(list []kernel.Stmt) []kernel.Stmt {
		var out []kernel.Stmt
		for _, s := range list {
			switch s := s.(type) {
			case *kernel.Barrier:
				continue
			case *kernel.Loop:
				s.Body = without(s.Body)
			case *kernel.If:
				s.Then, s.Else = without(s.Then), without(s.Else)
			}
			out = append(out, s)
		}
		return out
	}
	for _, span := range m.Spans {
		for _, l := range span.Launches {
			l.Kernel.Body = without(l.Kernel.Body)
		}
	}
}

// withoutExchanges leaves what spans store in spares: they change places twice.
func withoutExchanges(m *kernel.Module) {
	for _, s := range m.Spans {
		s.Exchanges = append(s.Exchanges, s.Exchanges...)
	}
}

// inPlace stores to the memory that other blocks read.
func inPlace(m *kernel.Module) {
	for _, s := range m.Spans {
		for _, l := range s.Launches {
			for i, a := range l.Args {
				if x, ok := a.(kernel.SpareArg); ok {
					l.Args[i] = kernel.GridArg{Grid: x.Spare.Like}
				}
			}
		}
		s.Exchanges = nil
	}
}

// late carries out spans where no iterations are left to compute what they do not store.
func late(m *kernel.Module) {
	for _, s := range m.Spans {
		s.After = 0
	}
}

// deeper says that spans stand for an iteration more than they do.
func deeper(m *kernel.Module) {
	for _, s := range m.Spans {
		s.Depth++
	}
}

// narrow makes the first halo that there is too small by one.
func narrow(p *pipeline.Pipeline) {
	for _, st := range p.Stages {
		for k := range st.Halo {
			switch h := &st.Halo[k]; {
			case h.Low > 0:
				h.Low--
				return
			case h.High > 0:
				h.High--
				return
			}
		}
	}
}

// Spans whose kernels lack barriers, store to the wrong memory, have too small halos or stand
// for other iterations than they compute are found.
func TestWrongSpansAreFound(t *testing.T) {
	t.Parallel()
	var pairs []*pair
	for _, seed := range []uint64{70446, 70447, 70448, 70449, 70450, 70451, 70469, 70472, 70473, 70474, 70476, 70477} {
		p, err := newPair(seed, false, true)
		if err != nil {
			t.Fatal(err)
		}
		p.sizes = p.sizes[len(p.sizes)-1:] // spans are carried out there
		if said := p.simulate(t.Context(), p.sizes[0], &pairResult{}); said != "" {
			t.Fatalf("seed %d: %s", seed, said)
		}
		pairs = append(pairs, p)
	}
	for _, c := range []struct {
		name  string
		spoil spoiler
		least int // of the pairs are found to be wrong
	}{
		{"barriers", spoiler{module: withoutBarriers}, 2},
		{"exchanges", spoiler{module: withoutExchanges}, 2},
		{"memory", spoiler{module: inPlace}, 2},
		{"after", spoiler{module: late}, 1}, // few programs have any
		{"depth", spoiler{module: deeper}, 2},
		{"halos", spoiler{pipeline: narrow}, 2},
	} {
		found := 0
		for _, p := range pairs {
			wrong := *p
			wrong.spoil = &c.spoil
			if said := wrong.simulate(t.Context(), p.sizes[0], &pairResult{}); said != "" {
				found++
				t.Logf("%s, seed %d: %s", c.name, p.seed, strings.SplitN(said, "\n", 2)[0])
			}
			if found == c.least {
				break
			}
		}
		if found < c.least {
			t.Errorf("%s: %d pairs are found to be wrong", c.name, found)
		}
	}
}

// Pairs of family pipe in three dimensions have rims that are put in place in every way, late where that can be, and
// clusters.
func TestSpansDrawRims(t *testing.T) {
	t.Parallel()
	want := map[string]bool{
		"rims=rows": true, "rims=step": true, "rimvec=1": true, "rimvec=2": true, "rimvec=4": true,
		"rimless=common": true, "rimless=own": true, "rimtiles=edge": true, "rimtiles=all": true,
		"cluster=1": true, "cluster=2": true, "cluster=4": true,
	}
	late, pairs := 0, 0 // with kernels that have rims in shared memory
	first := slices.IndexFunc(wishes, func(w wish) bool { return w.lateRims })
	for seed := uint64(first); (len(want) > 0 || late < 2) && pairs < 100; seed += uint64(len(wishes)) {
		p, err := newPair(seed, false, true)
		if err != nil {
			t.Fatal(err)
		}
		pairs++
		for _, k := range p.plan.Kernels {
			if !graph.IsLoopName(k.Call) || k.Config.Family != "pipe" {
				continue
			}
			for _, s := range k.Config.Values {
				delete(want, s.Name+"="+s.Value.String())
			}
			m, err := p.lower(p.sizes[0].bound, true, p.plan)
			if err != nil {
				continue // too large for the domain
			}
			for _, s := range m.Spans {
				if strings.Contains(kernel.Text(s.Launches[0].Kernel), "rim_column") {
					late++
				}
			}
		}
	}
	if len(want) > 0 || late < 2 {
		t.Errorf("of %d pairs none has %v, and %d kernels have rims in shared memory", pairs, want, late)
	}
}
