package learning

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints the rows as tables, one for each split and metric.
func Write(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	title := ""
	for _, r := range rows {
		if head := r.Split + ": " + r.Metric; head != title {
			if title != "" {
				fmt.Fprintln(t)
			}
			title = head
			fmt.Fprintf(t, "without a %s\tmean\t95 %%\tmedian\tworst\trandom\tbetter than the table by\n", head)
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f to %.3f\t%.3f\t%.3f\t%.3f\t%.3f (%.3f to %.3f)\n", r.Model, r.Value, r.Low,
			r.High, r.Median, r.Worst, r.Random, r.Gain, r.GainLow, r.GainHigh)
	}
	return t.Flush()
}
