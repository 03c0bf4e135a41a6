package lower

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// family is one way to build kernels. A family is declared in one file, which
// registers it: its parameters with their roles, axes and needs, what a group of
// statements adds to them, what to begin a search with, and how it builds a
// kernel. Nothing else knows it by its name.
type family struct {
	name, doc string
	place     int // among the families of a space; the first is the default
	target    Target
	rank      func(rank int) bool // of the kernels that it is for
	// can reports whether the family can compute a group of statements; nil if it
	// can compute any.
	can func(n *nest) bool
	// plain says that the family is the plainest of its target and rank: other
	// families are compared with it.
	plain bool
	// declare returns the parameters and constraints of a kernel that loops over
	// some axes, named from the outermost on; nil if there are none.
	declare func(axes []string) ([]schedule.Param, []schedule.Constraint)
	// offers add to the family what a group of statements makes possible. What
	// they may add, optional lists: these have roles, but no values yet.
	offers   []func(n *nest, f *schedule.Family)
	optional []schedule.Param
	// preferred reports whether the family is the default of a group's kernel, of
	// sizes that are known, and changes its default values; nil if it never is.
	preferred func(n *nest, f *schedule.Family) bool
	// seeds are configurations to begin a search with, of programs of so many
	// axes: see schedule.Family. W stands for the cells of 16 bytes, H for half.
	seeds map[int][]string
	// expert is what somebody chooses for the family who does not measure.
	expert []string
	build  func(n *nest) ([]kernel.Stmt, []func())
	// needs are capabilities that the family's kernels cannot do without.
	needs []machine.Capability
	// spans says why the family cannot carry out a pipeline, whatever the configuration is; nil
	// if it can.
	spans func(p *pipeline.Pipeline) error
	// fits says why no configuration has room for a pipeline on a domain of a known size; nil if one may.
	fits func(m *module, p *pipeline.Pipeline) error
	// offersSpan adds to the family what a pipeline makes possible; nil if there is nothing of such. What it may add is
	// in optional.
	offersSpan func(program *ir.Program, p *pipeline.Pipeline, f *schedule.Family)
	// repeats says that kernels of several iterations carry them out as often as an argument says.
	repeats bool
	// span builds kernels of pipelines: of several iterations, of sequences, and of the groups of statements that can
	// allows; nil for families that do not carry out any.
	span func(s *spanKernel) ([]kernel.Stmt, error)

	once  sync.Once
	roles *schedule.Roles // of all parameters that it may have
}

// families lists those that are registered, in the order of spaces.
var families []*family

// register adds a family.
func register(f *family) {
	at, _ := slices.BinarySearchFunc(families, f, func(a, b *family) int { return cmp.Compare(a.place, b.place) })
	families = slices.Insert(slices.Clone(families), at, f)
	declared.Clear()
}

// familyNamed returns the family of that name, or nil.
func familyNamed(name string) *family {
	if i := slices.IndexFunc(families, func(f *family) bool { return f.name == name }); i >= 0 {
		return families[i]
	}
	return nil
}

// serves reports whether the family is for kernels of a target and rank.
func (f *family) serves(t Target, rank int) bool {
	return (f.span == nil || f.can != nil) && (f.target == t || rank == 0) && f.rank(rank)
}

// space returns the family's configurations of a kernel that loops over some
// axes, on a device that lacks some capabilities.
func (f *family) space(axes []string, lacks []machine.Capability) schedule.Family {
	s := schedule.Family{Name: f.name, Doc: f.doc}
	if f.declare != nil {
		s.Params, s.Constraints = f.declare(axes)
	}
	for i := range s.Params {
		s.Params[i].Without(lacks)
	}
	return s
}

// Plain returns the name of the family whose kernels others are compared with:
// a thread for each cell, or plain loops.
func Plain(t Target) string {
	for _, f := range families {
		if f.plain && f.target == t {
			return f.name
		}
	}
	panic("lower: no family is plain")
}

// Experts returns what somebody who knows the target would write without
// measuring, as texts of configurations; the first that a program can have is meant.
func Experts(t Target) []string {
	var list []string
	for _, f := range slices.Backward(families) {
		if f.target == t {
			list = append(list, f.expert...)
		}
	}
	return list
}

// declared remembers what Declared found, by name.
var declared sync.Map

// Declared returns the declaration of a parameter by its name alone, as far as it
// does not depend on the kernel: its role and its axis. Plans and recordings have
// no more than names. Where families are given only those count.
func Declared(name string, of ...string) (schedule.Param, bool) {
	type found struct {
		schedule.Param
		ok bool
	}
	key := fmt.Sprint(name, of)
	if have, ok := declared.Load(key); ok {
		return have.(found).Param, have.(found).ok
	}
	p, ok := declaration(name, of)
	declared.Store(key, found{p, ok})
	return p, ok
}

// declaration looks through families.
func declaration(name string, of []string) (schedule.Param, bool) {
	for _, f := range families {
		if len(of) > 0 && !slices.Contains(of, f.name) {
			continue
		}
		params := append(slices.Clone(f.optional), foldParam)
		if f.declare != nil {
			some, _ := f.declare(someAxes)
			params = slices.Concat(params, some)
		}
		for _, p := range params {
			if p.Name == name {
				return p, true
			}
			if array, ok := strings.CutPrefix(name, arrayPrefix(&p)); ok && ofArrays[p.Role] != schedule.NoRole {
				return schedule.Param{Name: name, Role: ofArrays[p.Role], Array: array}, true
			}
		}
	}
	return schedule.Param{}, false
}

// ByRole returns a configuration by its roles, as its family declares them.
func ByRole(c schedule.Config) schedule.ByRole {
	f := familyNamed(c.Family)
	if f == nil {
		return schedule.ByRole{}
	}
	f.once.Do(func() {
		s := schedule.Family{Params: slices.Concat(f.optional, []schedule.Param{foldParam})}
		if f.declare != nil {
			some, _ := f.declare(someAxes)
			s.Params = append(s.Params, some...)
		}
		f.roles = s.Roles()
	})
	return f.roles.Of(c)
}

// someAxes are those that a declaration is looked up with.
var someAxes = []string{"k", "j", "i"}

// ofArrays are the roles of parameters of single classes of arrays; arrayPrefix says
// how they are called.
var ofArrays = map[schedule.Role]schedule.Role{
	schedule.LoadPath: schedule.ArrayLoadPath,
	schedule.Staging:  schedule.ArrayStaging,
}

// RoleOf returns the role of a plan's setting by its name.
func RoleOf(name string) schedule.Role {
	p, _ := Declared(name)
	return p.Role
}

// seedsFor returns a family's seeds for a program of so many axes, whose widest
// cells have so many bytes.
func (f *family) seedsFor(rank int, widest int64) []string {
	var list []string
	wide := 16 / widest
	names := strings.NewReplacer("=W", fmt.Sprintf("=%d", max(1, wide)), "=H", fmt.Sprintf("=%d", max(1, wide/2)))
	for _, text := range f.seeds[rank] {
		list = append(list, names.Replace(fmt.Sprintf("family=%s,%s", f.name, text)))
	}
	return list
}
