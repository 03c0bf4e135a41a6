package interp

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Options says how a program is executed. The zero value is a plain execution
// on all processors.
type Options struct {
	Bounds   Mode  // keep bounds for devices in that mode of arithmetic
	SamePath bool  // bounds hold for devices that end every iterate where this execution does
	Workers  int   // goroutines; 0 for one a processor
	MaxBytes int64 // memory that New may allocate; 0 for no limit
}

// State is a program in execution: the contents of its grids and scalars. It
// is not safe for concurrent use.
type State struct {
	opts   Options
	b      *ir.Binding // its Scalars are the present values
	bounds []float64   // of the scalars
	arrays []*Array    // by index in Program.Grids
	calls  map[*ir.Call]*compiledCall
	setup  *compiledCall // the initial block's memory
	arena  []uint64      // shared by all calls' local grids, temps and buffers
	doubt  bool          // an iterate's end could not be decided within the bounds
	lost   bool          // and so every bound is infinite
}

// New prepares a program to run: grids are zero, scalars have their bound
// values. It refuses a program that needs more memory than it may take, before
// it takes any, and one whose reads leave their arrays.
func New(b *ir.Binding, o Options) (*State, error) {
	s, need, err := prepare(b, o)
	if err != nil {
		return nil, err
	}
	if o.MaxBytes > 0 && need > o.MaxBytes {
		return nil, fmt.Errorf("the reference executor needs %d bytes, and may take %d", need, o.MaxBytes)
	}
	for _, a := range s.arrays {
		n := cellCount(a.Shape)
		a.Data = allocate(n * int64(a.Type.Size()))
		if o.Bounds != NoBounds {
			a.Bound = make([]float64, n)
		}
	}
	s.arena = make([]uint64, s.shared()/8)
	return s, nil
}

// Bytes returns the memory that New would allocate.
func Bytes(b *ir.Binding, o Options) (int64, error) {
	_, need, err := prepare(b, o)
	return need, err
}

func prepare(b *ir.Binding, o Options) (*State, int64, error) {
	if o.Workers < 1 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	live := *b
	live.Scalars = slices.Clone(b.Scalars)
	s := &State{opts: o, b: &live, bounds: make([]float64, len(live.Scalars)), calls: map[*ir.Call]*compiledCall{}}
	for _, g := range b.Program.Grids {
		s.arrays = append(s.arrays, &Array{Type: g.Type, Shape: b.Shape(g.Dims)})
	}
	for _, call := range b.Program.Calls {
		compiled, err := s.compileCall(call)
		if err != nil {
			return nil, 0, err
		}
		s.calls[call] = compiled
	}
	if b.Program.Initial != nil {
		compiled, err := s.compileCall(b.Program.Initial)
		if err != nil {
			return nil, 0, err
		}
		s.setup = compiled
	}
	return s, s.memory(), nil
}

// memory returns what New allocates: the grids, what calls share, and the
// rows of the workers.
func (s *State) memory() int64 {
	n := s.shared()
	for _, a := range s.arrays {
		n += cellCount(a.Shape) * int64(a.Type.Size())
		if s.opts.Bounds != NoBounds {
			n += 8 * cellCount(a.Shape)
		}
	}
	for _, g := range s.all() {
		for _, st := range g.body {
			length := min(st.length, stretch)
			n += int64(s.opts.Workers) * st.needs.bytes(int(length))
			if st.src.Reduce != nil {
				n += min(batch, st.units) * length * int64(unsafe.Sizeof(cell{}))
			}
		}
	}
	return n
}

// shared returns the memory of the call that needs most.
func (s *State) shared() int64 {
	most := int64(0)
	for _, g := range s.all() {
		most = max(most, g.memory(s.opts.Bounds))
	}
	return most
}

func (s *State) all() []*compiledCall {
	var all []*compiledCall
	for _, call := range s.b.Program.Calls {
		all = append(all, s.calls[call])
	}
	if s.setup != nil {
		all = append(all, s.setup)
	}
	return all
}

func cellCount(shape []int) int64 {
	n := int64(1)
	for _, k := range shape {
		n *= int64(k)
	}
	return n
}

func asBytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
}

func asFloats(words []uint64) []float64 {
	if len(words) == 0 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&words[0])), len(words))
}

// Grid returns the memory of the grid of that name, or nil. It stays the
// grid's through rotations, which exchange its Data.
func (s *State) Grid(name string) *Array {
	return s.array(s.b.Program.Grid(name))
}

func (s *State) array(g *ir.Grid) *Array {
	if k := slices.Index(s.b.Program.Grids, g); k >= 0 {
		return s.arrays[k]
	}
	return nil
}

// Scalar returns the present value of a scalar and its bound.
func (s *State) Scalar(x *ir.Scalar) (op.Value, float64) {
	k := slices.Index(s.b.Program.Scalars, x)
	return s.b.Scalars[k], s.bounds[k]
}

// SetScalar gives a scalar an exact value, as a checkpoint holds it.
func (s *State) SetScalar(x *ir.Scalar, v op.Value) { s.set(x, v, 0) }

func (s *State) set(x *ir.Scalar, v op.Value, bound float64) {
	k := slices.Index(s.b.Program.Scalars, x)
	s.b.Scalars[k], s.bounds[k] = v, bound
	if s.lost {
		s.bounds[k] = inf
	}
}

// Evaluate returns the value of a uniform expression at the present state. It
// is the Uniforms of a Cursor: with bounds, a value that they leave undecided
// makes every bound +Inf from here on, unless devices take the same path.
func (s *State) Evaluate(e ir.Expr, step int64) op.Value {
	v, bound := s.evaluate(e, step)
	s.doubt = s.doubt || bound != 0
	if s.doubt && !s.lost && !s.opts.SamePath {
		s.lost = true
		for _, a := range s.arrays {
			fill(a.Bound, inf)
		}
		fill(s.bounds, inf)
	}
	return v
}

// evaluate returns a uniform expression's value and its bound.
func (s *State) evaluate(e ir.Expr, step int64) (op.Value, float64) {
	v := s.b.Eval(e, step)
	if s.opts.Bounds == NoBounds {
		return v, 0
	}
	switch e := e.(type) {
	case ir.Const, ir.ParamRef, ir.StepRef:
		return v, 0
	case ir.ScalarRef:
		_, bound := s.Scalar(e.Scalar)
		return v, bound
	}
	sc := &scope{state: s}
	c := sc.compiler(nil, nil, nil)
	n := c.closed(e, 0)
	st := &statement{length: 1, per: 1, units: 1, uniforms: c.uniforms, needs: needs{c.depth, len(c.uniforms), true}}
	st.prepare(s, step)
	r := st.workers[0]
	st.seek(r, 0)
	return v, n(r).b[0]
}

// ClearBounds declares the present state exact. A long run is checked leaf by
// leaf: give the grids and scalars what the device holds, ClearBounds, Execute,
// compare; else bounds grow from step to step as the worst case would.
func (s *State) ClearBounds() {
	s.doubt, s.lost = false, false
	clear(s.bounds)
	for _, a := range s.arrays {
		clear(a.Bound)
	}
}

// Undecided reports whether an iterate's end could not be decided within the
// bounds, so that a device may make another number of iterations.
func (s *State) Undecided() bool { return s.doubt }

// RunInitial executes the initial block, but for its assignments to the grids
// in skip, which have been given their contents.
func (s *State) RunInitial(skip map[*ir.Grid]bool) {
	if s.setup == nil {
		return
	}
	g := *s.setup
	g.body = slices.DeleteFunc(slices.Clone(g.body), func(st *statement) bool {
		return st.src.Array != nil && skip[st.src.Array.Grid]
	})
	s.run(&g, 0)
}

// Run executes the whole body, or as much of it as ctx allows.
func (s *State) Run(ctx context.Context) error {
	var c ir.Cursor
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.Step(&c) {
			return nil
		}
	}
}

// Step executes the leaf after c and moves c past it; false if there is none.
func (s *State) Step(c *ir.Cursor) bool {
	leaf, ok := c.Next(s.b.Program.Body, s.Evaluate)
	if ok {
		s.Execute(leaf)
	}
	return ok
}

// Execute executes one leaf.
func (s *State) Execute(leaf ir.Leaf) {
	switch o := leaf.Op.(type) {
	case *ir.Run:
		s.run(s.calls[o.Call], leaf.Step)
		if s.lost {
			for _, a := range s.arrays {
				fill(a.Bound, inf)
			}
		}
	case *ir.Rotate:
		s.rotate(o.Grids)
	default:
		panic(fmt.Sprintf("interp: %T is no leaf", o))
	}
}

// rotate gives every grid the contents of the one after it, and the last those
// of the first.
func (s *State) rotate(grids []*ir.Grid) {
	first := *s.array(grids[0])
	for k, g := range grids {
		to := s.array(g)
		from := &first
		if k+1 < len(grids) {
			from = s.array(grids[k+1])
		}
		to.Data, to.Bound = from.Data, from.Bound
	}
}

// Program returns the program in execution.
func (s *State) Program() *ir.Program { return s.b.Program }
