package cpu

import (
	"fmt"
	"slices"
	"testing"
)

// Threads wait a while and then sleep, unless the user has said how.
func TestEnvironment(t *testing.T) {
	variables := []string{"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}
	all := fmt.Sprintf("OMP_NUM_THREADS=%d", Threads())
	for _, test := range []struct {
		name, value string
		threads     int
		want        []string
	}{
		{"", "", 0, []string{all, "GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1"}},
		{"", "", 3, []string{"OMP_NUM_THREADS=3", "GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1"}},
		{"OMP_NUM_THREADS", "2", 0, []string{"GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1"}},
		{"OMP_NUM_THREADS", "2", 3, []string{"OMP_NUM_THREADS=3", "GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1"}},
		{"OMP_WAIT_POLICY", "active", 0, []string{all}},
		{"GOMP_SPINCOUNT", "0", 0, []string{all}},
		{"KMP_BLOCKTIME", "infinite", 1, []string{"OMP_NUM_THREADS=1"}},
	} {
		for _, name := range variables {
			t.Setenv(name, "")
		}
		if test.name != "" {
			t.Setenv(test.name, test.value)
		}
		if got := Environment(test.threads); !slices.Equal(got, test.want) {
			t.Errorf("%s=%s: %v, want %v", test.name, test.value, got, test.want)
		}
	}
}
