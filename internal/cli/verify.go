package cli

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// checkBudget is the number of operations that a check's reference run may
// take: a few seconds on two processors.
const checkBudget = 4e8

// verification is a comparison of the target with the reference executor.
type verification struct {
	Sizes      map[string]int64 `json:"sizes"`
	Reduced    bool             `json:"reduced"` // smaller sizes, random inputs
	Iterations int64            `json:"iterations"`
	Cells      int64            `json:"cells"`
	Differ     int64            `json:"differ"`
	Wrong      int64            `json:"wrong"`
	Undecided  int64            `json:"undecided"`
	MaxAbs     float64          `json:"max_abs"`
	MaxULP     uint64           `json:"max_ulp"`
	OfBound    float64          `json:"of_bound"`
}

// add takes in the result for a grid. A cell with an infinite bound says
// nothing, whatever it holds.
func (v *verification) add(r compare.Result, bounds []float64) {
	v.Cells += r.Cells
	v.Differ += r.Differ
	v.Wrong += r.Beyond
	v.MaxAbs = max(v.MaxAbs, r.MaxAbs)
	v.MaxULP = max(v.MaxULP, r.MaxULP)
	v.OfBound = max(v.OfBound, r.MaxRatio)
	for _, b := range bounds {
		if math.IsInf(b, 1) || b != b {
			v.Undecided++
		}
	}
}

// check runs the program on the target and on the reference executor and
// compares every cell of every grid and every reduced scalar. If the reference
// cannot afford the run, it takes the first iterations of it, on smaller sizes
// with random inputs if need be.
func (j *job) check() error {
	b, limit, err := j.affordable()
	if err != nil {
		return err
	}
	reduced := b != j.bound
	want, err := exec.OpenReference(b, exec.ReferenceOptions{Bounds: j.target.bounds()})
	if err != nil {
		return err
	}
	defer want.Close()
	got, err := j.target.open(j.ctx, b, nil)
	if err != nil {
		return err
	}
	defer got.Close()
	var last exec.Progress
	for _, r := range []exec.Runner{want, got} {
		if err := j.start(r, b, reduced); err != nil {
			return err
		}
		if last, err = r.Advance(j.ctx, exec.Limit{Iterations: limit}); err != nil {
			return err
		}
		if last.Stopped {
			return &failure{exitInterrupted, errors.New("interrupted during the check")}
		}
	}
	v := verification{Sizes: map[string]int64{}, Reduced: reduced, Iterations: last.Iterations}
	for i, q := range b.Program.Params {
		v.Sizes[q.Name] = b.Params[i]
	}
	var wrong []string
	for _, g := range b.Program.Grids {
		x, err := got.Grid(g.Name)
		if err != nil {
			return err
		}
		y, err := want.Grid(g.Name)
		if err != nil {
			return err
		}
		bounds, err := want.Bounds(g.Name)
		if err != nil {
			return err
		}
		var lo []int64
		for _, d := range g.Dims {
			lo = append(lo, b.Extent(d).Lo)
		}
		r, err := compare.Cells(compare.Grid{Name: g.Name, Type: g.Type, Shape: b.Shape(g.Dims), Lo: lo, Bounds: bounds}, y, x)
		if err != nil {
			return err
		}
		v.add(r, bounds)
		if !r.OK() {
			wrong = append(wrong, r.String())
		}
	}
	return j.verdict(v, wrong)
}

func (j *job) verdict(v verification, wrong []string) error {
	if j.JSON {
		if err := j.printJSON(v); err != nil {
			return err
		}
	} else if !j.Quiet {
		j.describe(v)
	}
	if v.Wrong == 0 {
		return nil
	}
	for _, w := range wrong {
		fmt.Fprintf(j.stderr, "  %s\n", w)
	}
	return failf(exitCheck, "the check failed: %s of %d beyond what --fp %s allows", count(v.Wrong, "cell"), v.Cells, j.FP)
}

func (j *job) describe(v verification) {
	where := "same sizes"
	if v.Reduced {
		where = "random inputs at"
		for _, q := range j.program.Params {
			where += fmt.Sprintf(" %s=%d", q.Name, v.Sizes[q.Name])
		}
	}
	fmt.Fprintf(j.stdout, "check against the reference (%s, %s, --fp %s): %d cells compared, ", where, count(v.Iterations, "iteration"), j.FP, v.Cells)
	if v.Differ == 0 {
		fmt.Fprintln(j.stdout, "all equal")
	} else {
		fmt.Fprintf(j.stdout, "%d differ, by at most %.3g absolute and %d ulp", v.Differ, v.MaxAbs, v.MaxULP)
		if v.OfBound > 0 {
			fmt.Fprintf(j.stdout, ", %.3g of the rounding bound", v.OfBound)
		}
		fmt.Fprintln(j.stdout)
	}
	if v.Undecided > 0 {
		fmt.Fprintf(j.stdout, "  %s could not be decided: rounding may change which branch they take\n", count(v.Undecided, "cell"))
	}
}

// affordable returns a binding and a number of iterations that the reference
// executor can run within its budget: the run's own if possible.
func (j *job) affordable() (*ir.Binding, int64, error) {
	if n := affordableIterations(j.bound, j.target.bounds()); n >= 1 && fits(j.bound, j.target.bounds()) {
		return j.bound, n, nil
	}
	set, err := sets(j.Set)
	if err != nil {
		return nil, 0, err
	}
	sizes := gridParams(j.program)
	for shrink := int64(2); shrink <= 1<<20; shrink *= 2 {
		smaller := map[string]string{}
		for k, v := range set {
			smaller[k] = v
		}
		for i, q := range j.program.Params {
			if sizes[i] {
				smaller[q.Name] = fmt.Sprint(max(j.bound.Params[i]/shrink, min(j.bound.Params[i], 17)))
			}
		}
		b, list := j.program.Bind(smaller)
		if list.HasErrors() {
			continue
		}
		if n := affordableIterations(b, j.target.bounds()); n >= 3 && fits(b, j.target.bounds()) {
			return b, n, nil
		}
	}
	return nil, 0, fmt.Errorf("the reference executor cannot afford to check this program at any size")
}

// fits reports whether the reference executor's memory is a modest amount.
func fits(b *ir.Binding, mode interp.Mode) bool {
	bytes, err := interp.Bytes(b, interp.Options{Bounds: mode})
	return err == nil && bytes <= 4<<30
}

// gridParams marks the parameters that sizes of grids depend on.
func gridParams(p *ir.Program) map[int]bool {
	used := map[int]bool{}
	for _, g := range p.Grids {
		for _, d := range g.Dims {
			for _, a := range []ir.Affine{d.Lo, d.Hi} {
				for _, t := range a.Terms {
					used[t.Param] = true
				}
			}
		}
	}
	return used
}

// affordableIterations returns how many outermost iterations the budget pays
// for; 0 if not even one.
func affordableIterations(b *ir.Binding, mode interp.Mode) int64 {
	once, each := 0.0, 0.0
	for _, o := range b.Program.Body {
		if it, ok := o.(*ir.Iterate); ok {
			each = max(each, cost(b, it.Body))
		} else {
			once += cost(b, []ir.Op{o})
		}
	}
	budget := float64(checkBudget)
	if mode != interp.NoBounds {
		budget /= 4
	}
	if each == 0 {
		if once <= budget {
			return math.MaxInt32
		}
		return 0
	}
	return int64(min((budget-once)/each, math.MaxInt32))
}

// cost counts the operations of a body.
func cost(b *ir.Binding, body []ir.Op) float64 {
	sum := 0.0
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			for _, st := range o.Stage.Body {
				cells := 1.0
				for _, axis := range st.Axes {
					cells *= float64(b.Range(st.Domain[axis]).Len())
				}
				if st.Temp != nil { // evaluated wherever it is needed
					for _, a := range o.Stage.Arrays {
						n := 1.0
						for _, d := range a.Dims {
							n *= float64(b.Extent(d).Len())
						}
						cells = max(cells, n)
					}
				}
				nodes := 0
				ir.Walk(st.Value, func(ir.Expr) { nodes++ })
				sum += cells * float64(nodes)
			}
		case *ir.Iterate:
			n := float64(o.Max)
			if o.Count != nil && !readsReduced(o.Count) {
				n = float64(b.Eval(o.Count, 0).I)
			}
			sum += max(n, 0) * cost(b, o.Body)
		}
	}
	return sum
}

// start gives a runner its first values: those of the run, or random ones on
// reduced sizes for the grids that have files.
func (j *job) start(r exec.Runner, b *ir.Binding, reduced bool) error {
	if !reduced {
		files, err := openInputs(b, j.ins)
		if err != nil {
			return err
		}
		defer closeInputs(files)
		return initialise(r, j.ins, files)
	}
	var given []string
	for i, in := range j.ins {
		cells, err := r.Grid(in.grid.Name)
		if err != nil {
			return err
		}
		randomise(in.grid.Type, cells, uint64(i))
		given = append(given, in.grid.Name)
	}
	return r.Initialise(given)
}

// randomise fills a grid with values of an input's usual size.
func randomise(t types.Type, cells []byte, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := gridio.Array{Type: t, Shape: []int{len(cells) / t.Size()}, Data: cells}
	switch t {
	case types.F64:
		for i, v := 0, gridio.View[float64](&a); i < len(v); i++ {
			v[i] = rng.Float64()
		}
	case types.F32:
		for i, v := 0, gridio.View[float32](&a); i < len(v); i++ {
			v[i] = rng.Float32()
		}
	case types.I32:
		for i, v := 0, gridio.View[int32](&a); i < len(v); i++ {
			v[i] = rng.Int32N(256)
		}
	case types.U8:
		for i := range cells {
			cells[i] = byte(rng.Uint32())
		}
	case types.Bool:
		for i := range cells {
			cells[i] = byte(rng.Uint32() & 1)
		}
	}
}
