package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Planes is a pipeline that a block of threads carries out plane by plane along the first axis (2.5D blocking of
// several statements: Rawat et al. 2019, section III-A). In step t each stage computes plane t - Lag, on the tile and
// on its halo on the other axes. A thread has the same cells of the tile in every stage, its own: their columns stay in
// its registers. Neighbours read planes in shared memory, one step after they were written, behind a barrier.
type Planes struct {
	*Pipeline
	Lags []int64 // by stage
	// Needs is how many planes a stage computes before and after those that are stored, by stage: fewer than none where
	// others read planes on one side alone, as those that wait for parts do.
	Needs []Halo
	// Order is that of the stages in a step.
	Order []int
	// Shared is how many planes of a stage are in shared memory at a time, and Queue how many of the own cells are in
	// registers: those of the present step and older ones. 0 where nothing reads them there. What is in shared memory
	// for others is read there by all, but for columns of their own cells that threads hold (Held).
	Shared, Queue []int64
	Columns       []*Column
	Tiles         []*Tile

	keeps  Keeps
	shared map[*Stage]bool // those that are read at cells of others
}

// Held says which columns of their own cells threads hold in registers where neighbours read the same planes in shared
// memory.
type Held uint8

const (
	HeldGrids Held = iota // those of grids of memory
	HeldAll               // those of stages, too
	HeldHalos             // those, and also of grids that are read for a stage which is computed on a halo
	HeldNone              // neither: threads read planes that are there for others
)

// Column is planes of a grid of memory that threads read at their own cells: in step t those from t + Newest down.
type Column struct {
	Grid           *graph.Value
	Newest, Length int64
}

// Tile is planes of a grid of memory that threads read at cells of others, on the tile and a halo: in step t those from
// t + Newest down. They may be copied to shared memory.
type Tile struct {
	Grid           *graph.Value
	Newest, Planes int64
	Halo           []Halo // by axis of a plane
	// Beside says by axis of a plane that no access leads to the cells that it is evaluated at, or across them. Then a
	// tile may have cells that nobody reads, and that the grid has not.
	Beside []bool
}

// Keeps says what threads and blocks keep of planes, and for how long.
type Keeps struct {
	Held Held
	// Fetched planes of a grid stay in shared memory from when the first column reads one until neighbours have. Else
	// they are fetched again for neighbours.
	Fetched bool
}

// NewPlanes decides the lags of a pipeline, and where its values are. It returns a Refusal where it cannot be carried
// out plane by plane.
func NewPlanes(p *Pipeline, keeps Keeps) (*Planes, error) {
	n := len(p.Stages)
	s := &Planes{Pipeline: p, Lags: make([]int64, n), Shared: make([]int64, n), Queue: make([]int64, n), keeps: keeps}
	for k, wraps := range p.Wraps {
		if wraps {
			return nil, p.refuse(p.Stages[0], "%s is periodic", p.axis(k))
		}
	}
	s.shared = s.neighbours()
	for i, st := range p.Stages {
		if st.Stmt.Color != nil {
			return nil, p.refuse(st, "%s is assigned at the cells of one colour", st.Stmt.Array.Name)
		}
		if st.Output != nil && !st.Output.Spare { // it is stored when all have read what it takes the place of
			for j, reader := range p.Stages[:i] {
				if p.readsMemory(reader, st.Value.Memory) {
					s.Lags[i] = max(s.Lags[i], s.Lags[j])
				}
			}
		}
		s.reads(st, func(r planeRead) {
			lag := s.Lags[r.from.Number] + r.high
			if !r.own {
				lag++ // behind the barrier
			}
			s.Lags[i] = max(s.Lags[i], lag)
		})
	}
	s.delay()
	s.need()
	for i, st := range p.Stages {
		s.reads(st, func(r planeRead) {
			from := r.from.Number
			planes := &s.Shared[from]
			if r.own {
				planes = &s.Queue[from]
			}
			*planes = max(*planes, s.Lags[i]-r.low-s.Lags[from]+1)
		})
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if v.Def == nil && !s.InColumn(st, a) && s.Whole(a) {
				s.tile(v, st, a, a.Index[0].Offset-s.Lags[i])
			}
			return nil
		})
	}
	for i, st := range p.Stages {
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if v.Def != nil || !s.InColumn(st, a) && !(s.keeps.Held == HeldHalos && s.Straight(st, a)) {
				return nil
			}
			plane := a.Index[0].Offset - s.Lags[i]
			if s.keeps.Held != HeldNone || !s.TileOf(v).Has(plane) {
				s.column(v, plane)
			}
			return nil
		})
	}
	if keeps.Fetched {
		for _, c := range s.Columns {
			if t := s.TileOf(c.Grid); t != nil && c.Newest > t.Newest {
				t.Planes += c.Newest - t.Newest
				t.Newest = c.Newest
			}
		}
	}
	s.order()
	return s, nil
}

// Has reports whether threads hold a plane that is so many after that of the step: others of the grid may be in a tile.
func (c *Column) Has(plane int64) bool {
	return c != nil && plane <= c.Newest && plane > c.Newest-c.Length
}

// Has reports whether threads find a plane that is so many after that of the step; there is no tile of some grids.
func (t *Tile) Has(plane int64) bool {
	return t != nil && plane <= t.Newest && plane > t.Newest-t.Planes
}

// holdsAll reports whether threads hold columns of stages in registers that are in shared memory for others, too.
func (s *Planes) holdsAll() bool { return s.keeps.Held == HeldAll || s.keeps.Held == HeldHalos }

// delay has stages compute a plane as late as others allow: then few planes of it are held, and it reads the same
// planes of memory as those that read it.
func (s *Planes) delay() {
	latest := slices.Repeat([]int64{slices.Max(s.Lags)}, len(s.Stages))
	limit := func(i int, lag int64) { latest[i] = min(latest[i], lag) }
	for i, st := range slices.Backward(s.Stages) { // all that read a stage come after it
		s.Lags[i] = latest[i]
		s.reads(st, func(r planeRead) {
			lag := s.Lags[i] - r.high
			if !r.own {
				lag--
			}
			limit(r.from.Number, lag)
		})
		if st.Output == nil || st.Output.Spare {
			continue
		}
		for j, reader := range s.Stages[:i] {
			if s.readsMemory(reader, st.Value.Memory) {
				limit(j, s.Lags[i])
			}
		}
	}
}

// need finds which planes of each stage are read, or stored.
func (s *Planes) need() {
	found := make([]bool, len(s.Stages))
	s.Needs = make([]Halo, len(s.Stages))
	for i, st := range slices.Backward(s.Stages) { // all that read a stage come after it
		if st.Output == nil && !found[i] {
			s.Needs[i] = st.Halo[0]
		}
		s.reads(st, func(r planeRead) {
			from := r.from.Number
			by := Halo{s.Needs[i].Low - r.first, s.Needs[i].High + r.last}
			if !found[from] && r.from.Output == nil {
				s.Needs[from] = by
			}
			s.Needs[from].widen(by, 0)
			found[from] = true
		})
	}
}

// order has stages read older planes of a stage in registers before that one computes a new plane, where nothing else
// speaks against it: then the old one makes room for the new one. What is stored is so as soon as it can be.
func (s *Planes) order() {
	n := len(s.Stages)
	after := make([][]int, n) // by stage, those that come before it
	var wishes [][2]int       // that one comes after another
	for i, st := range s.Stages {
		s.reads(st, func(r planeRead) {
			switch {
			case s.Lags[i]-r.last == s.Lags[r.from.Number]:
				after[i] = append(after[i], r.from.Number)
			case r.own:
				wishes = append(wishes, [2]int{r.from.Number, i})
			}
		})
		if st.Output == nil || st.Output.Spare {
			continue
		}
		for j, reader := range s.Stages[:i] { // it is stored when all have read it
			if s.readsMemory(reader, st.Value.Memory) {
				after[i] = append(after[i], j)
			}
		}
	}
	// visit calls f for a stage when it has for all that come before it.
	var visit func(i int, seen []bool, f func(int))
	visit = func(i int, seen []bool, f func(int)) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, j := range after[i] {
			visit(j, seen, f)
		}
		f(i)
	}
	for _, w := range wishes {
		possible := true
		visit(w[1], make([]bool, n), func(i int) { possible = possible && i != w[0] })
		if possible {
			after[w[0]] = append(after[w[0]], w[1])
		}
	}
	s.Order = nil
	seen, done := make([]bool, n), make([]bool, n)
	var place func(i int)
	place = func(i int) {
		s.Order, done[i] = append(s.Order, i), true
		for j, st := range s.Stages {
			waits := func(k int) bool { return !done[k] }
			if st.Output != nil && slices.Contains(after[j], i) && !slices.ContainsFunc(after[j], waits) {
				visit(j, seen, place)
			}
		}
	}
	for i := range n {
		visit(i, seen, place)
	}
}

// UpdateInPlace lets outputs take the place of what is in memory, without a spare, where every cell of that is read by
// the thread alone that stores it. Families whose threads store what they compute, once a cell, may do so.
func (p *Pipeline) UpdateInPlace() {
	for _, o := range p.Span.Outputs {
		g := o.Value.Memory
		elsewhere := func(st *Stage) bool { return p.readsMemory(st, g) && !p.readsOwn(st, g) }
		o.Spare = o.Spare && (!o.Value.Uniform() || slices.ContainsFunc(p.Stages, elsewhere))
	}
}

// InPlace reports whether a stage stores to a grid in memory, and not to a spare.
func (p *Pipeline) InPlace(g *ir.Grid) bool {
	return slices.ContainsFunc(p.Span.Outputs, func(o *graph.Output) bool { return o.Value.Memory == g && !o.Spare })
}

// Overwrites reports whether a stage's statement reads a grid that the kernel updates in place.
func (p *Pipeline) Overwrites(st *Stage) bool {
	return slices.ContainsFunc(p.Span.Outputs, func(o *graph.Output) bool {
		return !o.Spare && p.assignsFrom(st, o.Value.Memory)
	})
}

// readsMemory reports whether a stage reads a grid as it was before the span.
func (p *Pipeline) readsMemory(st *Stage, g *ir.Grid) bool {
	return p.assignsFrom(st, g) ||
		st.Fills() && st.Value.Before != nil && st.Value.Before.Def == nil && st.Value.Before.Memory == g
}

// assignsFrom reports whether a stage's statement reads a grid as it was before the span.
func (p *Pipeline) assignsFrom(st *Stage, g *ir.Grid) bool {
	found := false
	_ = st.Accesses(func(_ *ir.Access, v *graph.Value) error {
		found = found || v.Def == nil && v.Memory == g
		return nil
	})
	return found
}

// readsOwn reports whether a stage is computed once a cell, and reads the same cell alone of a grid in memory.
func (p *Pipeline) readsOwn(st *Stage, g *ir.Grid) bool {
	own := !slices.ContainsFunc(st.Halo, func(h Halo) bool { return h != Halo{} })
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		for d := range a.Index {
			own = own && (v.Def != nil || v.Memory != g || pointwise(a) && st.straight(a, d))
		}
		return nil
	})
	return own
}

// planeRead is a read of a stage's values: the lowest and the highest offset along the stream, of what is read and of
// the plane itself; the first and the last offset of what is read; and whether it is of the thread's own cells.
type planeRead struct {
	from        *Stage
	low, high   int64
	first, last int64
	own         bool
}

// neighbours returns the stages that others read at cells of other threads.
func (s *Planes) neighbours() map[*Stage]bool {
	list := map[*Stage]bool{}
	for _, st := range s.Stages {
		if before := s.Stage(st.Value.Before); before != nil && st.Fills() && !s.Own(st) {
			list[before] = true
		}
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if from := s.Stage(v); from != nil && !s.InColumn(st, a) {
				list[from] = true
			}
			return nil
		})
	}
	return list
}

// Own reports whether a stage is computed at the tile's cells alone, so that each thread computes its own.
func (s *Planes) Own(st *Stage) bool {
	return !slices.ContainsFunc(st.Halo[1:], func(h Halo) bool { return h != Halo{} })
}

// InColumn reports whether an access leads from the own cells of a stage along the stream alone.
func (s *Planes) InColumn(st *Stage, a *ir.Access) bool { return s.Own(st) && s.Straight(st, a) }

// Straight reports whether an access leads from each cell of a stage along the stream alone.
func (s *Planes) Straight(st *Stage, a *ir.Access) bool {
	return s.Direct(st, a) && !slices.ContainsFunc(a.Index[1:], func(ix ir.Index) bool { return ix.Offset != 0 })
}

// Direct reports whether no boundary leads an access of a stage to other cells than its offsets say.
func (s *Planes) Direct(st *Stage, a *ir.Access) bool {
	if !s.Whole(a) {
		return false
	}
	for d := range a.Index {
		if !st.straight(a, d) {
			return false
		}
	}
	return true
}

// straight reports whether no boundary leads an access of a stage to another cell on a dimension than its index says.
func (st *Stage) straight(a *ir.Access, d int) bool {
	faces, dim := a.Array.Dims[d].Faces, st.Dim(a.Index[d].Axis)
	if faces.Low.Kind == ir.None && faces.High.Kind == ir.None {
		return true
	}
	return dim != nil && a.Index[d].Offset == 0 &&
		a.Array.Holds(d).Equal(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}})
}

// reads calls f for every read of another stage's values.
func (s *Planes) reads(st *Stage, f func(planeRead)) {
	if before := s.Stage(st.Value.Before); before != nil && st.Fills() {
		f(planeRead{from: before, own: !s.shared[before]})
	}
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := s.Stage(v)
		if from == nil {
			return nil
		}
		for d, ix := range a.Index {
			if ix.Axis != s.Axes[0] {
				continue
			}
			low, high, err := s.reach(st, a, d) // New has refused what has none
			if err != nil {
				return err
			}
			own := !s.shared[from] || s.holdsAll() && s.InColumn(st, a)
			r := planeRead{from: from, low: low, high: high, first: low, last: high, own: own}
			if st.straight(a, d) {
				r.first, r.last = ix.Offset, ix.Offset
			}
			f(r)
		}
		return nil
	})
}

// column makes sure that threads have the plane of a grid that is so many after that of the step.
func (s *Planes) column(v *graph.Value, plane int64) {
	c := s.ColumnOf(v)
	if c == nil {
		s.Columns = append(s.Columns, &Column{v, plane, 1})
		return
	}
	oldest := min(c.Newest-c.Length+1, plane)
	c.Newest = max(c.Newest, plane)
	c.Length = c.Newest - oldest + 1
}

// Whole reports whether an access has an index for each axis of the pipeline, in order.
func (s *Planes) Whole(a *ir.Access) bool {
	if len(a.Index) != len(s.Axes) {
		return false
	}
	for d, ix := range a.Index {
		if ix.Axis != s.Axes[d] {
			return false
		}
	}
	return true
}

// tile makes sure that threads find the plane of a grid that is so many after that of the step, and the cells that an
// access of a stage leads to.
func (s *Planes) tile(v *graph.Value, st *Stage, a *ir.Access, plane int64) {
	t := s.TileOf(v)
	if t == nil {
		n := len(s.Axes) - 1
		t = &Tile{v, plane, 1, make([]Halo, n), slices.Repeat([]bool{true}, n)}
		s.Tiles = append(s.Tiles, t)
	}
	oldest := min(t.Newest-t.Planes+1, plane)
	t.Newest = max(t.Newest, plane)
	t.Planes = t.Newest - oldest + 1
	for d := range t.Halo {
		offset, h := a.Index[d+1].Offset, st.Halo[d+1]
		t.Halo[d].widen(h, offset)
		t.Beside[d] = t.Beside[d] && (h.Low-offset < 0 || h.High+offset < 0)
	}
}

// TileOf returns the planes of a grid that threads read at cells of others; nil if there are none.
func (s *Planes) TileOf(v *graph.Value) *Tile {
	for _, t := range s.Tiles {
		if t.Grid == v {
			return t
		}
	}
	return nil
}

// ColumnOf returns the column of a grid; nil if threads read it cell by cell.
func (s *Planes) ColumnOf(v *graph.Value) *Column {
	for _, c := range s.Columns {
		if c.Grid == v {
			return c
		}
	}
	return nil
}

// Verify reports what a step would read that is not there: a plane that was not computed before, or is overwritten.
func (s *Planes) Verify() error {
	for i, st := range s.Stages {
		var wrong error
		s.reads(st, func(r planeRead) {
			from, n := r.from.Number, s.Needs[i]
			if has := s.Needs[from]; n.Low-r.first > has.Low || n.High+r.last > has.High {
				wrong = fmt.Errorf("%s reads planes of %s that are not computed", st.Value.Name(), r.from.Value.Name())
			}
			youngest, oldest := s.Lags[i]-r.high-s.Lags[from], s.Lags[i]-r.low-s.Lags[from]
			planes, least := s.Shared[from], int64(1)
			if r.own {
				planes, least = s.Queue[from], 0
			}
			late := s.Lags[i]-r.last == s.Lags[from] && slices.Index(s.Order, from) >= slices.Index(s.Order, i)
			if youngest < least || oldest >= planes || late {
				wrong = fmt.Errorf("%s reads planes of %s that are %d to %d steps old, and %d are there",
					st.Value.Name(), r.from.Value.Name(), youngest, oldest, planes)
			}
		})
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

// String returns the stages in their order in a step, one a line, and then the columns and tiles of memory.
//
// Example text:
//
//	gx, lag 0, 2 planes in shared memory
//	gz, lag 0, halo 1:0, 2 in registers
//	new, lag 1
//	column of old: 3 planes, the newest 2 ahead
//	tile of old: 1 plane, the newest 0 ahead, halo 0:0 2:1
func (s *Planes) String() string {
	var b strings.Builder
	for _, i := range s.Order {
		st := s.Stages[i]
		fmt.Fprintf(&b, "%s, lag %d", st.Value.Name(), s.Lags[i])
		if n := s.Needs[i]; n != (Halo{}) {
			fmt.Fprintf(&b, ", halo %d:%d", n.Low, n.High)
		}
		if n := s.Shared[i]; n > 0 {
			fmt.Fprintf(&b, ", %d planes in shared memory", n)
		}
		if n := s.Queue[i]; n > 0 {
			fmt.Fprintf(&b, ", %d in registers", n)
		}
		b.WriteString("\n")
	}
	for _, c := range s.Columns {
		fmt.Fprintf(&b, "column of %s: %d planes, the newest %d ahead\n", c.Grid.Name(), c.Length, c.Newest)
	}
	for _, t := range s.Tiles {
		fmt.Fprintf(&b, "tile of %s: %d planes, the newest %d ahead, halo", t.Grid.Name(), t.Planes, t.Newest)
		for _, h := range t.Halo {
			fmt.Fprintf(&b, " %d:%d", h.Low, h.High)
		}
		b.WriteString("\n")
	}
	return b.String()
}
