package tuner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// setsText is calls outside of loops.
const setsText = `
parameter M = 510, N = 512;
iterator j, i;
double a[M,N], b[M,N], c[M,N], d[M,N], e[M,N];
copyin a, c;
copyout b, d, e, a, c;
stencil five (out, in) { out[j][i] = 0.25*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]); }
stencil both (out, x, y) { out[j][i] = x[j][i]*y[j][i]; }
%s
`

const interleaved = "five (b, a); five (d, c); five (a, b); five (c, d);"

// timesOf returns times by which part of a kernel's text a plan has; other kernels take a millisecond each.
func timesOf(list ...any) func(plan string) (float64, error) {
	return func(plan string) (float64, error) {
		for i := 0; i < len(list); i += 2 {
			if strings.Contains(plan, list[i].(string)) {
				return list[i+1].(float64), nil
			}
		}
		return 1e-3 * float64(strings.Count(plan, "{")), nil
	}
}

// Calls that have nothing to do with each other are tried in sets, and the plan has what is faster: one kernel of all
// calls, the sets, or single calls. The program's time is that of its parts.
func TestSetsOfCalls(t *testing.T) {
	decides(t)
	b := program(t, fmt.Sprintf(setsText, interleaved))
	for _, c := range []struct {
		whole, set float64
		want       string
		seconds    float64
	}{
		{3e-3, 1.2e-3, "sequence[0,2]@1{ sequence[1,3]@1{", 2.4e-3},
		{2e-3, 1.2e-3, "sequence[0:4]@1{", 2e-3},
		{5e-3, 2.5e-3, "", 4e-3},
	} {
		s := newScripted(t, b, timesOf("sequence[0:4]", c.whole, "sequence[0:2]", c.set))
		o := deepOptions(t, s, b, 120)
		o.Plan = plan(t, "family=cells")
		r := tune(t, o)
		var loops []string
		for _, l := range r.Loops {
			loops = append(loops, l.Loop)
		}
		if !slices.Equal(loops, []string{"sequence[0:4]", "sequence[0,2]", "sequence[1,3]"}) {
			t.Errorf("%q", loops)
		}
		var has []string
		for part := range strings.SplitSeq(r.Best, ";") {
			if kernel, _, _ := strings.Cut(part, "{"); strings.HasPrefix(kernel, "sequence") {
				has = append(has, kernel+"{")
			}
		}
		if got := strings.Join(has, " "); got != c.want {
			t.Errorf("%+v: %s", c, r.Best)
		}
		if s := r.Contenders[0].Seconds; s < 0.99*c.seconds || s > 1.01*c.seconds {
			t.Errorf("%+v: %s takes %g s", c, r.Best, s)
		}
	}
}

// Where kernels of all calls spill, sets of half of the statements are tried. Where memory does not bind them, all
// statements but those of a call are. Else kernels of all get the whole time.
func TestSetsWhereKernelsHaveAFault(t *testing.T) {
	decides(t)
	b := program(t, fmt.Sprintf(setsText, "five (b, a); both (d, b, a); both (e, d, b); five (c, e);"))
	for _, c := range []struct {
		spills int
		whole  float64
		loops  string
		best   string // sets
	}{
		{64, 3e-3, "[0:4] [0:2] [2:4]", "[0:2] [2:4]"},
		{0, 3e-3, "[0:4] [0:3]", "[0:3]"},
		{0, 1.3e-4, "[0:4]", "[0:4]"}, // 40 bytes for each of 261,120 cells at 80 GB/s, where a copy has 100
		{64, 1.3e-4, "[0:4] [0:2] [2:4]", "[0:4]"},
	} {
		s := newScripted(t, b, timesOf("sequence[0:4]", c.whole, "sequence[0:2]", 1.3e-3, "sequence[0:3]", 1.4e-3))
		s.spills = func(plan string) int {
			if strings.Contains(plan, "sequence[0:4]") {
				return c.spills
			}
			return 0
		}
		o := deepOptions(t, s, b, 120)
		o.Plan = plan(t, "family=cells")
		r := tune(t, o)
		var loops, best []string
		for _, l := range r.Loops {
			loops = append(loops, strings.TrimPrefix(l.Loop, "sequence"))
			if strings.Contains(r.Best, l.Loop+"@1{") {
				best = append(best, strings.TrimPrefix(l.Loop, "sequence"))
			}
		}
		if got := strings.Join(loops, " "); got != c.loops {
			t.Errorf("%+v: %s are searched", c, got)
		}
		if got := strings.Join(best, " "); got != c.best {
			t.Errorf("%+v: %s", c, r.Best)
		}
	}
}

// A plan that names sets has these alone searched, within what it says of them.
func TestNamedSets(t *testing.T) {
	b := program(t, fmt.Sprintf(setsText, interleaved))
	s := newScripted(t, b, timesOf("sequence[0:2]", 1.2e-3))
	o := deepOptions(t, s, b, 60)
	o.Plan = plan(t, "five[0:1]@1{family=cells};five.2[0:1]@1{family=cells};five.3[0:1]@1{family=cells};"+
		"five.4[0:1]@1{family=cells};sequence[1,3]@1{family=overlap}")
	r := tune(t, o)
	if !strings.Contains(r.Best, "sequence[1,3]@1{family=overlap,") || strings.Contains(r.Best, "sequence[0") {
		t.Error(r.Best)
	}
	if c := r.Contenders[0]; c.Seconds < 3.19e-3 || c.Seconds > 3.21e-3 {
		t.Errorf("%+v", c)
	}
}
