package bench

import (
	"fmt"
	"io"
)

// WriteSpatial prints rows as a table.
func WriteSpatial(w io.Writer, rows []SpatialRow) {
	fmt.Fprintf(w, "%-10s %-7s %-15s %8s %17s %7s %5s %5s  %-15s %8s %6s %5s %4s %5s %7s %6s  %s\n",
		"case", "type", "grid", "GSt/s", "95 %", "of copy", "must", "aim", "best rival", "GSt/s", "ratio", "apart",
		"regs", "spill", "shared", "nvrtc", "plan")
	for _, r := range rows {
		if r.Refused != "" {
			word := "refused"
			if r.Wrong {
				word = "WRONG"
			}
			fmt.Fprintf(w, "%-10s %-7s %-15s %s  %s: %s\n", r.Case, r.DType, r.Grid, word, r.Plan, r.Refused)
			continue
		}
		rival, rate, ratio, apart := "-", "-", "-", "-"
		if r.BestRival != "" {
			rival, rate, ratio = r.BestRival, fmt.Sprintf("%.1f", r.BestRivalG), fmt.Sprintf("%.2f", r.RatioToRival)
			apart = map[bool]string{true: "yes", false: "no"}[r.Apart]
		}
		mark := " "
		if r.Final {
			mark = "*"
		}
		fmt.Fprintf(w, "%-10s %-7s %-15s %8.1f %17s %7.3f %5.2f %5.2f  %-15s %8s %6s %5s %4d %5d %7d %6.3f %s%s\n",
			r.Case, r.DType, r.Grid, r.GStencils, r.Interval, r.FractionOfCopy, r.Must, r.Aim, rival, rate,
			ratio, apart,
			r.Registers, r.Spills, r.Shared, r.CompileSeconds, mark, r.Plan)
	}
	for _, r := range rows {
		if short := r.Short(); r.best && short != "" {
			fmt.Fprintf(w, "short: %s %s: %s\n", r.Case, r.DType, short)
		}
		if c := r.Counters; c != nil {
			fmt.Fprintf(w,
				"limit: %s %s: %s; memory %.0f %%, L2 %.0f %%, L1 %.0f %%, issue %.0f %%, occupancy %.0f %%; %.3f "+
					"times the useful bytes\n",
				r.Case, r.DType, c.Limit, c.DRAM, c.L2, c.L1, c.Issue, c.Occupancy, c.Excess)
		}
		for _, v := range r.Rivals {
			if v.Failed != "" {
				fmt.Fprintf(w, "%s %s: %s: %s\n", r.Case, r.DType, v.Rival, v.Failed)
			}
		}
	}
}
