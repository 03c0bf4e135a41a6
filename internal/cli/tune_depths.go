package cli

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// printDepths prints for each loop what came of each number of iterations in a kernel. What forbids more than
// one is shown in the source.
func printDepths(a *app, src *diag.Source, r *tuner.Result) error {
	if len(r.Loops) == 0 {
		fmt.Fprintln(a.stdout, "no time loop runs: there are no iterations to share a kernel")
	}
	for i := range r.Loops {
		l := &r.Loops[i]
		fmt.Fprintf(a.stdout, "%s, %s:\n", l.Loop, quantity.Count(l.Iterations, "iteration"))
		if len(l.Depths) > 0 {
			if err := a.print(report.DepthsTable(l), 0); err != nil {
				return err
			}
		}
		fmt.Fprintf(a.stdout, "  no other depth: %s\n", l.Stopped)
		if l.At != (diag.Range{}) {
			why := diag.List{{
				Severity: diag.Remark, Range: l.At, Message: l.Stopped, Notes: l.Notes, Hint: l.Hint,
			}}
			fmt.Fprint(a.stdout, diag.Render(src, why, diag.Style{}))
		}
		if l.CarriedSeconds > 0 {
			fmt.Fprintf(a.stdout, "  carried out in %s: %s\n", quantity.Time(l.CarriedSeconds), partsText(l.Carried))
			fmt.Fprintf(a.stdout, "  at best in %s: %s\n", quantity.Time(l.Seconds), partsText(l.Schedule))
		}
	}
	return nil
}

// partsText is "124 of depth 8, 2 of depth 1, fused, 3 of depth 1".
func partsText(parts []deep.Part) string {
	var list []string
	for _, p := range parts {
		list = append(list, fmt.Sprintf("%s of depth %s", quantity.Whole(int(p.Times)),
			deep.DepthText(p.Depth, p.Fused)))
	}
	return strings.Join(list, ", ")
}

// print prints a table; the first columns are of words.
func (a *app) print(x report.Table, words int) error {
	t := newTable(a)
	for i, head := range x.Head {
		t.columns = append(t.columns, column{head: head, right: i > words})
	}
	for _, r := range x.Rows {
		if err := t.row(r...); err != nil {
			return err
		}
	}
	return t.end()
}
