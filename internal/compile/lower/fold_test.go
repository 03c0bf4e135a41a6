package lower_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Folded sums are within the bounds of fast arithmetic, in every family, and
// in pieces too.
func TestFoldedSums(t *testing.T) {
	g := planeSums{rand.New(rand.NewPCG(23, 24))}
	ran := 0
	for round := range 10 {
		text := g.program()
		p := load(t, "sums", text)
		b := bind(t, p, fmt.Sprintf("L=%d M=%d N=%d", 3+g.IntN(12), 1+g.IntN(5), 3+g.IntN(40)))
		for _, target := range []lower.Target{lower.CPU, lower.GPU} {
			ran += limited(t, b, target, arith.Fast, "fold=yes", g.Rand, uint64(round))
		}
		if t.Failed() {
			t.Fatal(text)
		}
	}
	if ran < 10 {
		t.Errorf("only %d kernels", ran)
	}
}

// Only fast arithmetic may fold, and only what has something to fold.
func TestFoldIsOffered(t *testing.T) {
	const head = "parameter N = 40;\niterator i;\ndouble u[N], v[N], r = 0.5;\ncopyin u; copyout v;\n" +
		"stencil s () { v[i] = "
	for _, c := range []struct {
		value string
		mode  arith.Mode
		want  string
	}{
		{"r*u[i-1] + r*u[i+1]", arith.Fast, "v[i] = r * (u[i-1] + u[i+1])"},
		{"r*u[i-1] + r*u[i+1]", arith.Contract, "plan: fold=yes fits no kernel"},
		{"r*u[i-1] + 2*u[i+1]", arith.Fast, "plan: fold=yes fits no kernel"},
	} {
		p := load(t, "fold", head+c.value+"; }\ns ();")
		m, err := lower.Program(p.In(c.mode), lower.Options{Target: lower.GPU, Plan: plan(t, "fold=yes")})
		got := ""
		if err != nil {
			got = strings.Join(strings.SplitN(err.Error(), ":", 3)[:2], ":")
		} else {
			got = strings.Join(m.Kernels[0].Doc, "; ")
		}
		if got != c.want {
			t.Errorf("%s, %v: %s, want %s", c.value, c.mode, got, c.want)
		}
	}
}
