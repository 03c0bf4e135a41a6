// Package lower turns a stencil program and a plan into kernels. Each kernel
// family is one file that builds its loop structure; what happens at one cell
// (cell.go), how an access finds its element (access.go) and how reductions
// are combined (reduce.go) is common to all families.
package lower

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Options says how to lower a program.
type Options struct {
	Target Target
	// Plan chooses a configuration for every kernel. Kernels that it does not
	// name take their family's default.
	Plan schedule.Plan
	// NoInitial leaves the initial block out: whoever runs the module computes
	// it elsewhere.
	NoInitial bool
	// Bound gives the values of coefficients, which kernels hold as literals.
	// It may be nil if the program has none.
	Bound *ir.Binding
	// Sized says that the module serves the sizes of Bound and no others, so
	// that kernels may hold those as literals, too.
	Sized bool
	// Lacks is what the dialect or the device cannot do; spaces leave out what
	// needs it.
	Lacks []machine.Capability
	// Machine is the GPU that kernels are for: what takes more than it has is
	// refused. Without one it is an H200.
	Machine *machine.Machine
	// Free leaves the choice of what the source fixes about kernels for GPUs to
	// the plan.
	Free bool
	// AnyIntegers adds to the spaces the values between powers of two.
	AnyIntegers bool
	// Guard checks what every pass makes; without it the kernels are checked at the
	// end.
	Guard bool
	// Advise asks for errors that name a plan that fits where one does not: it
	// takes several times as long to find one.
	Advise bool
	// Spoil changes the pipelines of spans before kernels are built from them: tests of proofs
	// make mistakes with it. It is nil otherwise.
	Spoil func(*pipeline.Pipeline)
	// Bare leaves the handling of edges out of spans where a family can, which shows what it
	// costs: values near the ends of the arrays are wrong.
	Bare bool
	// Count asks for the Work of spans, at the sizes of Bound.
	Count bool

	fitting *fitting                         // what did not fit so far
	aligned map[*ir.Grid]int64               // what rows are padded to at the least
	origin  *int64                           // of all rows; nil leaves it to the plan
	watched func(pass string, ran bool) bool // passes after which texts are kept; nil for none
}

// Target is the kind of machine that kernels are for.
type Target uint8

const (
	CPU Target = iota
	GPU
)

// Program lowers every call of a program. The initial block, if there is one,
// is lowered as a call of its own.
func Program(p *ir.Program, o Options) (*kernel.Module, error) {
	m, err := build(p, o)
	if err != nil {
		return nil, err
	}
	return m.Module, nil
}

// Plan returns the plan that Program follows: every kernel with its complete
// configuration.
func Plan(p *ir.Program, o Options) (schedule.Plan, error) {
	m, err := build(p, o)
	if err != nil {
		return schedule.Plan{}, err
	}
	return schedule.Plan{Kernels: m.chooser.known}, nil
}

// Choice is a kernel of a program with the configurations that it may have.
type Choice struct {
	schedule.Kernel // with the configuration that the options' plan gives it
	Space           schedule.Space
	// Idle are the roles of parameters that change nothing in this kernel, whatever their value is.
	Idle []schedule.Role
}

// Choices returns the program's kernels in the order of a plan. They are not
// built: the configurations that they have may ask for more than there is.
func Choices(p *ir.Program, o Options) ([]Choice, error) {
	m, _, err := choose(p, settled(p, o))
	if err != nil {
		return nil, err
	}
	var out []Choice
	for i, k := range m.chooser.known {
		out = append(out, Choice{Kernel: k, Space: m.chooser.spaces[i]})
	}
	return out, nil
}

// choose finds the kernels of a program and their configurations. All are
// chosen before the first is built: they have to agree on how the grids lie in
// memory.
func choose(p *ir.Program, o Options) (*module, []*nest, error) {
	if version, _ := o.Plan.Fission(); version != "" {
		return nil, nil, fmt.Errorf("plan: fission=%s names a version of the source, and kernels are made of one: "+
			"take the plan with the source that it was found for", version)
	}
	locals, plan, err := localsOf(o.Plan)
	if err != nil {
		return nil, nil, err
	}
	o.Plan = plan
	m := &module{
		Module: &kernel.Module{
			Program: p, Calls: map[*ir.Call][]*kernel.Launch{}, Layouts: map[*ir.Grid]kernel.Layout{},
			FirstCells: map[*ir.Grid]int64{},
		},
		opts:    o,
		texts:   map[string]*kernel.Kernel{},
		names:   map[string]int{},
		stores:  map[any]*store{},
		dims:    map[*ir.Array][]storeDim{},
		layouts: map[*ir.Grid]*kernel.Layout{},
		locals:  locals,
		sources: map[*ir.Call]*ir.Call{},
		spares:  map[*ir.Grid]*kernel.Spare{},
		firsts:  map[*ir.Grid]map[int64]int{},
		chooser: newChooser(o.Plan, graph.Loops(p)),
	}
	calls := p.Calls
	if p.Initial != nil && !o.NoInitial {
		calls = append([]*ir.Call{p.Initial}, calls...)
	}
	var nests []*nest
	for _, s := range calls {
		some, err := m.call(s)
		if err != nil {
			return nil, nil, err
		}
		nests = append(nests, some...)
	}
	if err := m.chooseSpans(); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(m.fixed.explain(m.chooser.check()), m.locals.check()); err != nil {
		return nil, nil, err
	}
	return m, nests, nil
}

// module is a kernel.Module being built.
type module struct {
	*kernel.Module
	opts    Options
	texts   map[string]*kernel.Kernel // by text without the name, to share kernels
	names   map[string]int            // kernel and scratch names in use
	stores  map[any]*store            // scratch by what it holds
	dims    map[*ir.Array][]storeDim  // extents of arrays
	layouts map[*ir.Grid]*kernel.Layout
	origin  int64 // the index on the inner axis at which vectors begin, and lines of memory
	chooser *chooser
	locals  locals
	fixed   fixed
	steps   []Step
	sources map[*ir.Call]*ir.Call // of calls whose local grids are fused
	spares  map[*ir.Grid]*kernel.Spare
	spans   []*spanKernel
	parted  []*arranged                // iterations that are carried out in parts
	firsts  map[*ir.Grid]map[int64]int // how many accesses begin with which cell of a row
}

// call returns the nests of a call's groups, each with its configuration.
func (m *module) call(source *ir.Call) ([]*nest, error) {
	fusionVariant := m.fusionVariant(source)
	s, fusion := fusionVariant.call, fusionVariant.fusion
	if err := m.grouped(source, fusionVariant); err != nil {
		return nil, err
	}
	var nests []*nest
	scratch := map[*ir.Temp]*store{}
	asked := m.asked(s)
	for gi, g := range fusion.Groups {
		for _, u := range fusion.Temps {
			if u.Place == analysis.Materialised && u.Group == gi {
				scratch[u.Temp] = m.tempStore(s, u.Temp, g.Axes)
			}
		}
		n := &nest{
			module: m, call: s, group: g, temps: scratch, name: kernelName(s, fusion, gi), wished: len(asked) > 0,
		}
		n.key = schedule.Kernel{Call: s.Name, From: fusionVariant.from(gi), To: fusionVariant.ends[gi]}.Name()
		n.collect(fusion, gi)
		if len(n.stmts) == 0 {
			continue
		}
		var err error
		n.choices = m.opts.fitting.prefer(n.key, n.obey(asked, n.space()))
		if n.config, n.given, err = m.chooser.choose(s.Name, fusionVariant.from(gi), fusionVariant.ends[gi],
			n.choices); err != nil {
			m.fixed.settle(asked)
			return nil, m.fixed.explain(err)
		}
		n.set = n.choices.ByRole(n.config)
		nests = append(nests, n)
	}
	m.fixed.settle(asked)
	return nests, nil
}

func kernelName(s *ir.Call, f *analysis.Fusion, group int) string {
	name := s.Stencil
	if name == "" {
		name = s.Name
	}
	if len(f.Groups) > 1 {
		name = fmt.Sprintf("%s_%d", name, group+1)
	}
	return name
}

// unique returns name, or name_2, name_3, ... if it is taken.
func (m *module) unique(name string) string {
	m.names[name]++
	if n := m.names[name]; n > 1 {
		return m.unique(fmt.Sprintf("%s_%d", name, n))
	}
	return name
}

// add launches a helper of the group's kernel. Memory that it turned out to need
// may be called as a local is: the passes settle that.
func (n *nest) add(k *kernel.Kernel, args []kernel.Arg) {
	k, err := n.passed(k, kernel.Asked{})
	n.broken = errors.Join(n.broken, err)
	n.launch(k, args)
}

// launch registers a kernel, or finds the equal one that is there already, and
// launches it for the group.
func (n *nest) launch(k *kernel.Kernel, args []kernel.Arg) {
	s := n.source(n.call)
	n.Calls[s] = append(n.Calls[s], n.launchOf(k, args))
}

// launchOf registers a kernel, or finds the equal one, and returns a launch of it.
func (n *nest) launchOf(k *kernel.Kernel, args []kernel.Arg) *kernel.Launch {
	m := n.module
	name := k.Name
	k.Name = ""
	text := kernel.Text(k) + constantsOf(k, args)
	k.Name = name
	if same, ok := m.texts[text]; ok {
		k = same
	} else {
		if !m.opts.Guard { // which checks every kernel after every pass
			n.broken = errors.Join(n.broken, kernel.Verify(k))
		}
		k.Name = m.unique(name)
		m.texts[text] = k
		m.Kernels = append(m.Kernels, k)
	}
	return &kernel.Launch{Kernel: k, Args: args, Part: n.key}
}
