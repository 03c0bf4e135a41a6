package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What a source file fixes about the kernels of a stencil is not searched: each
// clause of its #pragma, and each of its storage hints, restricts the spaces of
// the call's kernels for GPUs (Rawat et al. 2019, section II). A clause that
// no kernel can follow is told, and does no harm.

// Hints returns warnings for what the source says about kernels for the target
// and cannot be had, with what could be.
func Hints(p *ir.Program, o Options) (diag.List, error) {
	m, _, err := choose(p, settled(p, o))
	if err != nil {
		return nil, err
	}
	return m.fixed.unmet, nil
}

// clause is one thing that the source fixes about the kernels of a call.
type clause struct {
	text  string // as in the source
	where diag.Range
	// restrict returns what is left of a kernel's space, or why nothing is: it is
	// elsewhere where the clause does not concern the kernel.
	restrict func(n *nest, s schedule.Space) (schedule.Space, error)
	yields   yieldLevel // when it gives way to others
	met      bool
	err      error // why the first kernel that it concerns does not follow it
}

// elsewhere says why a clause does not concern a kernel.
type elsewhere string

func (e elsewhere) Error() string { return string(e) }

// asked returns what the source fixes about a call's kernels.
func (m *module) asked(s *ir.Call) []*clause {
	if m.opts.Target != GPU || m.opts.Free {
		return nil
	}
	var list []*clause
	h := s.Hints
	add := func(where diag.Range, text string, yields yieldLevel,
		restrict func(*nest, schedule.Space) (schedule.Space, error)) {
		list = append(list, &clause{text: text, where: where, yields: yields, restrict: restrict})
	}
	if h.Stream >= 0 {
		axis := m.Program.Axes[h.Stream]
		add(h.Range, "stream "+axis, allFollowed, func(n *nest, s schedule.Space) (schedule.Space, error) {
			return n.streamed(s, h.Stream)
		})
	}
	if len(h.Block) > 0 {
		add(h.Range, "block "+sizesText(h.Block), sizesYield, func(n *nest, s schedule.Space) (schedule.Space, error) {
			return n.blocked(s, h.Block)
		})
	}
	for axis, factor := range h.Unroll {
		if factor == 0 {
			continue
		}
		text := fmt.Sprintf("unroll %s=%d", m.Program.Axes[axis], factor)
		add(h.Range, text, sizesYield, func(n *nest, s schedule.Space) (schedule.Space, error) {
			return n.unrolled(s, axis, factor)
		})
	}
	for _, a := range s.Arrays {
		if a.Hint != ir.Anywhere {
			text, yields := fmt.Sprintf("%s (%s)", a.Hint, a.Name), allFollowed
			if a.Hint == ir.Shared {
				yields = storageYields
			}
			add(a.HintRange, text, yields, func(n *nest, s schedule.Space) (schedule.Space, error) {
				return n.held(s, a)
			})
		}
	}
	if h.Occupancy > 0 {
		text := fmt.Sprintf("occupancy %v", h.Occupancy)
		add(h.Range, text, allFollowed, func(n *nest, s schedule.Space) (schedule.Space, error) {
			return n.withOccupancy(s, h.Occupancy)
		})
	}
	return list
}

// sizesText writes sizes as a pragma does.
func sizesText(sizes []int64) string {
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ", ","), "[]") + ")"
}

// Fixed returns what the source fixes about the kernels of a call for GPUs, as it says so.
func Fixed(p *ir.Program, call *ir.Call) []string {
	var list []string
	m := &module{opts: Options{Target: GPU}}
	m.Module = &kernel.Module{Program: p}
	for _, c := range m.asked(call) {
		list = append(list, c.text)
	}
	return list
}

// obey returns what the clauses leave of a kernel's space.
func (n *nest) obey(asked []*clause, s schedule.Space) schedule.Space {
	for _, c := range asked {
		less, err := s, error(nil)
		if why, gives := n.opts.fitting.yields(n.call.Name, c.yields); gives {
			err = fmt.Errorf("with all that the source asks for, %w", why)
		} else {
			less, err = c.restrict(n, s)
		}
		switch {
		case err == nil:
			c.met = true
			s = less
		case c.err == nil || isElsewhere(c.err):
			c.err = err
		}
	}
	return s
}

func isElsewhere(err error) bool {
	_, ok := errors.AsType[elsewhere](err)
	return ok
}

// fixed is what became of the source's clauses.
type fixed struct {
	followed []string
	unmet    diag.List
}

// settle takes note of the clauses of a call.
func (f *fixed) settle(asked []*clause) {
	for _, c := range asked {
		if c.met {
			if !slices.Contains(f.followed, c.text) {
				f.followed = append(f.followed, c.text)
			}
			continue
		}
		if c.err == nil {
			continue // the call has no kernel
		}
		message := fmt.Sprintf("%s is not followed: %v", c.text, c.err)
		told := func(d *diag.Diagnostic) bool { return d.Range == c.where && d.Message == message }
		if !slices.ContainsFunc(f.unmet, told) {
			f.unmet.Warnf(c.where, "%s", message)
		}
	}
}

// explain adds to an error of the plan what the source leaves it.
func (f *fixed) explain(err error) error {
	if err == nil || len(f.followed) == 0 {
		return err
	}
	return fmt.Errorf("%w; the source fixes %s", err, strings.Join(f.followed, ", "))
}
