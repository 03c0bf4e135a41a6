package lower_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
)

var (
	seeds     = flag.Uint64("seeds", 56, "how many random programs to run")
	firstSeed = flag.Uint64("first-seed", 1000, "the first of them")
)

// Random programs, lowered for both targets with random configurations, make
// kernels that do in the simulator what the reference executor does, at every
// cell, and nothing that a machine would not forgive.
func TestRandomPrograms(t *testing.T) {
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
			t.Parallel()
			for seed := *firstSeed + shard; seed < *firstSeed+*seeds; seed += shards {
				random(t, seed)
			}
		})
	}
}

func random(t *testing.T, seed uint64) {
	c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%8)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("seed %d: panic: %v\n%s\n%s", seed, r, c.Source, debug.Stack())
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 1))
	for i, w := range []way{
		{target: lower.CPU, strict: true}, {target: lower.CPU}, {target: lower.GPU, strict: seed%2 == 0},
	} {
		b := shaped(c, i, rng)
		if b == nil {
			continue
		}
		b = b.In(w.mode())
		w.plan, err = randomPlan(b, w.target, rng)
		if err == nil {
			err = check(b, w, seed)
		}
		if err != nil {
			t.Errorf("seed %d, sizes %v: %v\n%s", seed, b.Params, err, c.Source)
		}
	}
}

// mostCells bounds the work of one run.
const mostCells = 40_000

// shaped binds a program to one of its shapes: the i-th, or for i = 0 to a
// large one.
func shaped(c *gen.Case, i int, rng *rand.Rand) *ir.Binding {
	sets := c.Sets
	if i == 0 && len(c.Program.Axes) < 3 {
		// Rows that are longer than a block of 64.
		long := map[string]string{}
		for k, v := range sets[len(sets)-1] {
			long[k] = v
		}
		if n := len(c.Program.Params); n > 0 {
			long[c.Program.Params[n-1].Name] = fmt.Sprint(130 + rng.IntN(20))
		}
		if b, _ := c.Program.Bind(long); b != nil && work(b) <= mostCells {
			return b
		}
	}
	at := rng.IntN(len(sets))
	if i == 0 {
		at = len(sets) - 1
	}
	for ; at >= 0; at-- {
		if b, _ := c.Program.Bind(sets[at]); b != nil && work(b) <= mostCells {
			return b
		}
	}
	return nil
}

// work counts the cells that a program's leaves update, roughly.
func work(b *ir.Binding) int64 {
	most := int64(1)
	for _, g := range b.Program.Grids {
		n := int64(1)
		for _, d := range g.Dims {
			n *= b.Extent(d).Len()
		}
		most = max(most, n)
	}
	leaves, _ := ir.Leaves(b.Program.Body, func(e ir.Expr, step int64) op.Value { return b.Eval(e, step) })
	return most * min(leaves, 1<<20)
}

// A scalar local that no statement of its group reads is computed there, where one is made of it that the group keeps
// for others.
func TestLocalsThatKeptOnesAreMadeOf(t *testing.T) {
	const text = `parameter M = 13, N = 37;
iterator j, i;
double u[M,N], v[M,N], g[M,N], s[M,N];
copyin u, v, s;
stencil far (g, s, u, v) {
  double half = 0.5*v[j][i];
  double old = half*s[j][i+2];
  g[j][i] = 0.3*u[j][i];
  double sum = g[j+1][i] + old;
  s[j][i] += 0.7*sum;
}
far (g, s, u, v);
`
	for _, target := range []lower.Target{lower.CPU, lower.GPU} {
		b := bind(t, load(t, "far", text), "")
		for seed := range uint64(3) {
			if err := check(b, way{target: target}, seed); err != nil {
				t.Errorf("%v: %v", target, err)
			}
		}
	}
}
