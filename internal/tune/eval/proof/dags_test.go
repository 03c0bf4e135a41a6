package proof

import (
	"testing"
)

func TestDAGsAreEqual(t *testing.T) {
	t.Parallel()
	r := DAGs(t.Context(), DAGOptions{Pairs: 24, Seed: 1000})
	for _, f := range r.Failures {
		t.Error(f.String())
	}
	t.Logf("%+v", r)
}
