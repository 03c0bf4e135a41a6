package report

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Table is figures as a reader sees them: the terminal and the page print the
// same texts.
type Table struct {
	Head []string
	Rows [][]string
	Best int // the row of the best plan; -1 if there is none
}

// PlansTable returns the contenders, the fastest first, and what bounds them.
func PlansTable(r *tuner.Result) Table {
	base := r.Base()
	t := Table{Head: []string{"plan", "GStencil/s", "time of a step"}, Best: -1}
	if base == nil {
		return t
	}
	bounded := r.Bound.GStencils > 0
	t.Head = append(t.Head, "times the "+base.Name, "95 % interval")
	if bounded {
		t.Head = append(t.Head, "of the copy bound")
	}
	for i := range r.Contenders {
		c := &r.Contenders[i]
		row := []string{r.Label(c), quantity.Digits(c.GStencils, 4), quantity.Time(c.Seconds), ratio(c.Gain.Ratio), "–"}
		if c.Name != base.Name {
			row[4] = fmt.Sprintf("%s to %s", ratio(c.Gain.Interval[0]), ratio(c.Gain.Interval[1]))
		}
		if bounded {
			row = append(row, quantity.Percent(c.Fraction))
		}
		if row[0] != c.Name {
			t.Best = i
		}
		t.Rows = append(t.Rows, row)
	}
	if bounded {
		b := r.Bound.GStencils
		points := base.GStencils * base.Seconds
		t.Rows = append(t.Rows, []string{"copy bound", quantity.Digits(b, 4), quantity.Time(points / b),
			ratio(b / base.GStencils), "–", quantity.Percent(1)})
	}
	return t
}

// DepthsTable returns what came of each number of iterations of a loop in a kernel, in the order of the search.
func DepthsTable(l *tuner.LoopResult) Table {
	head := []string{"depth", "time of the kernel", "of an iteration", "GStencil/s", "times depth 1", "trials"}
	t := Table{Head: head, Best: -1}
	for _, d := range l.Depths {
		name := deep.DepthText(d.Depth, !d.Plain())
		if d.InPlan {
			name += " (in the plan)"
		}
		if d.Seconds == 0 {
			t.Rows = append(t.Rows, []string{name, "–", "–", "–", "–", fmt.Sprint(d.Trials)})
			continue
		}
		t.Rows = append(t.Rows, []string{name, quantity.Time(d.Seconds), quantity.Time(d.Seconds / float64(d.Depth)),
			quantity.Digits(d.GStencils, 4), ratio(d.Gain), fmt.Sprint(d.Trials)})
	}
	return t
}

func ratio(v float64) string { return fmt.Sprintf("%.3f", v) }

// BoundText says what bounds the speed, or why nothing is known to.
func BoundText(r *tuner.Result) string {
	b := &r.Bound
	if b.None != "" {
		return "no copy bound: " + b.None
	}
	return fmt.Sprintf("copy bound: a copy of %s moves %s GB/s, and a cell needs %s bytes", b.Copied(),
		quantity.Digits(b.CopyGBs, 4), fmt.Sprintf("%.4g", b.BytesPerPoint))
}
