package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// pieces prints what statements are cut in along the first axis: where each
// piece is ready, and in braces what it waits for how long.
func pieces(p *ir.Program, s *ir.Call) string {
	r, err := transform.Retime(p, s.Body, 0, func(st *ir.Stmt) bool { return st.Temp == nil })
	if err != nil {
		return err.Error()
	}
	names := map[*transform.Piece]string{}
	var list []string
	for i, q := range r.Pieces {
		name := fmt.Sprintf("#%d", i)
		if q.Stmt != nil {
			name = q.Stmt.Array.Name
		}
		names[q] = name
		var uses []string
		for _, u := range q.Uses {
			uses = append(uses, fmt.Sprintf("%s after %d", names[u], q.Ready-u.Ready))
		}
		text := fmt.Sprintf("%d: %s = %s", q.Ready, name, p.InfixExpr(q.Value))
		if len(uses) > 0 {
			text += " {" + strings.Join(uses, ", ") + "}"
		}
		list = append(list, text)
	}
	if r.Early == (len(r.Pieces) == 1) {
		return fmt.Sprintf("early is %v with %d pieces", r.Early, len(r.Pieces))
	}
	return strings.Join(list, " | ")
}

func TestRetime(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		// An accumulator for each plane of a sum in their order.
		{"w[j][i] = u[j-1][i-1] + u[j-1][i+1] + (u[j][i-1] + u[j][i+1]) + u[j+1][i];",
			"-1: #0 = u[j-1][i-1] + u[j-1][i+1] | 0: #1 = part + (u[j][i-1] + u[j][i+1]) {#0 after 1} | 1: w = part " +
				"+ u[j+1][i] {#1 after 1}"},
		// A cell takes no more room than what is made of it.
		{"w[j][i] = 2*u[j-1][i] + u[j+1][i];", "1: w = 2 * u[j-1][i] + u[j+1][i]"},
		{"w[j][i] = u[j+1][i] + r*(u[j-1][i] - u[j][i]);",
			"0: #0 = u[j-1][i] - u[j][i] | 1: w = u[j+1][i] + r * part {#0 after 1}"},
		// What comes after a higher plane in a sum waits for it.
		{"w[j][i] = u[j+1][i] + u[j-1][i] + u[j-1][i+1];", "1: w = u[j+1][i] + u[j-1][i] + u[j-1][i+1]"},
		// Any operation, of any statement.
		{"w[j][i] = max(u[j-1][i], u[j-1][i+1])*u[j+2][i];",
			"-1: #0 = max(u[j-1][i], u[j-1][i+1]) | 2: w = part * u[j+2][i] {#0 after 3}"},
		{"w[j][i] = u[j-1][i]*v[j-1][i]; x[j][i] = u[j+1][i];",
			"-1: #0 = u[j-1][i] * v[j-1][i] | 1: w = part {#0 after 2} | 1: x = u[j+1][i]"},
		// Temps are computed when they are ready; those that read no plane stay what they are.
		{"double d = u[j-1][i] + u[j][i], c = 2*i; w[j][i] = c*d + d*u[j+1][i];",
			"0: #0 = u[j-1][i] + u[j][i] | 1: w = c * d + d * u[j+1][i] {#0 after 1}"},
		{"double d = u[j-1][i]; w[j][i] = d + u[j-1][i+1] + u[j+1][i];",
			"-1: #0 = u[j-1][i] | -1: #1 = d + u[j-1][i+1] {#0 after 0} | 1: w = part + u[j+1][i] {#1 after 2}"},
		// Equal parts are one.
		{"w[j][i] = (u[j-1][i] + u[j-1][i+1])*(u[j-1][i] + u[j-1][i+1] + u[j+1][i]);",
			"-1: #0 = u[j-1][i] + u[j-1][i+1] | 1: w = part * (part + u[j+1][i]) {#0 after 2}"},
		// What no plane decides is computed with the rest.
		{"w[j][i] = (u[0][i] + u[0][i+1])*u[j+1][i];", "1: w = (u[0][i] + u[0][i+1]) * u[j+1][i]"},
	} {
		p := load(t, strings.Replace(head, "w[", "x[M,N], w[", 1)+c.body+tail)
		if got := pieces(p, p.Calls[0]); got != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.body, got, c.want)
		}
	}
}

// A temp that another kernel computes may not be there yet.
func TestRetimeForeign(t *testing.T) {
	p := load(t, head+"double d = u[j-1][i]; w[j][i] = d + u[j+1][i];"+tail)
	_, err := transform.Retime(p, p.Calls[0].Body[1:], 0, func(*ir.Stmt) bool { return true })
	if err == nil || err.Error() != "w[j][i] = d + u[j+1][i] reads d, which another kernel computes" {
		t.Error(err)
	}
}

// TestRetimeOfManyPaths: temps that read the two before them are reached along
// as many paths as the Fibonacci numbers say, and are each cut once.
func TestRetimeOfManyPaths(t *testing.T) {
	const temps = 90
	var body strings.Builder
	body.WriteString("double t0 = u[j-1][i], t1 = u[j-1][i+1];\n")
	for q := 2; q < temps; q++ {
		fmt.Fprintf(&body, "double t%d = 0.5*t%d + 0.25*t%d;\n", q, q-1, q-2)
	}
	fmt.Fprintf(&body, "w[j][i] = t%d + u[j+1][i];\n", temps-1)
	p := load(t,
		"parameter N = 20; iterator j, i; double u[N,N], w[N,N]; stencil s (w, u) {\n"+body.String()+"}\ns (w, u);")
	r, err := transform.Retime(p, p.Calls[0].Body, 0, func(st *ir.Stmt) bool { return st.Temp == nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Pieces) != temps+1 {
		t.Errorf("%d pieces of %d temps and a grid", len(r.Pieces), temps)
	}
}
