package sim

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// The verifier refuses this kernel; a run says so as well.
func TestShuffleOfSomeThreads(t *testing.T) {
	k, err := kernel.ParseText(`(kernel k
	  (for t i64 thread.x (i64 0) (i64 64) (i64 1)
	    (if (lt t (i64 40))
	      (then
	        (shuffle left i64 up t (i32 1))))))`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compile(k).Run(Args{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "k/for t/if/then/shuffle left: thread 40,0,0 of block 0,0,0 does not come to this shuffle " +
		"(thread 32,0,0 of block 0,0,0)"
	if len(r.Faults) != 1 || r.Faults[0].Kind != PartialWarp || r.Faults[0].String() != want {
		t.Errorf("got %v, want %s", r.Faults, want)
	}
}
