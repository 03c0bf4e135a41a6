package examples

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// field gives the value of each cell of an input.
type field func(at ...int) float64

func constant(v float64) field { return func(...int) float64 { return v } }

// inDouble turns a program in float into one in double, for tests that look at
// the order of an error.
var inDouble = strings.NewReplacer("float", "double")

// load returns an example's program after an edit of its text, which may be
// nil.
func load(t *testing.T, name string, edit *strings.Replacer) *ir.Program {
	t.Helper()
	src := source(t, name)
	if edit != nil {
		src = diag.NewSource(src.Name, edit.Replace(src.Text))
	}
	prog, diags := lang.Load(src)
	for _, d := range diags {
		t.Errorf("%s: %v", name, d)
	}
	if prog == nil {
		t.Fatalf("%s does not compile", name)
	}
	return prog
}

// execution is an example in execution.
type execution struct {
	*interp.State
	prog *ir.Program
}

// run executes an example with the given sizes and scalars, "N=8 steps=1", and
// inputs.
func run(t *testing.T, prog *ir.Program, set string, inputs map[string]field) execution {
	t.Helper()
	m := prepare(t, bind(t, prog, set), inputs)
	if err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return m
}

// bind gives a program sizes and scalars as run does.
func bind(t *testing.T, prog *ir.Program, set string) *ir.Binding {
	t.Helper()
	values := make(map[string]string)
	for pair := range strings.FieldsSeq(set) {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	b, diags := prog.Bind(values)
	if diags != nil {
		t.Fatalf("%s: %v", prog.Name, diags)
	}
	return b
}

// prepare returns the state before the first call.
func prepare(t *testing.T, b *ir.Binding, inputs map[string]field) execution {
	t.Helper()
	state, err := interp.New(b, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := execution{state, b.Program}
	skip := make(map[*ir.Grid]bool)
	for name, f := range inputs {
		g := b.Program.Grid(name)
		skip[g] = true
		a := m.Grid(name)
		for n := range a.Len() {
			a.Set(n, f(position(a.Shape, n)...))
		}
	}
	m.RunInitial(skip)
	return m
}

// position returns the indices of the n-th cell.
func position(shape []int, n int) []int {
	at := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		at[d], n = n%shape[d], n/shape[d]
	}
	return at
}

// at returns one cell.
func (m execution) at(grid string, index ...int) float64 {
	a := m.Grid(grid)
	n := 0
	for d, x := range index {
		n = n*a.Shape[d] + x
	}
	return a.At(n)
}

// values returns all cells in order.
func (m execution) values(grid string) []float64 {
	a := m.Grid(grid)
	out := make([]float64, a.Len())
	for n := range out {
		out[n] = a.At(n)
	}
	return out
}

func (m execution) scalar(name string) float64 {
	v, _ := m.State.Scalar(m.prog.Scalar(name))
	return number(v)
}

func number(v op.Value) float64 {
	if v.T.IsFloat() {
		return v.F
	}
	return float64(v.I)
}

// worst returns the largest difference between a grid and what is expected.
func (m execution) worst(grid string, want field) float64 {
	a := m.Grid(grid)
	worst := 0.0
	for n := range a.Len() {
		if d := math.Abs(a.At(n) - want(position(a.Shape, n)...)); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

func total(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

func sumOfSquares(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v * v
	}
	return sum
}

// near fails unless got is within tolerance of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g, want %.12g within %.2g", what, got, want, tolerance)
	}
}

// order fails unless errors, each from a resolution twice as fine as the one
// before, fall at the given order to within a tenth.
func order(t *testing.T, what string, want float64, errors ...float64) {
	t.Helper()
	for i := 1; i < len(errors); i++ {
		got := math.Log2(errors[i-1] / errors[i])
		if !(math.Abs(got-want) <= 0.1*want) {
			t.Errorf("%s: errors %.3g fall at order %.2f, not %g", what, errors, got, want)
		}
	}
}

// noise returns a field of repeatable pseudo-random values in [-1, 1), which
// differ from seed to seed.
func noise(seed int) field {
	return func(at ...int) float64 {
		x := uint64(seed) * 0x9e3779b97f4a7c15
		for _, a := range at {
			x = (x ^ uint64(a+1)) * 0xbf58476d1ce4e5b9
			x ^= x >> 29
		}
		x *= 0x94d049bb133111eb
		return float64(int64(x>>11))/(1<<52) - 1
	}
}

func finite(list []float64) error {
	for n, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("cell %d is %v", n, v)
		}
	}
	if slices.Min(list) == slices.Max(list) {
		return fmt.Errorf("all cells are %v", list[0])
	}
	return nil
}
