package lower

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A kernel that takes more threads or shared memory than a block has is built
// with smaller blocks, as far as the plan leaves its settings open. Where a source
// wants grids in shared memory, the sizes of blocks that it fixes give way first, and
// the storage if nothing else helps: "the code generator must adhere to" what is
// assigned (Rawat et al. 2019, section II), and to the rest it may add.

// fitting is what is known of the kernels of a program that did not fit.
type fitting struct {
	kernels map[string]*shrinking // by name of the kernel in a plan
	calls   map[string]*yielding
}

// shrinking is a kernel that is tried with one configuration after the other.
type shrinking struct {
	call  string
	first error // why it does not fit as it is
	made  bool
	next  []schedule.Config
	now   schedule.Config // settings that take the place of the defaults
}

// yielding is a call whose clauses give way to others.
type yielding struct {
	level yieldLevel
	why   error
}

// yieldLevel says which clauses of the source are not followed.
type yieldLevel uint8

const (
	allFollowed yieldLevel = iota
	sizesYield             // those of blocks and unrolling
	storageYields
)

// build lowers a program with kernels that fit.
func build(p *ir.Program, o Options) (*module, error) {
	m, o, err := resolve(p, o)
	if err == nil || !o.Advise {
		return m, err
	}
	if _, resourceLimit := errors.AsType[*ResourceLimit](err); !resourceLimit {
		return m, err
	}
	if text := remedy(p, o, m); text != "" {
		return m, fmt.Errorf("%w; a plan that fits is %s", err, text)
	}
	return m, err
}

// resolve is build without advice. A plan need not keep to clauses of the source
// that give way without a plan, too: those of tuners are such.
func resolve(p *ir.Program, o Options) (*module, Options, error) {
	m, fitted, err := fit(p, o)
	if _, resourceLimit := errors.AsType[*ResourceLimit](err); err == nil || resourceLimit ||
		o.fitting != nil || !o.wantsShared(p) {
		return m, fitted, err
	}
	usual := o
	usual.Plan = schedule.Plan{}
	if word, said := LocalGrids(o.Plan); said {
		usual.Plan = WithLocalGrids(usual.Plan, word)
	}
	if _, usual, failed := fit(p, usual); failed == nil && usual.fitting != nil && len(usual.fitting.calls) > 0 {
		o.fitting = &fitting{kernels: map[string]*shrinking{}, calls: usual.fitting.calls}
		return fit(p, o)
	}
	return m, fitted, err
}

// fit lowers a program until its kernels fit. The options that it returns make
// choose find the same configurations.
func fit(p *ir.Program, o Options) (*module, Options, error) {
	m, n, err := attempt(p, o)
	for {
		x, resourceLimit := errors.AsType[*ResourceLimit](err)
		if !resourceLimit || n == nil || o.Target != GPU {
			return m, o, err
		}
		if o.fitting == nil {
			o.fitting = &fitting{kernels: map[string]*shrinking{}, calls: map[string]*yielding{}}
		}
		first, more := o.fitting.shrink(n, x, err)
		if !more {
			return m, o, first
		}
		m, n, err = attempt(p, o)
	}
}

// attempt lowers a program once. It returns the kernel that does not fit.
func attempt(p *ir.Program, o Options) (*module, *nest, error) {
	m, nests, err := choose(p, o)
	if err != nil {
		return nil, nil, err
	}
	m.settleLayouts(nests)
	for _, n := range nests {
		if err := n.build(); err != nil {
			return m, n, m.fixed.explain(err)
		}
	}
	for _, s := range m.spans {
		if err := s.build(); err != nil {
			return m, nil, err
		}
	}
	for _, a := range m.parted {
		a.build()
	}
	m.settleFirstCells()
	if o.Target == GPU {
		if err := m.constantFits(); err != nil {
			return m, nil, m.fixed.explain(err)
		}
	}
	return m, nil, nil
}

// settled returns options with which choose finds kernels that fit, where what
// the source or the plan wants in shared memory may be too much.
func settled(p *ir.Program, o Options) Options {
	if o.Target != GPU || o.fitting != nil || !o.wantsShared(p) {
		return o
	}
	if _, fitted, err := resolve(p, o); err == nil {
		return fitted
	}
	return o
}

// wantsShared reports whether defaults may hold anything in shared memory.
func (o *Options) wantsShared(p *ir.Program) bool {
	for _, s := range p.Calls {
		if !o.Free && slices.ContainsFunc(s.Arrays, func(a *ir.Array) bool { return a.Hint == ir.Shared }) {
			return true
		}
	}
	shares := func(c schedule.Config) bool {
		return slices.ContainsFunc(c.Values, func(s schedule.Setting) bool {
			return RoleOf(s.Name) == schedule.Staging
		})
	}
	return shares(o.Plan.Every) ||
		slices.ContainsFunc(o.Plan.Kernels, func(k schedule.Kernel) bool { return shares(k.Config) })
}

// shrink chooses what is tried next for a kernel that does not fit. If there is
// nothing, it returns why the kernel did not fit at first.
func (f *fitting) shrink(n *nest, x *ResourceLimit, err error) (error, bool) {
	k := f.kernels[n.key]
	if k == nil {
		k = &shrinking{call: n.call.Name, first: err}
		f.kernels[n.key] = k
	}
	if !k.made {
		k.made, k.next = true, n.smaller()
	}
	if len(k.next) > 0 {
		k.now, k.next = k.next[0], k.next[1:]
		return nil, true
	}
	y := f.calls[k.call]
	if y == nil {
		y = &yielding{why: x}
		f.calls[k.call] = y
	}
	if y.level == storageYields || !n.wished || n.gives(schedule.Threads) {
		return k.first, false
	}
	y.level++
	for _, other := range f.kernels {
		if other.call == k.call {
			other.made, other.now = false, schedule.Config{}
		}
	}
	return nil, true
}

// gives reports whether the plan says something about a role.
func (n *nest) gives(r schedule.Role) bool {
	p := n.choices.Family(n.config.Family).For(r)
	return p != nil && n.given.Has(p.Name)
}

// smaller returns settings to try in the place of the defaults, the largest
// blocks first: of all shapes with as many threads the one that reads least.
func (n *nest) smaller() []schedule.Config {
	var list []schedule.Config
	seen := map[string]bool{n.config.String(): true}
	for _, f := range n.families() {
		base := n.given
		base.Family = f.Name
		open := func(r schedule.Role) (*schedule.Param, bool) {
			p := f.For(r)
			return p, p != nil && !n.given.Has(p.Name)
		}
		only := schedule.Space{Families: []schedule.Family{f}}
		possible := func(c schedule.Config) bool {
			_, err := only.Complete(c)
			return err == nil
		}
		for _, r := range growing {
			p, open := open(r)
			if !open {
				continue
			}
			least := slices.MinFunc(p.Values, func(v, w schedule.Value) int { return compareSizes(v, w) })
			if c := base.With(p.Name, least); possible(c) {
				base = c
			}
		}
		widths := []schedule.Value{{}}
		vector, openVector := open(schedule.Vector)
		threads, openThreads := open(schedule.Threads)
		if openVector {
			widths = slices.Clone(vector.Values)
			widths = slices.DeleteFunc(widths, func(v schedule.Value) bool {
				return compareSizes(v, vector.Default) > 0
			})
			slices.SortStableFunc(widths, func(v, w schedule.Value) int { return compareSizes(w, v) })
		}
		for _, width := range widths {
			c := base
			if openVector {
				c = c.With(vector.Name, width)
			}
			if !openThreads {
				if full, err := only.Complete(c); err == nil && !seen[full.String()] {
					seen[full.String()] = true
					list = append(list, c)
				}
				continue
			}
			for _, block := range n.compact(threads.Values, threads.Default) {
				full, err := only.Complete(c.With(threads.Name, block))
				if err != nil || seen[full.String()] {
					continue
				}
				seen[full.String()] = true
				list = append(list, c.With(threads.Name, block))
			}
		}
	}
	return list
}

// growing are the roles whose values make a kernel take more of what a block has.
var growing = []schedule.Role{schedule.Staging, schedule.BlockedUnroll, schedule.CyclicUnroll}

// families are those that the kernel may be of, the chosen one first.
func (n *nest) families() []schedule.Family {
	var list []schedule.Family
	for _, f := range n.choices.Families {
		switch {
		case f.Name == n.config.Family:
			list = slices.Insert(list, 0, f)
		case n.given.Family == "":
			list = append(list, f)
		}
	}
	return list
}

// compareSizes compares values by how many cells or steps they stand for.
func compareSizes(v, w schedule.Value) int {
	size := func(v schedule.Value) int64 {
		if !v.IsNumber() {
			return 0
		}
		return product(v.Ints())
	}
	return int(max(-1, min(1, size(v)-size(w))))
}

// compact returns blocks of threads, each of fewer threads than the one before:
// that which reads least around its cells.
func (n *nest) compact(blocks []schedule.Value, most schedule.Value) []schedule.Value {
	best := map[int64]schedule.Value{}
	read := func(v schedule.Value) int64 {
		cells := int64(1)
		for i, side := range slices.Backward(v.Ints()) {
			if axis := len(n.axes) - len(v.Ints()) + i; axis >= 0 {
				side += 2 * n.reach(n.axes[axis])
			}
			cells *= side
		}
		return cells
	}
	for _, v := range blocks {
		threads := product(v.Ints())
		if threads > product(most.Ints()) {
			continue
		}
		if have, ok := best[threads]; !ok || read(v) < read(have) {
			best[threads] = v
		}
	}
	var list []schedule.Value
	for _, threads := range slices.Backward(slices.Sorted(maps.Keys(best))) {
		list = append(list, best[threads])
	}
	return list
}

// prefer makes the settings that a kernel is tried with its defaults.
func (f *fitting) prefer(key string, s schedule.Space) schedule.Space {
	if f == nil || f.kernels[key] == nil {
		return s
	}
	now := f.kernels[key].now
	if at := slices.IndexFunc(s.Families, func(f schedule.Family) bool { return f.Name == now.Family }); at > 0 {
		chosen := s.Families[at]
		s.Families = slices.Insert(slices.Delete(slices.Clone(s.Families), at, at+1), 0, chosen)
	}
	for _, set := range now.Values {
		s = s.Named(set.Name).Prefer(set.Value)
	}
	return s
}

// yields reports whether a clause of the source gives way, and why.
func (f *fitting) yields(call string, at yieldLevel) (error, bool) {
	if f == nil || at == allFollowed || f.calls[call] == nil || f.calls[call].level != at {
		return nil, false
	}
	return f.calls[call].why, true
}

// remedy looks for a plan like the one that does not fit: with other sizes of
// blocks than it asks for, or with nothing in shared memory. It is lowered before it is
// named.
func remedy(p *ir.Program, o Options, failed *module) string {
	if failed == nil {
		return ""
	}
	o.Advise, o.fitting = false, nil
	asked := o.Plan
	fits := func(plan schedule.Plan) (*module, bool) {
		o.Plan = plan
		m, _, err := resolve(p, o)
		return m, err == nil
	}
	var open []string
	for _, roles := range remedies {
		open = append(open, failed.named(roles)...)
		m, ok := fits(leaving(asked, open))
		if !ok {
			continue
		}
		for _, plan := range []schedule.Plan{
			short(asked, open, m.chooser.known), {Every: asked.Every, Kernels: m.chooser.known},
		} {
			if _, ok := fits(plan); ok {
				return plan.String()
			}
		}
	}
	return ""
}

// remedies are the roles that are left open one after the other to find a plan that
// fits.
var remedies = [][]schedule.Role{
	{schedule.Threads},
	{schedule.Vector, schedule.BlockedUnroll, schedule.CyclicUnroll},
	{schedule.Staging, schedule.StagedPart, schedule.StagingCopy, schedule.CopyIssue, schedule.Perspective,
		schedule.Prefetch},
	{schedule.Choice, schedule.Stream},
}

// named returns what the kernels' families call the parameters with some roles.
func (m *module) named(roles []schedule.Role) []string {
	var list []string
	if slices.Contains(roles, schedule.Choice) {
		list = append(list, schedule.FamilyName)
	}
	for _, s := range m.chooser.spaces {
		for i := range s.Families {
			list = append(list, s.Families[i].Names(roles...)...)
		}
	}
	return list
}

// leaving returns a plan that leaves some settings open.
func leaving(p schedule.Plan, names []string) schedule.Plan {
	strip := func(c schedule.Config) schedule.Config {
		if slices.Contains(names, schedule.FamilyName) {
			c.Family = ""
		}
		c.Values = slices.DeleteFunc(slices.Clone(c.Values), func(s schedule.Setting) bool {
			return slices.Contains(names, s.Name)
		})
		return c
	}
	out := schedule.Plan{Every: strip(p.Every), Kernels: slices.Clone(p.Kernels)}
	for i := range out.Kernels {
		out.Kernels[i].Config = strip(out.Kernels[i].Config)
	}
	return out
}

// short returns a plan with the settings that it has, and the values of those
// that were left open as they have become.
func short(p schedule.Plan, open []string, known []schedule.Kernel) schedule.Plan {
	settle := func(c, chosen schedule.Config) schedule.Config {
		if slices.Contains(open, schedule.FamilyName) && c.Family != "" {
			c.Family = chosen.Family
		}
		var values []schedule.Setting
		for _, s := range c.Values {
			if slices.Contains(open, s.Name) {
				v, ok := chosen.Get(s.Name)
				if !ok {
					continue
				}
				s.Value = v
			}
			values = append(values, s)
		}
		c.Values = values
		return c
	}
	out := schedule.Plan{Every: p.Every, Kernels: slices.Clone(p.Kernels)}
	for i, k := range out.Kernels {
		if at := slices.IndexFunc(known, func(q schedule.Kernel) bool { return q.ID() == k.ID() }); at >= 0 {
			out.Kernels[i].Config = settle(k.Config, known[at].Config)
		}
	}
	for _, k := range known {
		if !slices.ContainsFunc(p.Kernels, func(q schedule.Kernel) bool { return q.ID() == k.ID() }) {
			out.Every = settle(p.Every, k.Config)
			break
		}
	}
	return out
}
