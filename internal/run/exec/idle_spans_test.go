package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

const idleText = `
parameter N, T;
iterator j, i;
double u[N,N], v[N,N];
boundary u, v : mirror;
copyin u; copyout u;
stencil heat (out, in) { out[j][i] = 0.5*(in[j][i-1] + in[j+2][i]); }
%s`

// Spans that are never carried out are left out of the script, and the reason is known.
func TestIdleSpans(t *testing.T) {
	const flat = "iterate T { heat (v, u); swap (v, u); }"
	const nested = "iterate 3 { iterate T { heat (v, u); swap (v, u); } heat (v, u); }"
	for _, c := range []struct {
		loop, plan string
		n, t       int
		pause      int64
		want       string // depth: reason
	}{
		{flat, "body[0:2]@4{family=pipe}", 8, 9, 0, ""},
		{flat, "body[0:2]@4{family=pipe}", 2, 9, 0, "4: 3 cells along j"},
		{flat, "body[0:2]@4{family=overlap}", 1, 9, 0, ""},
		{flat, "body[0:2]@4{family=overlap}", 8, 5, 0, ""},
		{flat, "body[0:2]@4{family=overlap}", 8, 4, 0, "4: room for 4"},
		{flat, "body[0:2]@4{family=overlap}", 8, 9, 5, ""},
		{flat, "body[0:2]@4{family=overlap}", 8, 9, 4, "4: pause after 4"},
		{flat, "body[0:2]@4{family=overlap};body[0:2]@2{family=pipe}", 8, 9, 3, "4: pause after 3"},
		{flat, "body[0:2]@4{family=overlap};body[0:2]@2{family=pipe}", 2, 4, 2, "4: room for 4, 2: 3 cells along j"},
		{nested, "body[0:2]@4{family=overlap}", 8, 5, 1, ""},
		{nested, "body[0:2]@4{family=overlap}", 8, 4, 1, "4: room for 4"},
	} {
		p, list := lang.Load(diag.NewSource("idle.loom", fmt.Sprintf(idleText, c.loop)))
		if list.HasErrors() {
			t.Fatal(list)
		}
		b, list := p.Bind(map[string]string{"N": fmt.Sprint(c.n), "T": fmt.Sprint(c.t)})
		if list.HasErrors() {
			t.Fatal(list)
		}
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		idle, err := IdleSpans(m, b, c.pause)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		never := 0 // whatever the pauses are
		for _, s := range idle {
			switch {
			case s.Short != nil:
				got = append(got, fmt.Sprintf("%d: %d cells along %s", s.Depth, s.Short.Least, s.Short.Axis))
			case s.Paused:
				got = append(got, fmt.Sprintf("%d: pause after %d", s.Depth, s.Room))
				continue
			default:
				got = append(got, fmt.Sprintf("%d: room for %d", s.Depth, s.Room))
			}
			never++
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s %s with N=%d, T=%d, a pause after %d: %q, not %q", c.loop, c.plan, c.n, c.t, c.pause, text,
				c.want)
		}
		script, err := NewScript(m, b)
		if err != nil {
			t.Fatal(err)
		}
		loop := script.Body[0]
		if c.loop == nested {
			loop = loop.Body[0]
		}
		if n := len(m.Spans) - never; len(loop.Spans) != n {
			t.Errorf("%s with N=%d, T=%d: the script has %d spans, not %d", c.plan, c.n, c.t, len(loop.Spans), n)
		}
	}
}
