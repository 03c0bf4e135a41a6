package transform_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		body  string
		saved int
		want  string
	}{
		{"w[j][i] = r*u[j][i-1] + 2*u[j][i] + r*u[j][i+1];", 1, "r * (u[j][i-1] + u[j][i+1]) + 2 * u[j][i]"},
		{"w[j][i] = 2*u[j][i-1] - 2*u[j][i+1];", 1, "2 * (u[j][i-1] - u[j][i+1])"},
		{"w[j][i] = -2*u[j][i-1] + v[j][i] + 2*u[j][i+1];", 1, "-(2 * (u[j][i-1] - u[j][i+1])) + v[j][i]"},
		{"w[j][i] = u[j][i]*(r*2) - (v[j][i] - r*2*u[j+1][i]*v[j][i]);", 1,
			"r * 2 * (u[j][i] + u[j+1][i] * v[j][i]) - v[j][i]"},
		{"w[j][i] = r*u[j][i-1] + r*u[j][i+1] + r*u[j-1][i] + r*u[j+1][i];", 3,
			"r * (u[j][i-1] + u[j][i+1] + u[j-1][i] + u[j+1][i])"},
		{"w[j][i] = max(r*u[j][i-1] + r*u[j][i+1], v[j][i]);", 1, "max(r * (u[j][i-1] + u[j][i+1]), v[j][i])"},
		{"w[j][i] = 2*(r*u[j][i-1] + r*u[j][i+1]) + 2*v[j][i];", 1, "2 * (r * (u[j][i-1] + u[j][i+1])) + 2 * v[j][i]"},
		{"w[j][i] = 2*3*r - 2*u[j][i] - 2*v[j][i] + -2*r;", 1, "6 * r - 2 * (u[j][i] + v[j][i]) + -2 * r"},
		{"w[j][i] = 2*u[j][i-1] + 3*u[j][i+1];", 0, "2 * u[j][i-1] + 3 * u[j][i+1]"},
		{"w[j][i] = u[j][i-1] + u[j][i+1] + 2 + r;", 0, "u[j][i-1] + u[j][i+1] + 2 + r"},
		{"w[j][i] = u[j][i]*u[j][i-1] + u[j][i]*u[j][i+1];", 0, "u[j][i] * u[j][i-1] + u[j][i] * u[j][i+1]"},
	} {
		p := load(t, head+c.body+tail)
		got, saved := transform.Fold(p, p.Calls[0].Body[0].Value)
		if text := p.InfixExpr(got); text != c.want || saved != c.saved {
			t.Errorf("%s\n%d: %s\nwant\n%d: %s", c.body, saved, text, c.saved, c.want)
		}
	}
}

// Folded programs stay within the bounds of fast arithmetic.
func TestFoldRandomPrograms(t *testing.T) {
	total := 0
	for seed := range uint64(400) {
		c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%5)})
		if err != nil {
			t.Fatal(err)
		}
		p, before := c.Program, total
		q, err := transform.Program(p, func(s *ir.Call) (*ir.Call, error) {
			next := *s
			next.Body = nil
			for _, st := range s.Body {
				clone := *st
				var saved int
				clone.Value, saved = transform.Fold(p, st.Value)
				total += saved
				next.Body = append(next.Body, &clone)
			}
			return &next, nil
		})
		if err == nil && total > before {
			if err = ir.Verify(q); err == nil {
				b, _ := p.Bind(c.Sets[0])
				err = within(p, q, b, seed)
			}
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
		}
	}
	if total < 20 {
		t.Errorf("only %d multiplications were saved", total)
	}
}
