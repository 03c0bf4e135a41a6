package transform

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// maxNodes bounds a call that grids have been inlined into: operations, reads
// and constants, as written.
const maxNodes = 8192

// Inline computes local grids where they are read, at every cell again that
// reads them: overlapped tiling with a recomputed halo, in its form without
// memory between the statements (Rawat et al. 2019, section II-A). A grid that
// is read at one offset more than once becomes a temp for that offset.
//
//	lap[j][i] = u[j][i+1] - u[j][i-1];
//	out[j][i] = lap[j][i] - lap[j][i-1];
//	=>
//	out[j][i] = (u[j][i+1] - u[j][i-1]) - (u[j][i+0] - u[j][i-2]);
//
// The same operations are done on the same values, so that every cell has the
// same bits. Inline refuses a grid with boundary conditions, unless what it is
// computed from is periodic like itself, one that is written by more than one
// plain statement, and one whose sources change before it is
// read; all grids are inlined or the call is refused.
func Inline(p *ir.Program, s *ir.Call, grids ...*ir.Array) (*Inlined, error) {
	in := newInliner(p, s)
	// Readers first: what they read at repeated offsets shows before it is
	// inlined itself.
	order := slices.Clone(grids)
	slices.SortStableFunc(order, func(a, b *ir.Array) int { return in.assigned(b) - in.assigned(a) })
	for _, a := range order {
		if err := in.inline(a); err != nil {
			return nil, err
		}
	}
	return &Inlined{in.call, in.from}, nil
}

// Inlined is a call without some of its local grids.
type Inlined struct {
	Call *ir.Call
	// From holds for each of its statements the index of the source's statement
	// that it comes from; for temps in place of a grid that of the assignment.
	From []int
}

// Inlinable returns the local grids of a call that Inline takes together, in
// the call's order. Where not all can be, grids that are assigned late are
// preferred. The errors are the reasons for the others.
func Inlinable(p *ir.Program, s *ir.Call) ([]*ir.Array, []error) {
	in := newInliner(p, s)
	var locals, out []*ir.Array
	for _, a := range s.Arrays {
		if a.Local {
			locals = append(locals, a)
		}
	}
	order := slices.Clone(locals)
	slices.SortStableFunc(order, func(a, b *ir.Array) int { return in.assigned(b) - in.assigned(a) })
	var refused []error
	for _, a := range order {
		if err := in.inline(a); err != nil {
			refused = append(refused, err)
			continue
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *ir.Array) int { return slices.Index(s.Arrays, a) - slices.Index(s.Arrays, b) })
	return out, refused
}

type inliner struct {
	program *ir.Program
	call    *ir.Call
	from    []int // where the call's statements come from
}

func newInliner(p *ir.Program, s *ir.Call) *inliner {
	in := &inliner{program: p, call: s}
	for i := range s.Body {
		in.from = append(in.from, i)
	}
	return in
}

// assigned returns the index of the first statement that assigns a grid.
func (in *inliner) assigned(a *ir.Array) int {
	return slices.IndexFunc(in.call.Body, func(st *ir.Stmt) bool { return st.Array == a })
}

// read is one read of the grid that is inlined.
type read struct {
	stmt int
	at   offset
}

func (in *inliner) inline(a *ir.Array) error {
	refuse := func(format string, args ...any) error {
		return &Refusal{"the local grid " + a.Name, fmt.Sprintf(format, args...)}
	}
	def := in.assigned(a)
	switch {
	case !a.Local || !slices.Contains(in.call.Arrays, a):
		return refuse("is not one of call %s", in.call.Name)
	case def < 0:
		return refuse("is never assigned")
	}
	open, ok := in.periodic(a, def)
	if !ok {
		return refuse("has boundary conditions")
	}
	st := in.call.Body[def]
	if st.Color != nil {
		return refuse("is assigned at cells of a colour")
	}
	for _, other := range in.call.Body[def+1:] {
		if other.Array == a {
			return refuse("is assigned more than once")
		}
	}
	if !st.Domain.Equal(a.Box) {
		return refuse("is not assigned on all of its cells")
	}
	reads, err := in.readsOf(a)
	if err != nil {
		return refuse("%v", err)
	}
	if err := in.unchanged(a, def, reads); err != nil {
		return refuse("%v", err)
	}
	body, from := in.rewrite(a, def, open, reads)
	if n := sizeOf(body); n > maxNodes && n > sizeOf(in.call.Body) {
		return refuse("would make the call grow from %d to %d terms; at most %d are allowed", sizeOf(in.call.Body),
			n, maxNodes)
	}
	next := *in.call
	next.Body = body
	next.Arrays = slices.DeleteFunc(slices.Clone(next.Arrays), func(b *ir.Array) bool { return a == b })
	next.Temps = tempsOf(body)
	in.call, in.from = &next, from
	return nil
}

// tempsOf returns the scalars that statements assign.
func tempsOf(body []*ir.Stmt) []*ir.Temp {
	var list []*ir.Temp
	for _, st := range body {
		if st.Temp != nil {
			list = append(list, st.Temp)
		}
	}
	return list
}

// periodic returns the axes along which a grid repeats itself. Its boundaries
// are no obstacle there: what it is computed from repeats itself likewise, so
// that computing it beyond a face gives the cell that the face leads to. It is
// false if the grid has other boundaries.
func (in *inliner) periodic(a *ir.Array, def int) (axes []int, ok bool) {
	temps := definitions(in.call.Body)
	from := sourcesOf(in.call.Body[def].Value, temps)
	for d, dim := range a.Dims {
		if dim.Faces.Low.Kind == ir.None && dim.Faces.High.Kind == ir.None {
			continue
		}
		if !repeats(a, d, dim.Axis, a.Holds(d)) || from.positions[dim.Axis] {
			return nil, false
		}
		for _, acc := range from.accesses {
			for i, ix := range acc.Index {
				if ix.Axis == dim.Axis && !repeats(acc.Array, i, dim.Axis, a.Holds(d)) {
					return nil, false
				}
			}
		}
		for _, t := range from.temps {
			if !t.Box[dim.Axis].Equal(ir.Range{}) {
				return nil, false
			}
		}
		axes = append(axes, dim.Axis)
	}
	return axes, true
}

// repeats reports whether dimension d of an array is periodic along an axis,
// with a period.
func repeats(a *ir.Array, d, axis int, period ir.Range) bool {
	dim := a.Dims[d]
	return dim.Axis == axis && dim.Faces.Low.Kind == ir.Periodic && dim.Faces.High.Kind == ir.Periodic &&
		a.Holds(d).Equal(period)
}

// readsOf returns all reads of a grid.
func (in *inliner) readsOf(a *ir.Array) ([]read, error) {
	var out []read
	var err error
	for i, st := range in.call.Body {
		ir.Walk(st.Value, func(e ir.Expr) {
			acc, ok := e.(*ir.Access)
			if !ok || acc.Array != a {
				return
			}
			at, straight := in.offsetOf(acc)
			if !straight {
				err = fmt.Errorf("is read at a fixed index or along another axis")
			}
			out = append(out, read{i, at})
		})
	}
	return out, err
}

// offsetOf returns the displacement of a read, if it is no more than that.
func (in *inliner) offsetOf(acc *ir.Access) (offset, bool) {
	at := make(offset, len(in.program.Axes))
	for d, ix := range acc.Index {
		if ix.Axis < 0 || ix.Axis != acc.Array.Dims[d].Axis {
			return nil, false
		}
		at[ix.Axis] = ix.Offset
	}
	return at, true
}

// unchanged reports whether what a grid is computed from stays as it is until
// the grid has been read for the last time.
func (in *inliner) unchanged(a *ir.Array, def int, reads []read) error {
	body := in.call.Body
	from := sourcesOf(body[def].Value, definitions(body))
	last, straight := def, true
	for _, r := range reads {
		last = max(last, lastUse(body, r.stmt))
		straight = straight && r.at.zero()
	}
	for i := def + 1; i <= last; i++ {
		switch st := body[i]; {
		case st.Array != nil && from.reads(st.Array):
			// The last reader may replace the cell that it reads.
			if i < last || !straight || !from.stays(st.Array) {
				return fmt.Errorf("is read after %s has changed, which it is computed from", st.Array.Name)
			}
		case st.Reduce != nil && from.scalars[st.Reduce.Scalar]:
			return fmt.Errorf("is read after %s has changed, which it is computed from", st.Reduce.Scalar.Name)
		}
	}
	return nil
}

// rewrite returns the body without the grid, and where its statements come
// from. Along open axes the grid is defined without limit.
func (in *inliner) rewrite(a *ir.Array, def int, open []int, reads []read) (body []*ir.Stmt, from []int) {
	st := in.call.Body[def]
	moved := &displaced{program: in.program, call: in.call, def: definitions(in.call.Body),
		varies: variations(in.call.Body), made: map[instance]*ir.Temp{}, names: map[string]bool{},
		after: map[*ir.Stmt][]*ir.Stmt{}}
	box := st.Domain.Clone()
	for _, axis := range open {
		box[axis] = ir.Range{}
	}
	counts := map[string]int{}
	for _, r := range reads {
		counts[r.at.suffix(in.program.Axes)]++
	}
	// Offsets in the order in which they are met.
	values := map[string]ir.Expr{}
	var shared []*ir.Stmt
	for _, r := range reads {
		key := r.at.suffix(in.program.Axes)
		if values[key] != nil {
			continue
		}
		values[key] = moved.expr(st.Value, r.at)
		if counts[key] > 1 {
			t := moved.temp(a.Name, a.Type, r.at, box)
			shared = append(shared, &ir.Stmt{Temp: t, Value: values[key], Domain: t.Box, Range: st.Range})
			values[key] = ir.TempRef{Temp: t}
		}
	}
	add := func(i int, list ...*ir.Stmt) {
		for _, st := range list {
			body, from = append(body, st), append(from, in.from[i])
		}
	}
	for i, old := range in.call.Body {
		if i == def {
			add(i, shared...)
			continue
		}
		c := *old
		c.Value = ir.Rewrite(old.Value, func(e ir.Expr) ir.Expr {
			acc, ok := e.(*ir.Access)
			if !ok || acc.Array != a {
				return e
			}
			at, _ := in.offsetOf(acc)
			return values[at.suffix(in.program.Axes)]
		})
		add(i, &c)
		add(i, moved.after[old]...)
	}
	return body, from
}

// displaced makes temps for the values of temps at other cells.
type displaced struct {
	program *ir.Program
	call    *ir.Call
	def     map[*ir.Temp]*ir.Stmt
	varies  map[*ir.Temp][]int
	made    map[instance]*ir.Temp
	names   map[string]bool
	after   map[*ir.Stmt][]*ir.Stmt // new statements, by the one that they follow
}

// instance is a temp at a displaced cell.
type instance struct {
	temp *ir.Temp
	at   string
}

// expr returns what e is at the displaced cell.
func (d *displaced) expr(e ir.Expr, o offset) ir.Expr {
	return shift(e, o, func(t *ir.Temp) ir.Expr {
		at := o.on(d.varies[t])
		if at.zero() {
			return ir.TempRef{Temp: t}
		}
		key := instance{t, at.suffix(d.program.Axes)}
		if d.made[key] == nil {
			st := d.def[t]
			value := d.expr(st.Value, at)
			u := d.temp(t.Name, t.Type, at, t.Box)
			d.made[key] = u
			d.after[st] = append(d.after[st], &ir.Stmt{Temp: u, Value: value, Domain: u.Box, Range: st.Range})
		}
		return ir.TempRef{Temp: d.made[key]}
	})
}

// temp makes a temp for a value at a displaced cell, which without displacement
// is defined on a box.
func (d *displaced) temp(name string, t types.Type, o offset, box ir.Box) *ir.Temp {
	if s := o.suffix(d.program.Axes); s != "" {
		name += "_" + s
	}
	base := name
	for i := 2; d.taken(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	d.names[name] = true
	return &ir.Temp{Name: name, Type: t, Box: shiftBox(box, o)}
}

func (d *displaced) taken(name string) bool {
	if d.names[name] {
		return true
	}
	for _, t := range d.call.Temps {
		if t.Name == name {
			return true
		}
	}
	return slices.ContainsFunc(d.call.Arrays, func(a *ir.Array) bool { return a.Grid != nil && a.Name == name })
}
