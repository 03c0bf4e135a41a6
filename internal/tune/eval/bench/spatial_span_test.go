package bench

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
)

// A plan that names a sequence is timed by the kernel of the sequence, and not by that of the call.
func TestLaunchesOfSequences(t *testing.T) {
	for _, q := range []struct{ plan, name string }{
		{"sequence[0:1]@1{family=planes,block=4x32}", "sequence_1"},
		{plainPlan, "star7"},
	} {
		p, err := findSpatial("star7", "double")[0].program()
		if err != nil {
			t.Fatal(err)
		}
		bound, err := sized(p, caseSizes[3])
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := modules(bound, q.plan, arith.Contract)
		if err != nil {
			t.Fatal(err)
		}
		list, err := launchesOf(m, bound.Program.Calls[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].Kernel.Name != q.name {
			t.Errorf("%s: %d launches, the first of %s, not of %s", q.plan, len(list), list[0].Kernel.Name, q.name)
		}
	}
}
