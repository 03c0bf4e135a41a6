package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// planes prints what a statement is decomposed into along the first axis.
func planes(p *ir.Program, s *ir.Call, st *ir.Stmt) string {
	list, err := transform.Decompose(p, s, st, 0)
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, q := range list {
		parts = append(parts, fmt.Sprintf("%d: %s", q.Offset, p.InfixExpr(q.Value)))
	}
	return strings.Join(parts, " | ")
}

func TestDecompose(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"w[j][i] = r*(u[j-1][i] + u[j][i+1]) - u[j+1][i];", "-1: r * u[j][i] | 0: r * u[j][i+1] | 1: -u[j][i]"},
		{"w[j][i] = u[j+1][i] - 2*u[j][i] + u[j-1][i] + u[j][i-1];",
			"-1: u[j][i] | 0: -(2 * u[j][i]) + u[j][i-1] | 1: u[j][i]"},
		{"w[j][i] = u[j+1][i]*v[j+1][i-1] + sqrt(u[j-1][i]);", "-1: sqrt(u[j][i]) | 1: u[j][i] * v[j][i-1]"},
		{"w[j][i] = (u[j-1][i] + u[j+1][i])/(1 + u[0][i]) + 3;",
			"-1: u[j][i] / (1 + u[0][i]) + 3 | 1: u[j][i] / (1 + u[0][i])"},
		{"w[j][i] = (u[j-1][i] + 2)*(u[j-1][i] - v[j][i]*0 - 1);",
			"w[j][i] = (u[j-1][i] + 2) * (u[j-1][i] - v[j][i] * 0 - 1) reads several planes of j in (u[j-1][i] + 2) " +
				"* -(v[j][i] * 0), which is no sum of parts"},
		{"w[j][i] = (u[j-1][i] + 2)*(u[j-1][i] - 1) + u[j][i];", "-1: (u[j][i] + 2) * (u[j][i] - 1) | 0: u[j][i]"},
		{"w[j][i] = (u[j-1][i] + u[j][i])*(r - 0.5);", "-1: u[j][i] * (r - 0.5) | 0: u[j][i] * (r - 0.5)"},
		{"w[j][i] = i*u[0][i] + 1;", "0: i * u[0][i] + 1"},
		{"w[j][i] = j*u[j+1][i] + u[j-1][i];", "-1: u[j][i] | 1: (j - 1) * u[j][i]"},
		{"double d = u[j-1][i] + u[j][i], c = 2*i; w[j][i] = c*d;", "-1: c * u[j][i] | 0: c * u[j][i]"},
		{"w[j][i] = -(u[j-1][i] - (u[j+1][i] - v[j][i]));", "-1: -u[j][i] | 0: -v[j][i] | 1: u[j][i]"},
		{"w[j][i] = max(u[j-1][i], u[j][i]);",
			"w[j][i] = max(u[j-1][i], u[j][i]) reads several planes of j in max(u[j-1][i], u[j][i]), which is no sum of parts"},
		{"w[j][i] = 1/(u[j-1][i] + u[j][i]);",
			"w[j][i] = 1 / (u[j-1][i] + u[j][i]) reads several planes of j in 1 / (u[j-1][i] + u[j][i]), which is no " +
				"sum of parts"},
		{"w[j][i] = u[j-1][i]*u[j][i];",
			"w[j][i] = u[j-1][i] * u[j][i] reads several planes of j in u[j-1][i] * u[j][i], which is no sum of parts"},
	} {
		p := load(t, head+c.body+tail)
		s := p.Calls[0]
		if got := planes(p, s, s.Body[len(s.Body)-1]); got != c.want {
			t.Errorf("%s\n%s\nwant\n%s", c.body, got, c.want)
		}
	}
}

// Writing out temps and products has a limit.
func TestDecomposeLimit(t *testing.T) {
	for _, c := range []struct{ first, each string }{
		{"u[j-1][i] + u[j][i]", "t%[1]d = t%[2]d*(r + i) + t%[2]d"},
		{"u[j-1][i] + u[j][i] + r + 1", "t%[1]d = t%[2]d*(r + u[0][i] - t%[3]d)"},
	} {
		text := "double t0 = " + c.first + ", c = r*i;"
		for k := 1; k <= 60; k++ {
			text += fmt.Sprintf(" double "+strings.Replace(c.each, "t%[3]d", "c", 1)+";", k, k-1)
		}
		p := load(t, head+text+"w[j][i] = t60;"+tail)
		s := p.Calls[0]
		got := planes(p, s, s.Body[len(s.Body)-1])
		if want := "w[j][i] = t60 has more than 8192 terms when it is written out"; got != want {
			t.Errorf("%.200s, want %s", got, want)
		}
	}
}

// Whatever can be decomposed along an axis has, put together again, the value
// that it had, but for the order of its sums: integers bit for bit, floats
// within the bounds of fast arithmetic.
func TestDecomposeRandomPrograms(t *testing.T) {
	split, refused := 0, 0
	for seed := range uint64(250) {
		c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%5)})
		if err != nil {
			t.Fatal(err)
		}
		p := c.Program
		q, err := transform.Program(p, func(s *ir.Call) (*ir.Call, error) {
			next := *s
			next.Body = nil
			for _, st := range s.Body {
				clone := *st
				for _, axis := range st.Axes {
					list, err := transform.Decompose(p, s, st, axis)
					if err != nil {
						refused++
						continue
					}
					if len(list) > 1 {
						split++
						clone.Value = transform.Joined(list, len(p.Axes), axis)
						break
					}
				}
				next.Body = append(next.Body, &clone)
			}
			return &next, nil
		})
		if err == nil {
			err = ir.Verify(q)
		}
		if err == nil {
			b, _ := p.Bind(c.Sets[0])
			err = within(p, q, b, seed)
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, c.Source)
		}
	}
	if split < 40 || refused < 20 {
		t.Errorf("only %d statements were decomposed and %d refused", split, refused)
	}
}

// within holds one program to the bounds of fast arithmetic that another has.
func within(p, q *ir.Program, b *ir.Binding, seed uint64) error {
	want, err := run(p, b.Params, b, interp.Fast, seed)
	if err != nil {
		return err
	}
	if want.Undecided() {
		return nil
	}
	got, err := run(q, b.Params, b, interp.NoBounds, seed)
	if err != nil {
		return err
	}
	return compare(p, want, got)
}
