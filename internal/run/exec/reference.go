package exec

import (
	"context"
	"time"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// ReferenceOptions says how the reference executor runs a program.
type ReferenceOptions struct {
	Bounds   interp.Mode    // bounds to keep
	SamePath bool           // for devices that end every iterate where this one does
	Progress func(Progress) // called now and then while Advance is busy
	Interval time.Duration  // between calls of Progress; 0 is 200 ms
	System   memory.System  // that memory is asked of; "" is this machine
}

// Reference is a Runner whose program the reference executor runs, in this
// process.
type Reference struct {
	bound  *ir.Binding
	opts   ReferenceOptions
	state  *interp.State
	cursor ir.Cursor
	done   Progress
	told   time.Time // when Progress was last called
	points map[*ir.Call]int64
}

// OpenReference gives a program's grids memory, after checking that there is
// enough.
func OpenReference(b *ir.Binding, o ReferenceOptions) (*Reference, error) {
	common := Options{Interval: o.Interval, System: o.System}.complete()
	o.Interval, o.System = common.Interval, common.System
	opts := interp.Options{Bounds: o.Bounds, SamePath: o.SamePath}
	bytes, err := interp.Bytes(b, opts)
	if err != nil {
		return nil, err
	}
	if err := o.System.Check([]memory.Need{{Name: "the reference executor", Bytes: bytes}}); err != nil {
		return nil, err
	}
	state, err := interp.New(b, opts)
	if err != nil {
		return nil, err
	}
	r := &Reference{bound: b, opts: o, state: state, points: map[*ir.Call]int64{}}
	for _, s := range b.Program.Calls {
		r.points[s] = points(b, s)
	}
	return r, nil
}

// settle moves the cursor on until a leaf comes next, as a walker does, and
// returns the leaf; false at the end.
func (r *Reference) settle() (ir.Leaf, bool) {
	leaf, ok := r.cursor.Next(r.bound.Program.Body, r.state.Evaluate)
	if ok {
		r.cursor.Frames[len(r.cursor.Frames)-1].At--
	}
	return leaf, ok
}

// Advance implements Runner.
func (r *Reference) Advance(ctx context.Context, limit Limit) (Progress, error) {
	begin, before := time.Now(), r.done.Busy
	r.settle()
	start := r.cursor.Completed
	r.done.Finished, r.done.Stopped = false, false
	for n := int64(0); ; n++ {
		leaf, more := r.settle()
		r.done.Iterations = r.cursor.Completed
		r.done.Busy = before + time.Since(begin)
		switch {
		case !more:
			r.done.Finished = true
			return r.done, nil
		case limit.reached(n, r.cursor.Completed-start):
			return r.done, nil
		case ctx.Err() != nil:
			r.done.Stopped = true
			return r.done, nil
		}
		r.tell(leaf)
		r.cursor.Frames[len(r.cursor.Frames)-1].At++
		r.state.Execute(leaf)
		r.done.Leaves++
		if run, ok := leaf.Op.(*ir.Run); ok {
			r.done.Points += r.points[run.Call]
		}
	}
}

// tell calls Progress if it is time to.
func (r *Reference) tell(next ir.Leaf) {
	if r.opts.Progress == nil || time.Since(r.told) < r.opts.Interval {
		return
	}
	r.told = time.Now()
	p := r.done
	if run, ok := next.Op.(*ir.Run); ok {
		p.Call = run.Call.Name
	}
	r.opts.Progress(p)
}

// Initialise implements Runner.
func (r *Reference) Initialise(given []string) error {
	r.state.RunInitial(named(r.bound.Program, given))
	return nil
}

// Grid implements Runner.
func (r *Reference) Grid(name string) ([]byte, error) {
	if _, err := gridIndex(r.bound.Program, name); err != nil {
		return nil, err
	}
	return r.state.Grid(name).Data, nil
}

// Bounds returns how far each cell of a grid may be from a device's; nil if
// the options do not ask for bounds.
func (r *Reference) Bounds(name string) ([]float64, error) {
	if _, err := gridIndex(r.bound.Program, name); err != nil {
		return nil, err
	}
	return r.state.Grid(name).Bound, nil
}

// ScalarBound returns how far a scalar may be from a device's; 0 without
// bounds.
func (r *Reference) ScalarBound(name string) (float64, error) {
	s, err := scalar(r.bound.Program, name)
	if err != nil {
		return 0, err
	}
	_, bound := r.state.Scalar(s)
	return bound, nil
}

// Undecided reports whether a device may, within the bounds, have ended an
// iterate elsewhere.
func (r *Reference) Undecided() bool { return r.state.Undecided() }

// Scalar implements Runner.
func (r *Reference) Scalar(name string) (op.Value, error) {
	s, err := scalar(r.bound.Program, name)
	if err != nil {
		return op.Value{}, err
	}
	v, _ := r.state.Scalar(s)
	return v, nil
}

// Place implements Runner.
func (r *Reference) Place() Place {
	p := Place{Cursor: r.cursor}
	p.Cursor.Frames = append([]ir.Frame(nil), r.cursor.Frames...)
	for _, s := range reduced(r.bound.Program) {
		v, _ := r.state.Scalar(s)
		p.Scalars = append(p.Scalars, newScalarValue(s.Name, v))
	}
	return p
}

// Restore implements Runner.
func (r *Reference) Restore(p Place) error {
	values, err := p.check(r.bound.Program)
	if err != nil {
		return err
	}
	for i, s := range reduced(r.bound.Program) {
		r.state.SetScalar(s, values[i])
	}
	r.cursor = p.Cursor
	return nil
}

// Close implements Runner.
func (r *Reference) Close() error { return nil }
