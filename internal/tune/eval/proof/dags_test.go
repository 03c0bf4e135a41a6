package proof

import (
	"encoding/json"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// Graphs of statements compute the same after random fissions and fusions, of which all kinds are among few seeds.
func TestDAGs(t *testing.T) {
	t.Parallel()
	r := DAGs(t.Context(), DAGOptions{Pairs: 17, Seed: 2100})
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	kinds := map[string]int{}
	for _, k := range r.Kinds.Values {
		kinds[k.Value] = k.Times
	}
	if r.Pairs < 10 || r.Cells < 100_000 || r.Carried < 10 || r.NextSeed != 2117 || kinds[gapsKind] < 1 ||
		kinds[setsKind] < 2 || kinds[fissionKind] < 1 {
		t.Errorf("%+v", r)
	}
}

// Values that are shared across cells leave all bits as they were, in kernels of several families.
func TestSharedValues(t *testing.T) {
	t.Parallel()
	r := DAGs(t.Context(), DAGOptions{Pairs: 6, Seed: 100, Fission: "cire"})
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	if r.Pairs < 6 || r.Carried < 2 {
		t.Errorf("%+v", r)
	}
}

// A proof that goes on comes to the same as one without a break.
func TestDAGsGoOn(t *testing.T) {
	t.Parallel()
	o := DAGOptions{Pairs: 2, Seed: 2004}
	whole := DAGs(t.Context(), o)
	o.Pairs = 1
	first := DAGs(t.Context(), o)
	o.Seed = first.NextSeed
	second := DAGs(t.Context(), o)
	if err := second.After(first); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, r := range []*DAGResult{whole, second} {
		r.Seconds = 0
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\n%s", texts[0], texts[1])
	}
	if err := second.After(whole); err == nil {
		t.Error("a proof goes on from one that ended elsewhere")
	}
}

// Launches of a set of calls that are in a wrong order, or left out, are found.
func TestWrongDAGsAreFound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *kernel.Span){
		"the last launch is left out": func(s *kernel.Span) { s.Launches = s.Launches[:len(s.Launches)-1] },
		"in the opposite order": func(s *kernel.Span) {
			for i, j := 0, len(s.Launches)-1; i < j; i, j = i+1, j-1 {
				s.Launches[i], s.Launches[j] = s.Launches[j], s.Launches[i]
			}
		},
		"spares take no grid's place": func(s *kernel.Span) { s.Exchanges = nil },
	} {
		changed := 0
		r := DAGs(t.Context(), DAGOptions{Pairs: 4, Seed: 2021, spoil: func(m *kernel.Module) {
			for _, s := range m.Spans {
				if len(s.Launches) > 1 && len(s.Exchanges) > 0 {
					spoil(s)
					changed++
				}
			}
		}})
		if changed < 2 || len(r.Failures) < changed {
			t.Errorf("%s: %d spans are changed, and %d pairs fail", name, changed, len(r.Failures))
		}
	}
}
