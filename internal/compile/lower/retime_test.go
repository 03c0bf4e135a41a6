package lower_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

var retimedRounds = flag.Int("retimed-rounds", 20, "how many random sums are computed in pieces")

// planeSums writes random programs whose statements are sums of products, of
// one plane each for the most part.
type planeSums struct{ *rand.Rand }

func (s planeSums) pick(of ...string) string { return of[s.IntN(len(of))] }

func (s planeSums) access() string {
	at := func(axis string, reach int) string { return fmt.Sprintf("[%s%+d]", axis, s.IntN(2*reach+1)-reach) }
	if s.IntN(8) == 0 {
		return "c" + at("i", 1)
	}
	return s.pick("u", "u", "u", "v") + at("k", 2) + s.pick("[j+0]", "[j+0]", "[j+0]", "[j+1]") +
		s.pick("[i+0]", "[i+0]", "[i+0]", "[i-2]")
}

func (s planeSums) value(depth int, temps []string) string {
	if depth == 0 {
		switch s.IntN(8) {
		case 0:
			return s.access() + "*" + s.access()
		case 1:
			return "0.75*" + s.access()
		case 2:
			if len(temps) > 0 {
				return s.pick(temps...)
			}
		}
		return s.pick("0.5", "r", "-1.25") + "*" + s.access()
	}
	switch s.IntN(16) {
	case 0:
		return "max(" + s.value(depth-1, temps) + ", " + s.value(depth-1, temps) + ")"
	case 1:
		return s.pick("0.25", "r") + "*(" + s.value(depth-1, temps) + ")"
	case 2:
		return s.access() + s.pick(" + ", " - ") + "(" + s.value(depth-1, temps) + ")"
	}
	return s.value(depth-1, temps) + s.pick(" + ", " - ") + s.value(depth-1, temps)
}

func (s planeSums) program() string {
	var b strings.Builder
	faces := func() string {
		return s.pick("periodic", "clamp", "mirror", "antimirror", "reflect", "antireflect", "constant(0.5)")
	}
	fmt.Fprintf(&b, "parameter L, M, N;\niterator k, j, i;\n"+
		"%s u[L,M,N], v[L,M,N], w[L,M,N], x[L,M,N], c[N], r = 0.75;\n", s.pick("double", "float"))
	fmt.Fprintf(&b, "boundary u : %s on k, %s on j, %s on i;\nboundary v : %s;\ncopyin u, v, c;\n",
		faces(), faces(), faces(), faces())
	if s.IntN(3) == 0 {
		fmt.Fprintf(&b, "boundary c : clamp;\n")
	} else {
		fmt.Fprintf(&b, "boundary c : %s;\n", faces())
	}
	b.WriteString("stencil s () {\n")
	var temps []string
	for i := range s.IntN(3) {
		fmt.Fprintf(&b, "  double t%d = %s;\n", i, s.value(1+s.IntN(2), temps))
		temps = append(temps, fmt.Sprintf("t%d", i))
	}
	fmt.Fprintf(&b, "  w[k][j][i] = %s + 0.1*c[i];\n", s.value(2+s.IntN(3), temps))
	if s.IntN(4) == 0 {
		fmt.Fprintf(&b, "  [1:L-2,0:M-1,2:N-1] : x[k][j][i] = %s;\n", s.value(1+s.IntN(3), temps))
	}
	b.WriteString("}\ns ();\ncopyout w;\n")
	return b.String()
}

// Statements that are computed in pieces have the same bits under strict
// arithmetic; with their sums in the order of the planes they are within the
// bounds of fast arithmetic.
func TestRetimedSums(t *testing.T) {
	g := planeSums{rand.New(rand.NewPCG(21, 22))}
	ran := map[arith.Mode]int{}
	for round := range *retimedRounds {
		text := g.program()
		p := load(t, "sums", text)
		b := bind(t, p, fmt.Sprintf("L=%d M=%d N=%d", 3+g.IntN(12), 1+g.IntN(5), 3+g.IntN(40)))
		for _, mode := range modes {
			ran[mode] += limited(t, b, lower.GPU, mode, retiming(mode), g.Rand, uint64(round))
		}
		if t.Failed() {
			t.Fatal(text)
		}
	}
	if ran[arith.Strict] < *retimedRounds/4 || ran[arith.Fast] < *retimedRounds/4 {
		t.Errorf("only %v kernels", ran)
	}
}

// mostDraws is after how many plans that take too much a program is left alone.
const mostDraws = 40

// limited checks a program with a random plan of small tiles and blocks, whose
// kernels keep to a limit where they can; it returns how many do.
func limited(t *testing.T, b *ir.Binding, target lower.Target, mode arith.Mode, limit string,
	rng *rand.Rand, seed uint64) int {
	t.Helper()
	w := way{target: target, strict: mode == arith.Strict}
	b = b.In(mode)
	o := lower.Options{Target: target, Bound: b, Sized: true}
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(limit, "=")
	found := 0
	for i := range choices {
		s, err := choices[i].Space.Limit(limit)
		if err != nil {
			continue
		}
		s.Families = slices.DeleteFunc(s.Families, func(f schedule.Family) bool { return f.Param(name) == nil })
		if len(s.Families) == 0 {
			continue
		}
		found++
		for _, small := range []string{"block<=128", "rows<=2", "repeat<=2", "vec<=4"} {
			if less, err := s.Limit(small); err == nil && len(less.Families) == len(s.Families) {
				s = less
			}
		}
		choices[i].Space = s
	}
	if found == 0 {
		return 0
	}
	plans := plansOf(choices)
	for tries := 0; ; tries++ {
		if tries == mostDraws {
			return 0 // hardly anything fits
		}
		o.Plan = plans.draw(rng)
		if m, err := lower.Program(b.Program, o); !tooMuch(m, err) {
			break
		}
	}
	w.plan = o.Plan
	if err := checkIn(b, w, mode, seed); err != nil {
		t.Errorf("sizes %v: %v", b.Params, err)
	}
	return found
}

// modes are those that kernels are lowered in.
var modes = []arith.Mode{arith.Strict, arith.Contract, arith.Fast}

// retiming is the limit that has kernels computed in pieces, and in fast
// arithmetic with their sums in the order of the planes.
func retiming(mode arith.Mode) string {
	if mode == arith.Fast {
		return "retime=sums"
	}
	return "retime=yes"
}
