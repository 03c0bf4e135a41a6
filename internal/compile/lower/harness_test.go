package lower_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// load checks a source text.
func load(t testing.TB, name, text string) *ir.Program {
	t.Helper()
	src := diag.NewSource(name+".loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return p
}

// bind gives a program the values of a text like "N=8 a=0.5".
func bind(t testing.TB, p *ir.Program, values string) *ir.Binding {
	t.Helper()
	set := map[string]string{}
	for pair := range strings.FieldsSeq(values) {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	b, list := p.Bind(set)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return b
}

// plan reads the text of a plan.
func plan(t testing.TB, text string) schedule.Plan {
	t.Helper()
	p, err := schedule.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lowered lowers a program and holds every kernel to what kernels promise.
func lowered(p *ir.Program, o lower.Options) (*kernel.Module, error) {
	o.Guard = true
	m, err := lower.Program(p, o)
	if err != nil {
		return nil, err
	}
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, kernel.Text(k))
		}
		if err := kernel.CheckInterior(k); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, kernel.Text(k))
		}
	}
	return m, nil
}

// result is what the reference executor makes of a program.
type result struct {
	*interp.State
	bounded bool
	given   map[*ir.Grid]bool
	data    map[*ir.Grid][]byte
}

// expect runs a program on the reference executor. Grids that are copied in
// are given random contents; half of the times their formulas are skipped, as
// if they came from files, and else they run all the same.
func expect(b *ir.Binding, mode interp.Mode, seed uint64) (*result, error) {
	s, err := interp.New(b, interp.Options{Bounds: mode, Workers: 1})
	if err != nil {
		return nil, err
	}
	r := &result{State: s, bounded: mode != interp.NoBounds, given: map[*ir.Grid]bool{}, data: map[*ir.Grid][]byte{}}
	for i, g := range b.Program.Grids {
		if !g.CopyIn && !g.Constant {
			continue
		}
		a := s.Grid(g.Name)
		r.data[g] = gen.Input(g.Type, a.Len(), seed+uint64(i))
		copy(a.Data, r.data[g])
		r.given[g] = seed%2 == 0
	}
	s.RunInitial(r.given)
	return r, s.Run(context.Background())
}

// simulate runs a module in the simulator, from the same inputs.
func (r *result) simulate(m *kernel.Module, b *ir.Binding) (*sim.State, error) {
	s, err := sim.NewState(m, b, r.data, sim.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Initialise(r.given); err != nil {
		return nil, err
	}
	return s, s.Run()
}

// compare holds every cell and scalar of a simulation to the reference: bit
// for bit, or where the reference keeps bounds, within them. Some grids may be dropped.
func (r *result) compare(p *ir.Program, got *sim.State, dropped ...*ir.Grid) error {
	for _, g := range p.Grids {
		if slices.Contains(dropped, g) {
			continue
		}
		want, have := r.Grid(g.Name), got.Grid(g)
		bounded, bound := want.Bound != nil, 0.0
		for n := range want.Len() {
			if bounded {
				bound = want.Bound[n]
			}
			if x, y := have.At(n).AsFloat(), want.At(n); !agree(x, y, bound, bounded) {
				return fmt.Errorf("%s: cell %d is %v, not %v within %v", g.Name, n, x, y, bound)
			}
		}
	}
	for _, s := range p.Scalars {
		want, bound := r.Scalar(s)
		if x := got.Scalar(s); !agree(x.AsFloat(), want.AsFloat(), bound, r.bounded) {
			return fmt.Errorf("%s is %v, not %v within %v", s.Name, x, want, bound)
		}
	}
	return nil
}

// agree reports whether x is y, bit for bit but for the kinds of NaN, or where
// there are bounds within the bound.
func agree(x, y, bound float64, bounded bool) bool {
	if math.Float64bits(x) == math.Float64bits(y) || x != x && y != y {
		return true
	}
	return bounded && (math.Abs(x-y) <= bound || math.IsInf(bound, 1))
}

// way is one way to lower a program.
type way struct {
	target lower.Target
	strict bool
	plan   schedule.Plan
}

// mode is the arithmetic of a way.
func (w way) mode() arith.Mode {
	if w.strict {
		return arith.Strict
	}
	return arith.Contract
}

func (w way) String() string {
	target := map[lower.Target]string{lower.CPU: "cpu", lower.GPU: "gpu"}[w.target]
	return fmt.Sprintf("%s, strict %t, plan %q", target, w.strict, w.plan)
}

// check runs a program lowered one way in the simulator and compares.
func check(b *ir.Binding, w way, seed uint64, lacks ...machine.Capability) error {
	return checkIn(b, w, w.mode(), seed, lacks...)
}

// checkIn is check for a mode of arithmetic. The simulator has the functions of
// the reference executor: exact modes leave no bit open.
func checkIn(b *ir.Binding, w way, mode arith.Mode, seed uint64, lacks ...machine.Capability) error {
	b = b.In(mode)
	bounds := interp.NoBounds
	if mode == arith.Fast {
		bounds = interp.Fast
	}
	want, err := expect(b, bounds, seed)
	if err != nil {
		return err
	}
	m, err := lowered(b.Program, lower.Options{Target: w.target, Plan: w.plan, Bound: b, Sized: true, Lacks: lacks})
	if err != nil {
		return fmt.Errorf("%v: %w", w, err)
	}
	got, err := want.simulate(m, b)
	if err == nil {
		err = want.compare(b.Program, got)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", w, err)
	}
	return nil
}

// randomPlan returns a random configuration for every kernel of a program.
func randomPlan(b *ir.Binding, target lower.Target, rng *rand.Rand,
	lacks ...machine.Capability) (schedule.Plan, error) {
	o := lower.Options{Target: target, Bound: b, Sized: true, Lacks: lacks}
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		return schedule.Plan{}, err
	}
	plans := plansOf(choices)
	for {
		o.Plan = plans.draw(rng)
		if m, err := lower.Program(b.Program, o); !tooMuch(m, err) {
			return o.Plan, err
		}
	}
}

// tooMuch reports whether a drawn plan is not worth a simulation: it asks for more
// than there is, or is sure to spill, and its kernels are long.
func tooMuch(m *kernel.Module, err error) bool {
	if err != nil {
		_, resourceLimit := errors.AsType[*lower.ResourceLimit](err)
		return resourceLimit
	}
	h200, err := machine.Builtin("h200")
	if err != nil {
		panic(err)
	}
	return slices.ContainsFunc(m.Kernels, func(k *kernel.Kernel) bool { return lower.Resources(k).Spills(h200.GPU) })
}

// planSpace is the plans that some kernels may have. To draw from a family it is counted,
// once.
type planSpace struct {
	choices []lower.Choice
	counted map[[2]int]*schedule.Counter // by choice and family
}

func plansOf(choices []lower.Choice) *planSpace {
	return &planSpace{choices, map[[2]int]*schedule.Counter{}}
}

// draw returns a plan with a random configuration for each of the kernels.
func (p *planSpace) draw(rng *rand.Rand) schedule.Plan {
	var plan schedule.Plan
	for i, c := range p.choices {
		k := c.Kernel
		key := [2]int{i, rng.IntN(len(c.Space.Families))} // each as often as the others
		if p.counted[key] == nil {
			p.counted[key] = schedule.Space{Families: c.Space.Families[key[1] : key[1]+1]}.Counter()
		}
		k.Config = p.counted[key].Draw(rng)
		if k.Config.Family == "loops" {
			k.Config = k.Config.With("block", smallBlock(len(k.Config.Ints("block")), rng))
		}
		plan.Kernels = append(plan.Kernels, k)
	}
	return plan
}

// smallBlock returns a block that cuts small grids, too.
func smallBlock(rank int, rng *rand.Rand) schedule.Value {
	sizes := make([]int64, rank)
	for i := range sizes {
		few := []int64{0, 1, 2, 4, 8, 16}
		if i == rank-1 {
			few = []int64{0, 64}
		}
		sizes[i] = few[rng.IntN(len(few))]
	}
	return schedule.Int(sizes[0], sizes[1:]...)
}
