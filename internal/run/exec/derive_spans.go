package exec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// spans translates the spans of an iterate. Those that never fit are left out, with their spares.
func (d *deriver) spans(of *ir.Iterate, it *Op) error {
	flat := !slices.ContainsFunc(it.Body, func(o Op) bool { return o.Kind == IterateOp })
	most := it.most()
	for _, s := range d.Spans {
		if s.Iterate != of {
			continue
		}
		d.spansFound++
		if s.Depth < 1 || s.After < 0 || len(s.Launches) == 0 {
			return fmt.Errorf("a span has depth %d, %d iterations after it and %d launches", s.Depth, s.After,
				len(s.Launches))
		}
		short := s.Short(d.bound.Params)
		if !flat || short != nil || s.Depth > most-s.After {
			d.idle = append(d.idle, IdleSpan{Span: s, Short: short, Room: most})
			continue
		}
		span, err := d.span(s, it)
		if err != nil {
			return err
		}
		it.Spans = append(it.Spans, span)
	}
	slices.SortStableFunc(it.Spans, func(a, b Span) int { return int(b.Depth - a.Depth) })
	return nil
}

// most returns how many iterations an iterate makes at most before it ends or looks at its condition, as far as
// that is known before it runs.
func (o *Op) most() int64 {
	switch {
	case len(o.Until) > 0:
		return min(o.Max, max(1, o.Check))
	case o.Count.fixed():
		return (&evaluator{}).eval(o.Count, 0).I
	}
	return math.MaxInt64
}

func (d *deriver) span(s *kernel.Span, it *Op) (Span, error) {
	out := Span{Depth: s.Depth, Repeats: s.Repeats, After: s.After, Prepare: -1}
	var names []string
	points := int64(0)
	for _, o := range it.Body {
		if o.Kind == RunOp {
			call := &d.script.Calls[o.Call]
			points += call.Points
			if !slices.Contains(names, call.Name) {
				names = append(names, call.Name)
			}
		}
	}
	name := strings.Join(names, ", ")
	var err error
	if len(s.Prepare) > 0 {
		if out.Prepare, err = d.launches(Call{Name: name}, s.Prepare); err != nil {
			return out, err
		}
	}
	if out.Call, err = d.launches(Call{Name: name, Points: s.Depth * points}, s.Launches); err != nil {
		return out, err
	}
	for _, x := range s.Exchanges {
		grid := slices.Index(d.Program.Grids, x.Grid)
		if grid < 0 {
			return out, fmt.Errorf("a span exchanges %s, which the program does not have", x.Grid.Name)
		}
		if like := x.Spare.Like; like.Type != x.Grid.Type ||
			!slices.Equal(d.bound.Shape(like.Dims), d.bound.Shape(x.Grid.Dims)) {
			return out, fmt.Errorf("a span exchanges %s with %s, which is not as large", x.Grid.Name, x.Spare.Name)
		}
		pair := [2]int{grid, d.spare(x.Spare)}
		out.Exchanges = append(out.Exchanges, pair)
		d.rotated = append(d.rotated, pair[:])
	}
	out.Spares = d.sparesOf(&out)
	for _, x := range s.Kept() {
		out.Kept = append(out.Kept, slices.Index(d.Scratch, x))
	}
	slices.Sort(out.Kept)
	return out, nil
}

// spare returns the index of a spare among the script's grids.
func (d *deriver) spare(s *kernel.Spare) int {
	i := slices.Index(d.spares, s)
	if i < 0 {
		i = len(d.spares)
		d.spares, d.written = append(d.spares, s), append(d.written, true)
	}
	return len(d.Program.Grids) + i
}

// sparesOf lists the spares that a span has to do with, in ascending order.
func (d *deriver) sparesOf(s *Span) []int {
	var list []int
	for _, x := range s.Exchanges {
		list = append(list, x[1])
	}
	for _, call := range []int{s.Prepare, s.Call} {
		if call < 0 {
			continue
		}
		for _, l := range d.script.Calls[call].Launches {
			for _, a := range l.Args {
				if a.Kind == GridArg && a.Index >= len(d.Program.Grids) {
					list = append(list, a.Index)
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
