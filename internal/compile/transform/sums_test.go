package transform_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// sums writes random statements that are sums of parts, each of which reads
// one plane: products, quotients by what is the same in all planes, sums in
// parentheses that are multiplied, temps.
type sums struct {
	*rand.Rand
	temps []string
}

func (s *sums) text(depth int) string {
	pick := func(of ...string) string { return of[s.IntN(len(of))] }
	if depth == 0 {
		return s.part(s.IntN(7) - 3)
	}
	switch s.IntN(8) {
	case 0:
		return fmt.Sprintf("%s*(%s)", pick("0.5", "r", "c[i]", "(1 + j)", "c[i-1]"), s.text(depth-1))
	case 1:
		return fmt.Sprintf("(%s)/%s", s.text(depth-1), pick("3", "(2 + r)", "(1.5 + abs(c[i+1]))"))
	case 2:
		return fmt.Sprintf("-(%s)", s.text(depth-1))
	case 3:
		if len(s.temps) > 0 {
			return pick(s.temps...)
		}
	case 4:
		return s.part(s.IntN(7) - 3)
	}
	return s.text(depth-1) + pick(" + ", " - ") + s.text(depth-1)
}

// part is a product whose reads are all of one plane.
func (s *sums) part(plane int) string {
	var factors []string
	for range 1 + s.IntN(3) {
		switch s.IntN(5) {
		case 0:
			factors = append(factors, fmt.Sprintf("%d", 1+s.IntN(4)))
		case 1:
			factors = append(factors, fmt.Sprintf("abs(v[k%+d][j][i%+d])", plane, s.IntN(3)-1))
		default:
			factors = append(factors, fmt.Sprintf("%c[k%+d][j%+d][i%+d]", "uv"[s.IntN(2)], plane, s.IntN(3)-1,
				s.IntN(5)-2))
		}
	}
	return strings.Join(factors, "*")
}

func (s *sums) program() string {
	s.temps = nil
	var b strings.Builder
	b.WriteString(
		"parameter L = 9, M = 5, N = 8;\niterator k, j, i;\ndouble u[L,M,N], v[L,M,N], w[L,M,N], c[N], r = 0.75;\n" +
			"boundary u : periodic on k, clamp on j, constant(0.5) on i;\ncopyin u, v, c;\nstencil s () {\n")
	for i := range s.IntN(3) {
		fmt.Fprintf(&b, "  double t%d = %s;\n", i, s.text(1+s.IntN(2)))
		s.temps = append(s.temps, fmt.Sprintf("t%d", i))
	}
	fmt.Fprintf(&b, "  w[k][j][i] = %s + %s;\n}\ns ();\ncopyout w;\n", s.part(s.IntN(7)-3), s.text(1+s.IntN(4)))
	return b.String()
}

// Sums of parts can be decomposed: no plane reads along the axis, and what is
// put together again, folded or not, is within the bounds of fast arithmetic.
func TestSumsOfParts(t *testing.T) {
	gen := &sums{Rand: rand.New(rand.NewPCG(11, 12))}
	folded := 0
	for round := range 300 {
		text := gen.program()
		p := load(t, text)
		s := p.Calls[0]
		last := s.Body[len(s.Body)-1]
		list, err := transform.Decompose(p, s, last, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for i, q := range list {
			if i > 0 && q.Offset <= list[i-1].Offset {
				t.Errorf("plane %d comes after %d", q.Offset, list[i-1].Offset)
			}
			ir.Walk(q.Value, func(e ir.Expr) {
				if a, ok := e.(*ir.Access); ok &&
					slices.ContainsFunc(a.Index, func(ix ir.Index) bool { return ix.Axis == 0 && ix.Offset != 0 }) {
					t.Errorf("%s is read in its own plane's part\n%s", p.InfixExpr(e), text)
				}
			})
		}
		for _, fold := range []bool{false, true} {
			value := transform.Joined(list, len(p.Axes), 0)
			if fold {
				var saved int
				value, saved = transform.Fold(p, value)
				folded += saved
			}
			q, err := transform.Program(p, func(s *ir.Call) (*ir.Call, error) {
				next, st := *s, *last
				st.Value = value
				next.Body = append(slices.Clone(s.Body[:len(s.Body)-1]), &st)
				return &next, nil
			})
			if err == nil {
				err = ir.Verify(q)
			}
			if err == nil {
				b, _ := p.Bind(nil)
				err = within(p, q, b, uint64(round))
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	}
	if folded < 20 {
		t.Errorf("only %d multiplications were saved", folded)
	}
}
