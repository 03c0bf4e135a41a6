package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// store is where an array's values are: a grid's memory or scratch. Dims give
// the index range of each stored dimension; the last is contiguous.
type store struct {
	arg   kernel.Arg
	order int
	name  string
	elem  types.Type
	dims  []storeDim
	// layout is that of the grid, which all kernels have to agree on: it is
	// settled before the first is built.
	layout *kernel.Layout
}

// dense is the layout of all that is no grid.
var dense = &kernel.Layout{Align: 1}

// storeDim is one dimension of a store. Its bounds are functions of the sizes,
// because every kernel has its own size arguments.
type storeDim struct {
	axis   int
	lo, hi func(size func(int) kernel.Expr) kernel.Expr // inclusive
	key    string                                       // equal keys, equal bounds
}

func (d storeDim) len(size func(int) kernel.Expr) kernel.Expr {
	return kernel.Add(kernel.Sub(d.hi(size), d.lo(size)), kernel.I(1))
}

func (st *store) cells(size func(int) kernel.Expr) kernel.Expr {
	n := kernel.I(1)
	for d := range st.dims {
		n = kernel.Mul(n, st.pitch(d, size))
	}
	return roundUp(kernel.Add(n, kernel.I(st.layout.Lead)), st.layout.Align)
}

// pitch returns the length of a dimension in memory, where the last one is
// followed by padding.
func (st *store) pitch(d int, size func(int) kernel.Expr) kernel.Expr {
	n := st.dims[d].len(size)
	if d == len(st.dims)-1 {
		return roundUp(n, st.layout.Align)
	}
	return n
}

// stride returns how far apart neighbours in a dimension are.
func (st *store) stride(d int, size func(int) kernel.Expr) kernel.Expr {
	n := kernel.I(1)
	for i := d + 1; i < len(st.dims); i++ {
		n = kernel.Mul(n, st.pitch(i, size))
	}
	return n
}

func roundUp(n kernel.Expr, to int64) kernel.Expr {
	if to == 1 {
		return n
	}
	return kernel.Mul(kernel.CeilDiv(n, kernel.I(to)), kernel.I(to))
}

// shapeKey is equal for stores whose rows start at the same places: the
// outermost dimension's end does not matter for that.
func (st *store) shapeKey() string {
	key := ""
	for i, d := range st.dims {
		if i == 0 {
			key, _, _ = strings.Cut(d.key, ":")
		} else {
			key += ";" + d.key
		}
	}
	if *st.layout != *dense {
		key += fmt.Sprintf("@%d,%d", st.layout.Lead, st.layout.Align)
	}
	return key
}

// arrayStore returns the memory of a grid or of a materialised local grid.
func (m *module) arrayStore(s *ir.Call, a *ir.Array) *store {
	if a.Grid != nil {
		return &store{
			arg:    kernel.GridArg{Grid: a.Grid},
			order:  slices.Index(s.Arrays, a),
			name:   a.Name,
			elem:   a.Type,
			dims:   m.extents(a),
			layout: m.layoutOf(a.Grid),
		}
	}
	return m.scratchStore(a, s.Name+"_"+a.Name, a.Name, a.Type, m.extents(a))
}

// oldValues is the key of an array's snapshot.
type oldValues struct{ array *ir.Array }

// snapshotStore returns scratch for a copy of an array's old values.
func (m *module) snapshotStore(s *ir.Call, a *ir.Array) *store {
	layout := dense
	if a.Grid != nil {
		layout = m.layoutOf(a.Grid) // it is copied element by element
	}
	return m.laidScratch(oldValues{a}, s.Name+"_"+a.Name+"_old", a.Name+"_old", a.Type, m.extents(a), layout)
}

// gridStore returns a grid's memory under its own name.
func (m *module) gridStore(g *ir.Grid) *store {
	return &store{
		arg:    kernel.GridArg{Grid: g},
		order:  slices.Index(m.Program.Grids, g),
		name:   g.Name,
		elem:   g.Type,
		dims:   m.extentsOf(g.Dims),
		layout: m.layoutOf(g),
	}
}

// spareStore returns memory like a grid's, which spans write in its place.
func (m *module) spareStore(g *ir.Grid) (*store, *kernel.Spare) {
	spare, ok := m.spares[g]
	if !ok {
		spare = &kernel.Spare{Name: m.unique(g.Name + "_spare"), Like: g}
		m.spares[g] = spare
	}
	st := m.gridStore(g)
	st.arg, st.name = kernel.SpareArg{Spare: spare}, g.Name+"_spare"
	st.order += orderScratch
	return st, spare
}

// extents returns the dimensions of an array's memory. They are asked for at each access, and made once.
func (m *module) extents(a *ir.Array) []storeDim {
	dims, ok := m.dims[a]
	if !ok {
		dims = slices.Clip(m.extentsOf(a.Dims))
		m.dims[a] = dims
	}
	return dims
}

func (m *module) extentsOf(of []ir.Dim) []storeDim {
	var dims []storeDim
	for _, d := range of {
		dims = append(dims, storeDim{
			axis: d.Axis,
			lo:   func(size func(int) kernel.Expr) kernel.Expr { return affine(d.Lo, size) },
			hi:   func(size func(int) kernel.Expr) kernel.Expr { return affine(d.Hi, size) },
			key:  d.Lo.Text(m.Program.Params) + ":" + d.Hi.Text(m.Program.Params),
		})
	}
	return dims
}

// tempStore returns scratch for a temp that later groups read: its box, with
// the hull of the call's arrays where the box has no bound.
func (m *module) tempStore(s *ir.Call, t *ir.Temp, axes []int) *store {
	var dims []storeDim
	for _, axis := range axes {
		r := t.Box[axis]
		lo, hi := m.hullOf(s, axis)
		dims = append(dims, storeDim{
			axis: axis,
			lo: func(size func(int) kernel.Expr) kernel.Expr {
				if len(r.Lo) == 0 {
					return lo(size)
				}
				return extreme(r.Lo, kernel.Max)(size)
			},
			hi: func(size func(int) kernel.Expr) kernel.Expr {
				if len(r.Hi) == 0 {
					return hi(size)
				}
				return extreme(r.Hi, kernel.Min)(size)
			},
			key: fmt.Sprintf("%p.%d", t, axis),
		})
	}
	return m.scratchStore(t, s.Name+"_"+t.Name, t.Name, t.Type, dims)
}

// hullOf returns the smallest and largest index that any array of the call
// has on an axis; every statement's domain lies between them.
func (m *module) hullOf(s *ir.Call, axis int) (lo, hi func(size func(int) kernel.Expr) kernel.Expr) {
	var los, his []ir.Affine
	for _, a := range s.Arrays {
		for _, d := range a.Dims {
			if d.Axis == axis {
				if !slices.ContainsFunc(los, d.Lo.Equal) {
					los = append(los, d.Lo)
				}
				if !slices.ContainsFunc(his, d.Hi.Equal) {
					his = append(his, d.Hi)
				}
			}
		}
	}
	return extreme(los, kernel.Min), extreme(his, kernel.Max)
}

func extreme(bounds []ir.Affine, pick func(x, y kernel.Expr) kernel.Expr) func(size func(int) kernel.Expr) kernel.Expr {
	return func(size func(int) kernel.Expr) kernel.Expr {
		if len(bounds) == 0 {
			return nil // no array has the axis: the source bounds the domain
		}
		x := affine(bounds[0], size)
		for _, b := range bounds[1:] {
			x = pick(x, affine(b, size))
		}
		return x
	}
}

// scratchStore makes scratch memory with the given dimensions for what key
// stands for, or finds the one that it has already.
func (m *module) scratchStore(key any, name, short string, t types.Type, dims []storeDim) *store {
	return m.laidScratch(key, name, short, t, dims, dense)
}

func (m *module) laidScratch(key any, name, short string, t types.Type, dims []storeDim, layout *kernel.Layout) *store {
	if st, ok := m.stores[key]; ok {
		return st
	}
	st := &store{order: orderScratch + len(m.Scratch), name: short, elem: t, dims: dims, layout: layout}
	st.arg = kernel.ScratchArg{Scratch: m.newScratch(name, t, st.cells)}
	m.stores[key] = st
	return st
}

func (m *module) newScratch(name string, t types.Type,
	cells func(size func(int) kernel.Expr) kernel.Expr) *kernel.Scratch {
	sc := &kernel.Scratch{Name: m.unique(name), Elem: t}
	vars := map[int]*kernel.Var{}
	sc.Cells = cells(func(param int) kernel.Expr {
		v, ok := vars[param]
		if !ok {
			v = kernel.NewVar(m.Program.Params[param].Name, types.I64)
			vars[param] = v
			sc.Sizes = append(sc.Sizes, v)
			sc.Params = append(sc.Params, param)
		}
		return kernel.V(v)
	})
	m.Scratch = append(m.Scratch, sc)
	return sc
}
