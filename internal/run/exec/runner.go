package exec

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Runner is a program with sizes, values and memory, somewhere in its time
// loop. It belongs to one goroutine.
//
// A new Runner stands at the start, its grids zero. Before the first Advance,
// and between Restore and the next, what Grid returns may be written to.
type Runner interface {
	// Initialise executes the program's initial block, except for the grids
	// that were given their contents. The reference executor does so for every
	// Runner, so that all start from the same bits.
	Initialise(given []string) error
	// Grid returns a grid's cells in C order. They are valid until the next
	// Advance or Close.
	Grid(name string) ([]byte, error)
	// Scalar returns a scalar's present value.
	Scalar(name string) (op.Value, error)
	// Advance executes leaves until a limit is reached, the program ends, or
	// ctx does, which is no error: it stops between two leaves.
	Advance(ctx context.Context, limit Limit) (Progress, error)
	// Place returns where the Runner stands. Together with the contents of all
	// grids it is all that Restore needs.
	Place() Place
	// Restore moves to a place. Grids are restored by writing to what Grid
	// returns.
	Restore(p Place) error
	// Close gives everything back.
	Close() error
}

// Limit says how far to go. A zero field is no limit.
type Limit struct {
	Iterations int64 // of outermost iterates, from here on
	Leaves     int64 // from here on
}

func (l Limit) reached(leaves, iterations int64) bool {
	return l.Leaves > 0 && leaves >= l.Leaves || l.Iterations > 0 && iterations >= l.Iterations
}

// rest returns what is left after so many leaves and iterations.
func (l Limit) rest(leaves, iterations int64) Limit {
	if l.Leaves > 0 {
		l.Leaves -= leaves
	}
	if l.Iterations > 0 {
		l.Iterations -= iterations
	}
	return l
}

// Progress is what a Runner has done since it was made.
type Progress struct {
	Iterations int64         // the cursor's: of outermost iterates, since the start of the program
	Leaves     int64         // calls and rotations executed
	Launches   int64         // kernels started; 0 where there are none
	Graphs     int64         // launch graphs that started some of them together
	Points     int64         // cells updated: of every call those of its largest domain
	Busy       time.Duration // spent executing
	Call       string        // that is being executed; "" for none
	Finished   bool          // the program has ended
	Stopped    bool          // ctx has ended the last Advance
}

// ending is why a run has ended.
type ending uint8

const (
	paused   ending = iota // at its limit
	finished               // at the program's end
	stopped                // on demand
)

// Place is a place in a program's execution, besides the contents of its
// grids: plain data, for a checkpoint.
type Place struct {
	Cursor  ir.Cursor     `json:"cursor"`
	Scalars []ScalarValue `json:"scalars,omitempty"` // the reduced scalars
}

// ScalarValue is a scalar's value, bit for bit: the integer, or the number's
// IEEE 754 binary64 pattern.
type ScalarValue struct {
	Name string     `json:"name"`
	Type types.Type `json:"type"`
	Bits uint64     `json:"bits"`
}

func newScalarValue(name string, v op.Value) ScalarValue {
	return ScalarValue{name, v.T, bitsOf(v)}
}

// check returns the values of the reduced scalars that a place holds, in the
// program's order, or an error if the place is not one of this program.
func (p Place) check(program *ir.Program) ([]op.Value, error) {
	if err := p.Cursor.Check(program.Body); err != nil {
		return nil, err
	}
	var values []op.Value
	for _, s := range program.Scalars {
		if !s.Reduced {
			continue
		}
		i := len(values)
		if i >= len(p.Scalars) || p.Scalars[i].Name != s.Name || p.Scalars[i].Type != s.Type {
			return nil, fmt.Errorf("the checkpoint does not hold the value of %s", s.Name)
		}
		values = append(values, valueOf(s.Type, p.Scalars[i].Bits))
	}
	if len(values) != len(p.Scalars) {
		return nil, fmt.Errorf("the checkpoint holds the value of %s, which the program does not compute",
			p.Scalars[len(values)].Name)
	}
	return values, nil
}

// gridIndex finds a grid by name.
func gridIndex(p *ir.Program, name string) (int, error) {
	var names []string
	for i, g := range p.Grids {
		if g.Name == name {
			return i, nil
		}
		names = append(names, g.Name)
	}
	return 0, unknown("grid", name, names)
}

// scalar finds a scalar by name.
func scalar(p *ir.Program, name string) (*ir.Scalar, error) {
	if s := p.Scalar(name); s != nil {
		return s, nil
	}
	var names []string
	for _, s := range p.Scalars {
		names = append(names, s.Name)
	}
	return nil, unknown("scalar", name, names)
}

func unknown(what, name string, names []string) error {
	if near := diag.Nearest(name, names); near != "" {
		return fmt.Errorf("the program has no %s called %s (did you mean %s?)", what, name, near)
	}
	return fmt.Errorf("the program has no %s called %s", what, name)
}

// bitsOf returns a value's bits; valueOf turns them back.
func bitsOf(v op.Value) uint64 {
	if v.T.IsFloat() {
		return math.Float64bits(v.F)
	}
	return uint64(v.I)
}

func valueOf(t types.Type, bits uint64) op.Value {
	if t.IsFloat() {
		return op.Float(t, math.Float64frombits(bits))
	}
	return op.Int(t, int64(bits))
}
