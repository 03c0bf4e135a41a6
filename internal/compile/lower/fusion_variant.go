package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// fusionVariant is one of two ways to carry out a call: with its local grids stored between
// kernels, or fused, each cell of them computed where it is read. Either is a
// list of kernels for statements of the source, so that a plan which names
// these says which variant it is for.
type fusionVariant struct {
	call   *ir.Call
	fusion *analysis.Fusion
	ends   []int // where the statements of each group end in the source
}

func storedVariant(s *ir.Call, fusion *analysis.Fusion) *fusionVariant {
	f := &fusionVariant{call: s, fusion: fusion}
	for _, g := range fusion.Groups {
		from := slices.Index(s.Body, g.Stmts[0])
		f.ends = append(f.ends, from+len(g.Stmts))
	}
	return f
}

// fusedVariant returns the variant of a call without those local grids that can be
// computed where they are read, nil if there is none, and why others cannot.
func fusedVariant(p *ir.Program, s *ir.Call) (*fusionVariant, []error) {
	grids, refused := transform.Inlinable(p, s)
	if len(grids) == 0 {
		return nil, refused
	}
	in, err := transform.Inline(p, s, grids...)
	if err != nil {
		return nil, append(refused, err)
	}
	f := &fusionVariant{call: in.Call, fusion: analysis.FusableGroups(in.Call)}
	at := 0
	for _, g := range f.fusion.Groups {
		at += len(g.Stmts)
		f.ends = append(f.ends, in.From[at-1]+1)
	}
	if len(f.ends) == 0 {
		return nil, refused // nothing comes of the call
	}
	f.ends[len(f.ends)-1] = len(s.Body)
	return f, refused
}

// from returns where the statements of a group start in the source.
func (f *fusionVariant) from(group int) int {
	if group == 0 {
		return 0
	}
	return f.ends[group-1]
}

// named counts the kernels that a plan names and that are this variant's.
func (f *fusionVariant) named(plan schedule.Plan, call string) int {
	n := 0
	for _, k := range plan.Kernels {
		for i := range f.ends {
			if k.Call == call && k.From == f.from(i) && k.To == f.ends[i] {
				n++
			}
		}
	}
	return n
}

// fusionVariant chooses between the variants of a call: that of which the plan names more
// kernels, else what it says of local grids. A grid that costs no kernel of its
// own is never stored.
func (m *module) fusionVariant(s *ir.Call) *fusionVariant {
	if s == m.Program.Initial {
		// A grid that is given its contents skips its assignments.
		return storedVariant(s, analysis.SeparateGroups(s))
	}
	stored := storedVariant(s, analysis.FusableGroups(s))
	fused, refused := fusedVariant(m.Program, s)
	m.locals.refused = append(m.locals.refused, refused...)
	if fused == nil {
		return stored
	}
	m.locals.found = true
	if !slices.Equal(fused.ends, stored.ends) {
		more := fused.named(m.opts.Plan, s.Name) - stored.named(m.opts.Plan, s.Name)
		if more < 0 || more == 0 && !m.locals.fuse {
			return stored
		}
	}
	m.sources[fused.call] = s
	return fused
}

// locals is what a plan says of local grids: local=fused or local=stored.
type locals struct {
	said, fuse bool
	found      bool    // some call has grids that can be fused
	refused    []error // why others cannot
}

// localGrids is the setting of a plan that chooses between the fusion variants of its
// calls. It is no parameter of a kernel: each variant has kernels of its own.
const localGrids = "local"

// What a plan says of local grids.
const (
	StoredGrids = "stored" // between kernels; what is meant if nothing is said
	FusedGrids  = "fused"  // computed where they are read
)

// LocalGrids returns what a plan says of local grids, and whether it says so.
func LocalGrids(p schedule.Plan) (word string, said bool) {
	v, said := p.Every.Get(localGrids)
	if !said {
		return StoredGrids, false
	}
	return v.String(), true
}

// WithLocalGrids returns a plan that says what becomes of local grids.
func WithLocalGrids(p schedule.Plan, word string) schedule.Plan {
	p.Every = p.Every.With(localGrids, schedule.Word(word))
	return p
}

// localsOf takes what a plan says of local grids out of it.
func localsOf(p schedule.Plan) (locals, schedule.Plan, error) {
	var l locals
	var rest []schedule.Setting
	for _, v := range p.Every.Values {
		if v.Name != localGrids {
			rest = append(rest, v)
			continue
		}
		l.said = true
		switch word := v.Value.String(); word {
		case FusedGrids:
			l.fuse = true
		case StoredGrids:
		default:
			return l, p, fmt.Errorf("plan: %s takes no value %s; it takes %s, %s",
				localGrids, word, FusedGrids, StoredGrids)
		}
	}
	p.Every.Values = rest
	return l, p, nil
}

// OfKernels returns what a plan says of kernels, without what it says of local
// grids.
func OfKernels(p schedule.Plan) schedule.Plan {
	_, rest, err := localsOf(p)
	if err != nil {
		return p // whoever lowers the program says what is wrong
	}
	return rest
}

// check returns an error if the plan fuses local grids and there are none.
func (l *locals) check() error {
	switch {
	case !l.fuse || l.found:
		return nil
	case len(l.refused) == 0:
		return fmt.Errorf("plan: %s=%s fits no call: the program has no local grids", localGrids, FusedGrids)
	}
	return fmt.Errorf("plan: %s=%s fits no call: %w", localGrids, FusedGrids, l.refused[0])
}
