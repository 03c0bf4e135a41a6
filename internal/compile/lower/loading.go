package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// How threads load an array is chosen for each class of arrays that a kernel
// reads and does not write (Garvey 2018, section 6.1): arrays of equal rank,
// type and offsets are of one class. The parameter load is for all of them;
// where there are several classes, those after the first also have one of their
// own, called after an array of it (load_c), by which they may differ.

// The load paths.
const (
	plain    = schedule.PlainLoads
	readonly = schedule.ReadOnlyLoads
	image    = schedule.ImageLoads
	constant = schedule.ConstantLoads
	same     = schedule.SameLoads
)

// loadNeeds is what the load paths need.
var loadNeeds = []schedule.Need{
	{Capability: machine.Image, Values: schedule.Words(image)},
	{Capability: machine.Constant, Values: schedule.Words(constant)},
}

const loadSource = "Garvey 2018, section 6.1; Zhang and Mueller 2013, section 3.1"

// constantBytes is what a program has of constant memory everywhere.
const constantBytes = 64 << 10

// anyTexels is how many texels an image has where the device does not say.
const anyTexels = 1 << 27

// mostArrayClasses is how many array classes have parameters of their own.
const mostArrayClasses = 5

// arrayClass is arrays that are loaded in the same way.
type arrayClass struct {
	arrays []*ir.Array
	reads  int // of one of them, at a cell
	own    bool
	// refused are the load paths that the arrays cannot have, with the reason.
	refused map[string]string
	// uniform says that the arrays may be in constant memory: no step changes
	// them, and threads of a warp read the same cells. Neither depends on sizes:
	// a plan for some sizes has the parameters of those for others.
	uniform bool
	bytes   int64 // of all arrays, as far as known
}

// array names the class: its first array.
func (k *arrayClass) array() string { return k.arrays[0].Name }

// param returns the class's own parameter beside one that is for all arrays.
func (k *arrayClass) param(all *schedule.Param) schedule.Param {
	return schedule.Param{
		Name: arrayPrefix(all) + k.array(), Role: ofArrays[all.Role], Array: k.array(), Source: loadSource,
	}
}

// arrayPrefix is what the names of parameters of single classes begin with, beside
// one that is for all arrays: load_c, shared_c.
func arrayPrefix(all *schedule.Param) string {
	if all.Role == schedule.Staging {
		return "shared_"
	}
	return all.Name + "_"
}

// shared returns the parameters by which the class is held in shared memory or
// not, to restrict a space by them.
func (k *arrayClass) shared(s schedule.Space) schedule.Restricting {
	if k == nil {
		return s.On(schedule.NoRole)
	}
	return s.OnArray(schedule.ArrayStaging, k.array())
}

// loadPath returns how a configuration of a family loads the class's arrays.
func (k *arrayClass) loadPath(f *schedule.Family, c schedule.Config) string {
	all := f.For(schedule.LoadPath).Name
	if own := k.param(f.For(schedule.LoadPath)).Name; k.own && c.Has(own) {
		if loadPath := c.Word(own); loadPath != same {
			return loadPath
		}
	}
	return c.Word(all)
}

// steady reports whether an array is one that nothing writes while the group's
// kernel runs.
func (n *nest) steady(a *ir.Array) bool {
	return slices.Contains(n.group.Snapshot, a) ||
		!slices.ContainsFunc(n.stmts, func(s *statement) bool { return s.src.Array == a })
}

// findArrayClasses finds the array classes that the group reads: those first that
// cannot be in constant memory, and of these those that are read most.
func (n *nest) findArrayClasses() []*arrayClass {
	byKey := map[string]*arrayClass{}
	var list []*arrayClass
	for _, a := range n.call.Arrays {
		if !n.steady(a) {
			continue
		}
		var offsets []string
		for _, s := range n.stmts {
			for _, x := range accesses(s.src.Value) {
				if x.Array == a {
					offsets = append(offsets, x.Cell().Index)
				}
			}
		}
		if offsets == nil {
			continue
		}
		slices.Sort(offsets)
		offsets = slices.Compact(offsets)
		uniform := n.uniform(a)
		key := fmt.Sprint(len(a.Dims), a.Type, offsets, uniform)
		key += a.Hint.String()
		k, ok := byKey[key]
		if !ok {
			k = &arrayClass{reads: len(offsets), refused: map[string]string{}, uniform: uniform}
			byKey[key], list = k, append(list, k)
		}
		k.arrays = append(k.arrays, a)
		n.refuse(k, a)
	}
	slices.SortStableFunc(list, func(x, y *arrayClass) int {
		if x.uniform != y.uniform {
			if x.uniform {
				return 1
			}
			return -1
		}
		return y.reads - x.reads
	})
	names := map[string]bool{}
	for i, k := range list {
		name := k.arrays[0].Name
		k.own = i > 0 && i <= mostArrayClasses && !names[name]
		names[name] = true
	}
	return list
}

// refuse notes the load paths that an array cannot have.
func (n *nest) refuse(k *arrayClass, a *ir.Array) {
	most := n.opts.gpu().ImageTexels
	if most == 0 {
		most = anyTexels
	}
	cells, known := n.cellsOf(a)
	if known && cells > most {
		k.refused[image] = fmt.Sprintf("an image has at most %d elements, and %s has %d", most, a.Name, cells)
	}
	bytes := cells * int64(a.Type.Size())
	k.bytes += bytes
	switch initial := n.Program.Initial; {
	case !k.uniform:
	case !known:
		k.refused[constant] = fmt.Sprintf(
			"constant memory is made when kernels are compiled, and the size of %s is not known by then", a.Name)
	case initial != nil && !n.opts.NoInitial && writes(initial, a.Grid):
		k.refused[constant] = "the initial block sets " + a.Name
	case bytes > constantBytes:
		k.refused[constant] = fmt.Sprintf("constant memory has %d bytes, and %s takes %d", constantBytes, a.Name, bytes)
	}
}

// cellsOf returns the elements of an array's memory, if its size is known. Rows
// may be padded to vectors.
func (n *nest) cellsOf(a *ir.Array) (int64, bool) {
	cells := int64(1)
	for i, d := range a.Dims {
		length := int64(0)
		switch {
		case n.opts.Sized:
			e := n.opts.Bound.Extent(d)
			length = e.Hi - e.Lo + 1
		case len(d.Lo.Terms) == 0 && len(d.Hi.Terms) == 0:
			length = d.Hi.Const - d.Lo.Const + 1
		default:
			return 0, false
		}
		if i == len(a.Dims)-1 && n.vectors(a) {
			length = (length + 7) / 8 * 8
		}
		cells *= length
	}
	return cells, true
}

// uniform reports whether an array's cells are the same in all calls, and those
// that neighbouring threads read at a time, too: constant memory serves others
// one by one.
func (n *nest) uniform(a *ir.Array) bool {
	if a.Grid == nil || rotates(n.Program.Body, a.Grid) {
		return false
	}
	for _, s := range n.stmts {
		for _, x := range accesses(s.src.Value) {
			if x.Array == a && slices.ContainsFunc(x.Index, func(ix ir.Index) bool { return ix.Axis == n.inner() }) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(n.Program.Calls, func(s *ir.Call) bool { return writes(s, a.Grid) })
}

// writes reports whether a call writes a grid.
func writes(s *ir.Call, g *ir.Grid) bool {
	return slices.ContainsFunc(s.Body, func(st *ir.Stmt) bool { return st.Array != nil && st.Array.Grid == g })
}

func rotates(body []ir.Op, g *ir.Grid) bool {
	return slices.ContainsFunc(body, func(o ir.Op) bool {
		switch o := o.(type) {
		case *ir.Rotate:
			return slices.Contains(o.Grids, g)
		case *ir.Iterate:
			return rotates(o.Body, g)
		}
		return false
	})
}

// offerLoading gives a family the load paths that the group's arrays have,
// and where there are several array classes the choice for each.
func (n *nest) offerLoading(f *schedule.Family) {
	n.offerLoadPaths(f)
	n.offerStaging(f)
}

// offerLoadPaths is offerLoading for memory that threads load from by themselves.
func (n *nest) offerLoadPaths(f *schedule.Family) {
	words := []string{plain, readonly}
	if !slices.Contains(n.opts.Lacks, machine.Image) {
		words = append(words, image)
	}
	fits := func(k *arrayClass) bool { return k.uniform && !slices.Contains(n.opts.Lacks, machine.Constant) }
	at := f.Index(schedule.LoadPath)
	load := f.Params[at]
	load.Values = schedule.Words(words...)
	if len(n.arrayClasses) > 0 && fits(n.arrayClasses[0]) { // then so do all
		load.Values = append(load.Values, schedule.Word(constant))
	}
	f.Params[at] = load
	all := []string{load.Name}
	for _, k := range n.arrayClasses {
		params := []string{load.Name}
		if k.own {
			own := k.param(&load)
			name := own.Name
			values := append([]string{same}, words...)
			if fits(k) {
				values = append(values, constant)
			}
			at++
			own.Doc, own.Values, own.Default = "the same for "+n.namesOf(k),
				schedule.Words(values...), schedule.Word(same)
			f.Params = slices.Insert(f.Params, at, own)
			f.Constraints = append(f.Constraints, schedule.Constraint{
				Name: "one word for a way", Doc: "what is loaded as load says is called same",
				Params: []string{load.Name, name},
				Holds:  func(c schedule.Config) bool { return c.Word(name) != c.Word(load.Name) },
			})
			params, all = append(params, name), append(all, name)
		}
		for _, loadPath := range []string{image, constant} {
			if reason := k.refused[loadPath]; reason != "" {
				forbid(f, loadPath, reason, params)
			}
		}
	}
	n.constantTogether(f, all)
}

// forbid takes a load path from an array class, whose parameters are that for
// all arrays and, where it has one, its own.
func forbid(f *schedule.Family, loadPath, reason string, params []string) {
	has := func(name string) bool {
		return slices.ContainsFunc(f.Param(name).Values, schedule.Word(loadPath).Equal)
	}
	all, own := params[0], params[len(params)-1]
	k := schedule.Constraint{
		Name: "loads by " + loadPath, Doc: reason, Params: []string{own},
		Holds: func(c schedule.Config) bool { return c.Word(own) != loadPath },
	}
	if has(own) {
		f.Constraints = append(f.Constraints, k)
	}
	if own != all && has(all) {
		k.Params = params
		k.Holds = func(c schedule.Config) bool { return c.Word(own) != same || c.Word(all) != loadPath }
		f.Constraints = append(f.Constraints, k)
	}
}

// constantTogether ties the classes that do not fit constant memory together.
func (n *nest) constantTogether(f *schedule.Family, params []string) {
	total := int64(0)
	for _, k := range n.arrayClasses {
		if k.uniform {
			total += k.bytes
		}
	}
	if total <= constantBytes {
		return
	}
	arrayClasses, family := n.arrayClasses, *f
	f.Constraints = append(f.Constraints, schedule.Constraint{
		Name: "constant memory", Doc: fmt.Sprintf("a kernel has %d bytes of it", constantBytes), Params: params,
		Holds: func(c schedule.Config) bool {
			bytes := int64(0)
			for _, k := range arrayClasses {
				if k.loadPath(&family, c) == constant {
					bytes += k.bytes
				}
			}
			return bytes <= constantBytes
		},
	})
}

// offerStaging lets each array class be among what blocks hold in shared
// memory, or not.
func (n *nest) offerStaging(f *schedule.Family) {
	at := f.Index(schedule.Staging)
	if at < 0 {
		return
	}
	shared := f.Params[at]
	nothing := schedule.Int(0)
	some := slices.DeleteFunc(slices.Clone(f.Params[at].Values), nothing.Equal)
	var free []*arrayClass
	for i, k := range n.arrayClasses {
		held := func(a *ir.Array) bool { return n.stageable(a) == nil }
		if k.reads > 1 && i <= mostArrayClasses && (k.own || i == 0) && slices.ContainsFunc(k.arrays, held) {
			free = append(free, k)
		}
	}
	if len(some) == 0 || len(free) < 2 {
		return
	}
	for at+1 < len(f.Params) &&
		slices.ContainsFunc(f.Params[at+1].When, func(w schedule.Condition) bool { return w.Param == shared.Name }) {
		at++
	}
	var names []string
	for i, k := range free {
		own := k.param(&shared)
		own.Doc = "whether " + n.namesOf(k) + " may be held there"
		own.Values, own.Default = []schedule.Value{schedule.Yes, schedule.No}, schedule.Yes
		own.When = []schedule.Condition{schedule.When(shared.Name, some...)}
		names = append(names, own.Name)
		f.Params = slices.Insert(f.Params, at+1+i, own)
	}
	f.Constraints = append(f.Constraints, schedule.Constraint{
		Name: "something shared", Doc: shared.Name + "=0 says that nothing is", Params: names,
		Holds: func(c schedule.Config) bool {
			return slices.ContainsFunc(names, func(name string) bool { return c.Is(name) })
		},
	})
}

// namesOf lists a class's arrays.
func (n *nest) namesOf(k *arrayClass) string {
	var names []string
	for _, a := range k.arrays {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// arrayClassOf returns the class of an array, nil if it has none.
func (n *nest) arrayClassOf(a *ir.Array) *arrayClass {
	for _, k := range n.arrayClasses {
		if slices.Contains(k.arrays, a) {
			return k
		}
	}
	return nil
}

// loadPath returns how threads load an array.
func (w *tiledKernel) loadPath(a *ir.Array) string {
	k := w.arrayClassOf(a)
	if k == nil || w.written[a] && w.snapshots[a] == nil {
		return plain
	}
	return k.loadPath(w.choices.Family(w.config.Family), w.config)
}

// unshared reports whether the configuration leaves an array out of shared
// memory.
func (n *nest) unshared(a *ir.Array) bool {
	k := n.arrayClassOf(a)
	if k == nil {
		return false
	}
	f := n.choices.Family(n.config.Family)
	if f == nil {
		return false // nothing is chosen yet
	}
	p := f.ForArray(schedule.ArrayStaging, k.array())
	return p != nil && n.config.Has(p.Name) && !n.config.Is(p.Name)
}

// texels is how many elements a fetch from an image takes at most.
const texels = 4

// run returns how many neighbours of an array threads load at a time.
func (w *tiledKernel) run(a *ir.Array) int64 {
	n := Chunk(w.vec, a.Type)
	if w.loadPath(a) == image {
		n = min(n, texels)
	}
	return n
}

// source returns where so many neighbours in an array are loaded from, and how.
func (w *tiledKernel) source(a *ir.Array, run int64) (*store, *kernel.Buffer, kernel.Via) {
	st := w.cells[0].storeOf(a)
	switch w.loadPath(a) {
	case image:
		name := st.name + "_image"
		if run > 1 {
			name += fmt.Sprint(run)
		}
		of := special{Arg: st.arg, space: kernel.Image, texel: int(run)}
		b := w.buffer(of, st.order, name, st.elem, func() kernel.Expr { return st.cells(w.size) })
		return st, b.buffer, kernel.Plain
	case constant:
		b := w.buffer(special{Arg: st.arg, space: kernel.Constant}, st.order, st.name, st.elem, func() kernel.Expr {
			return kernel.I(kernel.Eval(st.cells(w.literalSize), nil).I)
		})
		return st, b.buffer, kernel.Plain
	}
	st, buf := w.inMemory(a)
	return st, buf, w.via(a)
}

// literalSize returns a parameter's value as a literal.
func (w *tiledKernel) literalSize(param int) kernel.Expr { return kernel.I(w.opts.Bound.Params[param]) }

// special asks for memory in another space than the device's own.
type special struct {
	kernel.Arg
	space kernel.Space
	texel int                         // of an image
	box   [kernel.MaxTensorAxes]int64 // of a tensor map
}

// constantsOf tells kernels apart that hold other grids in constant memory: each
// has memory of its own, which is filled once.
func constantsOf(k *kernel.Kernel, args []kernel.Arg) string {
	text := ""
	for i, b := range k.Buffers {
		if g, ok := args[i].(kernel.GridArg); ok && b.Space == kernel.Constant {
			text += " " + g.Grid.Name
		}
	}
	return text
}

// constantFits reports kernels that together take more constant memory than
// there is.
func (m *module) constantFits() error {
	total := int64(0)
	for _, k := range m.Kernels {
		for _, b := range k.Buffers {
			if cells, ok := b.Fixed(); ok && b.Space == kernel.Constant {
				total += cells * int64(b.Elem.Size())
			}
		}
		if total > constantBytes {
			return &ResourceLimit{
				k.Name, "bytes of constant memory with those before it", total, constantBytes, "a program",
			}
		}
	}
	return nil
}
