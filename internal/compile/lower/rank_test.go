package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
)

// manyAxes is a program over any number of axes, with every kind of edge.
func manyAxes(rank int) string {
	axes := []string{"p", "o", "n", "m", "l", "k", "j", "i"}[8-rank:]
	sizes := strings.TrimSuffix(strings.Repeat("N,", rank), ",")
	here := "[" + strings.Join(axes, "][") + "]"
	var sum strings.Builder
	for _, a := range axes {
		fmt.Fprintf(&sum, " + u%s - u%s", strings.Replace(here, a, a+"-1", 1), strings.Replace(here, a, a+"+1", 1))
	}
	return fmt.Sprintf(`
parameter N = 3;
iterator %[1]s;
double u[%[2]s], v[%[2]s], total;
boundary u : periodic on %[3]s, clamp on %[4]s.low, mirror on %[4]s.high;
copyin u, v;
stencil spread (v, u, total) {
  v%[5]s = 0.5*u%[5]s%[6]s;
  reduce sum total = v%[5]s;
}
iterate 2 { spread (v, u, total); swap (u, v); }
copyout u, total;
`, strings.Join(axes, ", "), sizes, axes[0], axes[rank-1], here, sum.String())
}

// A grid may have as many as eight axes.
func TestRanks(t *testing.T) {
	for rank := 1; rank <= 8; rank++ {
		text := manyAxes(rank)
		if rank == 1 {
			text = strings.Replace(text, "periodic on i, ", "", 1)
		}
		text = strings.ReplaceAll(text, "boundary u", "boundary u, v")
		b := bind(t, load(t, "axes", text), "")
		for _, w := range []way{
			{target: lower.CPU, strict: true, plan: plan(t, "threads=2")},
			{target: lower.CPU, strict: false, plan: plan(t, "")},
			{target: lower.GPU, strict: true, plan: plan(t, "")},
		} {
			if err := check(b, w, 1); err != nil {
				t.Errorf("%d axes: %v", rank, err)
			}
		}
	}
}

// axes returns so many names.
func axes(rank int) []string { return strings.Split("abcdefgh", "")[:rank] }

func TestSpaces(t *testing.T) {
	for rank := 0; rank <= 8; rank++ {
		for _, target := range []lower.Target{lower.CPU, lower.GPU} {
			if err := lower.Space(target, axes(rank)).Verify(); err != nil {
				t.Errorf("target %d, %d axes: %v", target, rank, err)
			}
		}
	}
	for _, c := range []struct {
		target lower.Target
		rank   int
		want   string // the number of configurations, and the default
	}{
		{lower.CPU, 0, "1 family=single"},
		{lower.CPU, 1, "140 family=loops,block=0,threads=0"},
		{lower.CPU, 2, "1400 family=loops,block=0x0,threads=0"},
		{lower.CPU, 3, "14000 family=loops,block=0x0x0,threads=0"},
		{lower.CPU, 4, "14000 family=loops,block=0x0x0x0,threads=0"},
		{lower.GPU, 0, "1 family=single"},
		{lower.GPU, 1, "54149 family=cells,block=256"},
		{lower.GPU, 2, "80155350 family=cells,block=8x32"},
		{lower.GPU, 3, "1526391176 family=cells,block=8x32"},
		{lower.GPU, 5, "13492616 family=cells,block=8x32"},
	} {
		space := lower.Space(c.target, axes(c.rank))
		if got := fmt.Sprintf("%v %v", space.Count(), space.Default("")); got != c.want {
			t.Errorf("target %d, %d axes: %s, want %s", c.target, c.rank, got, c.want)
		}
	}
}
