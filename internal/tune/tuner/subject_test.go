package tuner

import (
	"strings"
	"testing"
)

// What a program moves at least is every grid of every run of a call once, also in loops of loops.
func TestMoved(t *testing.T) {
	const run = (510*510 + 512*512) * 8 // bytes: what is stored, and all that is loaded
	nested := strings.Replace(plane, "iterate 10 {", "iterate 3 { iterate 10 {", 1) + "five (next, u); }"
	for want, source := range map[float64]string{10 * run: plane, 33 * run: nested} {
		if got := Moved(program(t, source)); got != want {
			t.Errorf("%v bytes, and not %v:%s", got, want, source)
		}
	}
}
