package bench

import (
	"fmt"
	"io"
)

// WriteSpatial prints rows as a table.
func WriteSpatial(w io.Writer, rows []SpatialRow) {
	fmt.Fprintf(w, "%-10s %-7s %-15s %9s %17s %7s %5s %5s %5s %7s %6s  %s\n",
		"case", "type", "grid", "GSt/s", "95 %", "of copy", "must", "regs", "spill", "shared", "nvrtc", "plan")
	for _, r := range rows {
		if r.Refused != "" {
			word := "refused"
			if r.Wrong {
				word = "WRONG"
			}
			fmt.Fprintf(w, "%-10s %-7s %-15s %s  %s: %s\n", r.Case, r.DType, r.Grid, word, r.Plan, r.Refused)
			continue
		}
		mark := " "
		if r.Final {
			mark = "*"
		}
		fmt.Fprintf(w, "%-10s %-7s %-15s %9.1f %17s %7.3f %5.2f %5d %5d %7d %6.3f %s%s\n",
			r.Case, r.DType, r.Grid, r.GStencils, r.Interval, r.FractionOfCopy, r.Must, r.Registers, r.Spills, r.Shared, r.CompileSeconds, mark, r.Plan)
	}
}
