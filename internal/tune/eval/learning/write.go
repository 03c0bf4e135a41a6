package learning

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// remmelg is what is reported of a Titan Black and of a Radeon R9 295X2 (Remmelg et al. 2020, sections 7.3 and 8).
const remmelg = "Remmelg et al. 2020: correlation 0.9 and 0.8, runs 3 and 5 in the mean, 1 and 2 in the median, at " +
	"most 31 on the first; 35 and 77 times fewer than at random, among 10,000 variants"

// WriteLift prints what Remmelg et al. report, ours beside.
func WriteLift(w io.Writer, r *LiftResult) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "model\tcorrelation\truns to 90 %\tmedian\tmost\trandom\tfewer by\tfirst pick")
	for _, m := range r.Models {
		fmt.Fprintf(t, "%s\t%.2f\t%.1f\t%.0f\t%.0f\t%.1f\t%.1f times\t%.3f\n", m.Model, m.Correlation, m.Runs,
			m.Median, m.Most, m.Random, m.Fewer, m.First)
	}
	fmt.Fprintf(t, "\n%s\n\nprogram\tmodel\tvariants\tcorrelation\truns to 90 %%\trandom\tfirst pick\n", remmelg)
	for _, p := range r.Programs {
		fmt.Fprintf(t, "%s\t%s\t%d\t%.2f\t%.0f\t%.1f\t%.3f\n", p.Program, p.Model, p.Variants, p.Correlation, p.Runs,
			p.Random, p.First)
	}
	fmt.Fprintln(t, "\nfeature\tredundancy with the speed")
	for _, f := range r.Redundancy {
		fmt.Fprintf(t, "%s\t%.3f\n", f.Feature, f.Value)
	}
	return t.Flush()
}

// Write prints the rows as tables, one for each experiment, split and metric. Baselines that were not judged have no
// column.
func Write(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	title := ""
	for _, r := range rows {
		if head := fmt.Sprintf("%s, without a %s: %s", r.Experiment, noun(r.Split), r.Metric); head != title {
			if title != "" {
				fmt.Fprintln(t)
			}
			title = head
			fmt.Fprintf(t, "%s\tmean\t95 %%\tmedian\tworst", head)
			if r.Table != 0 {
				fmt.Fprint(t, "\trandom\tbetter than the table by")
			}
			if r.Neighbours != 0 {
				fmt.Fprint(t, "\tthan neighbours by")
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f to %.3f\t%.3f\t%.3f", r.Model, r.Value, r.Low, r.High, r.Median, r.Worst)
		if r.Table != 0 {
			fmt.Fprintf(t, "\t%.3f\t%.3f (%.3f to %.3f)", r.Random, r.Gain, r.GainLow, r.GainHigh)
		}
		if r.Neighbours != 0 {
			fmt.Fprintf(t, "\t%.3f (%.3f to %.3f)", r.Over, r.OverLow, r.OverHigh)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
