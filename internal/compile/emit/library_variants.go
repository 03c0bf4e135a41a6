package emit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// A library may hold several variants of a program's kernels, each the fastest
// for some sizes, and pick one when it is configured. What a size is to that
// choice is the number of cells of the program's largest grid.

// Variant is a module for some sizes of a program.
type Variant struct {
	Module *kernel.Module // of lower.Variants, so that grids lie alike in all
	Plan   string         // canonical text, for comments
	Cells  int64          // of the largest grid, at the sizes at which this is fastest
	// From is the number of cells from which on it is picked. If it is 0, that is
	// the geometric mean of its cells and those of the variant before: the nearer
	// one on a logarithmic scale is picked.
	From int64
}

// Cells returns the number of cells of a program's largest grid at given values
// of its parameters. Grids that neither the caller nor a kernel has do not count.
func Cells(m *kernel.Module, params []int64) int64 {
	used := (&library{module: m}).usedGrids()
	most := int64(0)
	for _, g := range m.Program.Grids {
		if !used[g] && !slices.Contains(m.Program.Arguments, g.Name) {
			continue
		}
		cells := int64(1)
		for _, d := range g.Dims {
			cells *= d.Hi.Minus(d.Lo).Add(1).Eval(params)
		}
		most = max(most, cells)
	}
	return most
}

// Boundary returns the number of cells from which on the second of two variants
// is the nearer one on a logarithmic scale.
func Boundary(a, b int64) int64 { return int64(math.Ceil(math.Sqrt(float64(a) * float64(b)))) }

// Ordered returns variants in the order of their cells, each with the number
// from which on it is picked.
func Ordered(list []Variant) ([]Variant, error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Variant) int { return cmp.Compare(a.Cells, b.Cells) })
	for i := range list {
		v := &list[i]
		switch {
		case v.Cells < 1:
			return nil, errors.New("emit: a variant is for no cells")
		case i == 0:
			v.From = 0
			continue
		case v.From == 0:
			v.From = Boundary(list[i-1].Cells, v.Cells)
		}
		if v.From <= list[i-1].From || v.Cells == list[i-1].Cells {
			return nil, fmt.Errorf("emit: the variants for %d and %d cells cannot be told apart: "+
				"they are picked from %d and from %d cells on",
				list[i-1].Cells, v.Cells, list[i-1].From, v.From)
		}
	}
	return list, nil
}

// libraryVariant is a variant as the templates and the host code see it.
type libraryVariant struct {
	Variant
	Plan     foreign // in place of the variant's
	launches map[*ir.Call][]*kernel.Launch
}

// merge makes one module of all variants: it has the kernels of each under
// names of their own, those that are alike once, and the launches and the
// scratch memory of each. The initial block is that of the first.
func (l *library) merge(list []Variant) error {
	list, err := Ordered(list)
	if err != nil {
		return err
	}
	if len(list) > mostVariants {
		return fmt.Errorf("emit: a library has %d variants at most, not %d", mostVariants, len(list))
	}
	first := list[0].Module
	m := &kernel.Module{Program: first.Program, Calls: map[*ir.Call][]*kernel.Launch{}, Layouts: first.Layouts}
	names := newNamespace(identifier)
	shared := map[string]*kernel.Kernel{} // by text
	scratch := map[string]*kernel.Scratch{}
	for i, v := range list {
		if v.Module.Program != first.Program {
			return errors.New("emit: the variants are of different programs")
		}
		x := &libraryVariant{Variant: v, Plan: foreign(v.Plan), launches: map[*ir.Call][]*kernel.Launch{}}
		own := map[*kernel.Kernel]*kernel.Kernel{}
		adopt := func(launch *kernel.Launch, initial bool) *kernel.Launch {
			k := own[launch.Kernel]
			if k == nil {
				k = renamed(launch.Kernel, "")
				text := kernel.Text(k)
				if same := shared[text]; same != nil && !hasConstants(k) {
					k = same
				} else {
					name := launch.Kernel.Name
					if !initial {
						name = fmt.Sprintf("%s_v%d", name, i+1)
					}
					k.Name = names.pick(name)
					shared[text] = k
					m.Kernels = append(m.Kernels, k)
				}
				own[launch.Kernel] = k
			}
			mine := &kernel.Launch{Kernel: k, Args: slices.Clone(launch.Args), Part: launch.Part}
			for n, a := range launch.Args {
				a, ok := a.(kernel.ScratchArg)
				if !ok {
					continue
				}
				text := fmt.Sprint(a.Scratch.Name, a.Scratch.Elem,
					kernel.ExprText(a.Scratch.Cells), a.Scratch.Params)
				if scratch[text] == nil {
					scratch[text] = a.Scratch
					m.Scratch = append(m.Scratch, a.Scratch)
				}
				mine.Args[n] = kernel.ScratchArg{Scratch: scratch[text]}
				l.needs[scratch[text]] |= 1 << i
				if initial {
					l.needs[scratch[text]] = allVariants
				}
			}
			return mine
		}
		for _, s := range allCalls(first.Program) {
			initial := s == first.Program.Initial
			if initial && i > 0 {
				continue
			}
			for _, launch := range v.Module.Calls[s] {
				mine := adopt(launch, initial)
				x.launches[s] = append(x.launches[s], mine)
				m.Calls[s] = append(m.Calls[s], mine)
			}
		}
		for _, s := range withSpannable(v.Module).Spans {
			mine := *s
			mine.Launches, mine.Prepare = nil, nil
			for _, launch := range s.Launches {
				mine.Launches = append(mine.Launches, adopt(launch, false))
			}
			for _, launch := range s.Prepare {
				mine.Prepare = append(mine.Prepare, adopt(launch, false))
			}
			l.spans = append(l.spans, librarySpan{&mine, i})
		}
		l.Variants = append(l.Variants, x)
	}
	l.module = m
	return nil
}

// variantSet is a set of variants, one bit each.
type variantSet uint64

// allVariants have what the initial block needs.
const allVariants variantSet = 1<<mostVariants - 1

// mostVariants is how many variants a library may have.
const mostVariants = 32

// onlyFor says in C which variants need something: what has to hold besides. It
// is "" if all do.
func (l *library) onlyFor(set variantSet) string {
	var tests []string
	for i := range l.Variants {
		if set&(1<<i) != 0 {
			tests = append(tests, fmt.Sprintf("h->variant == %d", i))
		}
	}
	switch len(tests) {
	case len(l.Variants):
		return ""
	case 1:
		return " && " + tests[0]
	}
	return " && (" + strings.Join(tests, " || ") + ")"
}

func allCalls(p *ir.Program) []*ir.Call {
	if p.Initial == nil {
		return p.Calls
	}
	return append([]*ir.Call{p.Initial}, p.Calls...)
}

func renamed(k *kernel.Kernel, name string) *kernel.Kernel {
	own := *k
	own.Name = name
	return &own
}

// hasConstants reports whether a kernel has constant memory, which belongs to
// one grid.
func hasConstants(k *kernel.Kernel) bool {
	return slices.ContainsFunc(k.Buffers, func(b *kernel.Buffer) bool { return b.Space == kernel.Constant })
}

// launchesOf returns the launches of a call by variant: one list if they are
// the same for all.
func (l *library) launchesOf(s *ir.Call) [][]*kernel.Launch {
	if len(l.Variants) == 0 {
		return [][]*kernel.Launch{l.module.Calls[s]}
	}
	same := func(a, b *kernel.Launch) bool { return a.Kernel == b.Kernel && slices.Equal(a.Args, b.Args) }
	var lists [][]*kernel.Launch
	alike := true
	for _, v := range l.Variants {
		lists = append(lists, v.launches[s])
		alike = alike && slices.EqualFunc(v.launches[s], lists[0], same)
	}
	if alike || s == l.module.Program.Initial {
		return lists[:1]
	}
	return lists
}

// callLaunches prints the launches of a call.
func (h *host) callLaunches(lists [][]*kernel.Launch) {
	if len(lists) == 1 {
		for _, launch := range lists[0] {
			h.launch(launch, "step")
		}
		return
	}
	h.line("switch (h->variant) {")
	for i, list := range lists {
		h.line("case %d:", i)
		h.indent++
		for _, launch := range list {
			h.launch(launch, "step")
		}
		h.line("break;")
		h.indent--
	}
	h.line("}")
}
