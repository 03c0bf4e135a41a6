package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/compare"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Verification is a comparison of a device with the reference executor.
type Verification struct {
	Sizes      map[string]int64 `json:"sizes"`
	Smaller    bool             `json:"smaller"`          // than those of the run
	Random     []string         `json:"random,omitempty"` // grids with random values: files do not fit smaller sizes, and zeros prove nothing
	Iterations int64            `json:"iterations"`       // how far both went
	Compared   []int64          `json:"compared_after"`   // iterations
	Cells      int64            `json:"cells"`            // of all grids, and the scalars, that were compared
	NaNs       int64            `json:"nans"`             // that were not, because both sides have no number
	Differ     int64            `json:"differ"`           // that are not the same bits at the end
	Beyond     int64            `json:"beyond"`           // that are further off than the arithmetic allows
	MaxAbs     quantity.Number  `json:"max_abs"`          // over all comparisons, as the next two
	MaxULP     uint64           `json:"max_ulp"`
	OfBound    quantity.Number  `json:"max_of_bound"`       // difference by what the arithmetic allows
	Undecided  int64            `json:"undecided"`          // that differ at the end, and have no bound
	Integers   int64            `json:"undecided_integers"` // of them those that are not floating-point
	Decided    int64            `json:"decided_iterations"` // after which there were none
	Ends       string           `json:"loop_end,omitempty"` // how the ends of loops differ

	Vanished int64 `json:"vanished_after,omitempty"`   // iterations after which both sides have no quantity.Number in any computed cell
	Nothing  bool  `json:"nothing_compared,omitempty"` // of what the program computes

	Wrong []string `json:"-"` // what is beyond, in words

	computed int64 // of the cells compared, those that the program may have computed
}

// CheckRequest asks for a check of a job.
type CheckRequest struct {
	Job Job
	// Set is what the job's sizes and scalars were bound by: where the reference executor
	// cannot afford the sizes, all that depends on others is bound anew.
	Set map[string]string
	// Given are the grids that Fill gives their first values, at the job's own sizes.
	Given []*ir.Grid
	Fill  func(exec.Runner) error // nil if there are none
	// Begin is told how many iterations both will run. It may be nil.
	Begin func(iterations int64)
	Hooks
}

// Check runs the beginning of a job on its device and on the reference
// executor, and compares every cell of every grid and every reduced scalar
// after 1, 2, 4, 8 ... iterations: mistakes show early, while the bounds on
// rounding errors are tight. If the reference cannot afford even that, both
// run at smaller sizes.
func Check(ctx context.Context, r CheckRequest) (*Verification, error) {
	if r.Job.Whole != nil { // so that what follows is a check of that, too
		if err := tuner.SameBits(ctx, r.Job.Whole, r.Job.Bound, r.Set); err != nil {
			return nil, fmt.Errorf("the version %s of the program: %w", r.Job.Version, err)
		}
	}
	a, err := r.affordable(ctx)
	if err != nil {
		return nil, err
	}
	if r.Begin != nil {
		r.Begin(min(Iterations(a.bound), a.iterations))
	}
	want, err := exec.OpenReference(a.bound, exec.ReferenceOptions{
		Bounds: a.mode, SamePath: true, Progress: r.Progress,
	})
	if err != nil {
		return nil, err
	}
	defer want.Close()
	smaller := r.Job
	smaller.Bound = a.bound
	got, err := smaller.Open(ctx, Hooks{Note: r.Note})
	if err != nil {
		return nil, err
	}
	defer got.Close()
	v := &Verification{Sizes: map[string]int64{}, Smaller: a.bound != r.Job.Bound, Compared: []int64{}}
	for i, q := range a.bound.Program.Params {
		v.Sizes[q.Name] = a.bound.Params[i]
	}
	for _, runner := range []exec.Runner{want, got} {
		if v.Random, err = r.firstValues(runner, a.bound, v.Smaller); err != nil {
			return nil, err
		}
	}
	p := &pair{
		ctx: ctx, device: r.Job.Device.ID, bound: a.bound, mode: a.mode, want: want, got: got,
		leaves: a.leaves, byLeaf: a.conditional,
		boxes: compare.Computed(a.bound),
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	for !p.done && v.Beyond == 0 {
		if err := p.advance(min(max(1, p.iterations), a.iterations-p.iterations)); err != nil {
			return nil, err
		}
		if err := p.compare(v); err != nil {
			return nil, err
		}
		p.done = p.done || p.iterations >= a.iterations
	}
	return v, nil
}

// OK reports whether the check has found no fault: everything agrees as far as the
// arithmetic allows, and there was something to compare.
func (v *Verification) OK() bool { return v.Beyond == 0 && !v.Nothing }

// firstValues gives a runner the job's own first values where there are any.
// Random ones stand in for given ones, which do not fit smaller sizes, and for the
// zeros that a program reads where nothing was given: zeros would agree however
// wrong a kernel is. It returns the grids that got those.
func (r *CheckRequest) firstValues(runner exec.Runner, b *ir.Binding, smaller bool) ([]string, error) {
	var given, random []string
	if !smaller && r.Fill != nil {
		if err := r.Fill(runner); err != nil {
			return nil, err
		}
		for _, g := range r.Given {
			given = append(given, g.Name)
		}
	}
	empty := Unset(b, r.Given).Read
	for i, g := range b.Program.Grids {
		if !empty[g] && !(smaller && slices.Contains(r.Given, g)) {
			continue
		}
		cells, err := runner.Grid(g.Name)
		if err != nil {
			return nil, err
		}
		randomise(g.Type, cells, uint64(i))
		random = append(random, g.Name)
	}
	return random, runner.Initialise(append(given, random...))
}

// pair is the reference executor and a device on their way through a program.
type pair struct {
	ctx        context.Context
	device     string
	bound      *ir.Binding
	mode       interp.Mode // of the reference's bounds
	want       *exec.Reference
	got        *Run
	iterations int64
	leaves     int64                    // that may still be executed; 0 for any number
	boxes      map[*ir.Grid][]ir.Extent // around the cells that are computed
	first      map[uint64]bool          // hashes of the first contents of grids
	seed       maphash.Seed
	byLeaf     bool // conditions decide where loops end: after every leaf, both must stand at one place
	done       bool
	parted     bool // the two stand at different places
}

// begin notes what the grids hold at first. A grid that holds it still, or has
// it from another in exchange, shows nothing of what was computed.
func (p *pair) begin() error {
	p.first, p.seed = map[uint64]bool{}, maphash.MakeSeed()
	for _, g := range p.bound.Program.Grids {
		cells, err := p.want.Grid(g.Name)
		if err != nil {
			return err
		}
		p.first[maphash.Bytes(p.seed, cells)] = true
	}
	return nil
}

// advance moves both on by some iterations, or to the end.
func (p *pair) advance(iterations int64) error {
	limit := exec.Limit{Iterations: iterations}
	if p.byLeaf {
		limit = exec.Limit{Leaves: 1}
	}
	until := p.iterations + iterations
	for {
		x, err := p.want.Advance(p.ctx, limit)
		if err != nil {
			return err
		}
		y, err := p.got.Advance(p.ctx, limit)
		if err != nil {
			return err
		}
		if x.Stopped || y.Stopped {
			return &Fault{Cause: Interrupted, Err: errors.New("interrupted during the check")}
		}
		p.iterations = x.Iterations
		if p.parted = !same(p.want.Place().Cursor, p.got.Place().Cursor); p.parted {
			p.done = true
			return nil
		}
		if p.leaves--; p.leaves == 0 {
			p.done = true
		}
		if p.done = p.done || x.Finished; p.done || !p.byLeaf || p.iterations >= until {
			return nil
		}
	}
}

func same(a, b ir.Cursor) bool {
	return a.Completed == b.Completed && slices.Equal(a.Frames, b.Frames)
}

// compare compares everything where both stand now. Where nothing is a number
// any more, what was compared before stands, and the check ends.
func (p *pair) compare(v *Verification) error {
	v.Iterations = p.iterations
	if p.parted {
		return p.ends(v)
	}
	before := *v
	if err := p.compareAll(v); err != nil || v.computed > 0 || v.Beyond > 0 || v.NaNs == 0 {
		return err
	}
	p.done = true
	if len(before.Compared) == 0 {
		v.Nothing = true
		return nil
	}
	*v = before
	v.Vanished = p.iterations
	return nil
}

func (p *pair) compareAll(v *Verification) error {
	if n := len(v.Compared); n == 0 || v.Compared[n-1] < p.iterations {
		v.Compared = append(v.Compared, p.iterations)
	}
	v.Cells, v.NaNs, v.computed, v.Differ, v.Undecided, v.Integers = 0, 0, 0, 0, 0, 0
	for _, g := range p.bound.Program.Grids {
		if slices.Contains(p.got.Dropped, g) {
			continue
		}
		want, err := p.want.Grid(g.Name)
		if err != nil {
			return err
		}
		got, err := p.got.Grid(g.Name)
		if err != nil {
			return err
		}
		bounds, err := p.want.Bounds(g.Name)
		if err != nil {
			return err
		}
		c := compare.Grid{Name: g.Name, Type: g.Type, Shape: p.bound.Shape(g.Dims), Bounds: bounds}
		if !p.first[maphash.Bytes(p.seed, want)] {
			c.Computed = p.boxes[g]
		}
		for _, d := range g.Dims {
			c.Lo = append(c.Lo, p.bound.Extent(d).Lo)
		}
		if err := v.add(c, want, got); err != nil {
			return err
		}
	}
	for _, s := range p.bound.Program.Scalars {
		if !s.Reduced {
			continue
		}
		if err := p.scalar(v, s); err != nil {
			return err
		}
	}
	if v.Undecided == 0 {
		v.Decided = p.iterations
	}
	return nil
}

// scalar compares the values of a reduced scalar, as a grid of one cell.
func (p *pair) scalar(v *Verification, s *ir.Scalar) error {
	want, err := p.want.Scalar(s.Name)
	if err != nil {
		return err
	}
	got, err := p.got.Scalar(s.Name)
	if err != nil {
		return err
	}
	c := compare.Grid{Name: s.Name, Type: s.Type, Computed: []ir.Extent{}}
	if p.exact() {
		return v.add(c, device.Encoded(want), device.Encoded(got))
	}
	bound, err := p.want.ScalarBound(s.Name)
	if err != nil {
		return err
	}
	c.Bounds = []float64{bound}
	return v.add(c, device.Encoded(want), device.Encoded(got))
}

// exact reports whether no rounding error is allowed at all.
func (p *pair) exact() bool { return p.mode == interp.NoBounds }

// add takes in the comparison of one grid.
func (v *Verification) add(g compare.Grid, want, got []byte) error {
	r, err := compare.Cells(g, want, got)
	if err != nil {
		return err
	}
	v.Cells += r.Cells
	v.NaNs += r.NaNs
	v.computed += r.Computed
	v.Differ += r.Differ
	v.Beyond += r.Beyond
	v.MaxAbs = max(v.MaxAbs, quantity.Number(r.MaxAbs))
	v.MaxULP = max(v.MaxULP, r.MaxULP)
	v.OfBound = max(v.OfBound, quantity.Number(r.MaxRatio))
	if !r.OK() {
		v.Wrong = append(v.Wrong, r.String())
	}
	size := g.Type.Size()
	for i, b := range g.Bounds {
		if !math.IsInf(b, 1) && b == b {
			continue
		}
		if device.Decode(g.Type, want[i*size:]).Same(device.Decode(g.Type, got[i*size:])) {
			continue
		}
		v.Undecided++
		if !g.Type.IsFloat() {
			v.Integers++
		}
	}
	return nil
}

// ends says that a loop has ended on one side alone. It may, if the bounds do
// not decide its condition.
func (p *pair) ends(v *Verification) error {
	v.Ends = fmt.Sprintf("after %s the reference and %s go different ways at the end of a loop",
		quantity.Count(p.iterations, "iteration"), p.device)
	if !p.want.Undecided() {
		v.Beyond++
	}
	return nil
}
