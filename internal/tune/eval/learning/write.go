package learning

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// remmelg is what is reported of a Titan Black and of a Radeon R9 295X2 (Remmelg et al. 2020, sections 7.3 and 8).
const remmelg = "Remmelg et al. 2020: correlation 0.9 and 0.8, runs 3 and 5 in the mean, 1 and 2 in the median, at " +
	"most 31 on the first; 35 and 77 times fewer than at random, among 10,000 variants"

// WriteLift prints what Remmelg et al. report, ours beside.
func WriteLift(w io.Writer, r *LiftResult) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "model\tcorrelation\tfirst pick\truns to\tmean\t95 %\tmedian\tmost\trandom\tfewer by\t"+
		"time\trandom\tless by\tof that kernels\trandom\tless by")
	for _, m := range r.Models {
		for i, x := range m.Reached {
			head := "\t\t"
			if i == 0 {
				head = fmt.Sprintf("%s\t%.2f\t%.3f", m.Model, m.Correlation, m.First)
			}
			fmt.Fprintf(t, "%s\t%.0f %%\t%.1f\t%.1f to %.1f\t%g\t%.0f\t%.1f\t%s\t", head, 100*x.Part, x.Runs, x.Low,
				x.High, x.Median, x.Most, x.Random, x.Fewer)
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", timeText(x.Seconds), timeText(x.Slow), x.Sooner,
				timeText(x.Kernels), timeText(x.SlowKernels), x.LessToRun)
		}
	}
	fmt.Fprintf(t, "\n%s\n\nbest after so many runs", remmelg)
	for _, runs := range looks {
		fmt.Fprintf(t, "\t%d", runs)
	}
	fmt.Fprintln(t)
	for i, m := range r.Models {
		if i == 0 {
			fmt.Fprint(t, Random)
			for _, x := range m.Best {
				fmt.Fprintf(t, "\t%.3f", x.Random)
			}
			fmt.Fprintln(t)
		}
		fmt.Fprint(t, m.Model)
		for _, x := range m.Best {
			fmt.Fprintf(t, "\t%.3f", x.Share)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "\nprogram\tsizes\ttypes\tmodel\tvariants\tcorrelation\tfirst pick\t"+
		"runs to 90, 95, 99 % (random)\ttime (random)")
	for _, p := range r.Programs {
		var runs, random, times, slow []string
		for _, x := range p.Reached {
			runs, random = append(runs, fmt.Sprintf("%.0f", x.Runs)), append(random, fmt.Sprintf("%.1f", x.Random))
			times, slow = append(times, timeText(x.Seconds)), append(slow, timeText(x.Slow))
		}
		both := func(own, random []string) string {
			return fmt.Sprintf("%s (%s)", strings.Join(own, ", "), strings.Join(random, ", "))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%.2f\t%.3f\t%s\t%s\n", p.Program, p.Sizes, p.Types, p.Model, p.Variants,
			p.Correlation, p.First, both(runs, random), both(times, slow))
	}
	fmt.Fprintln(t, "\nfeature\tredundancy with the speed")
	for _, f := range r.Redundancy {
		fmt.Fprintf(t, "%s\t%.3f\n", f.Feature, f.Value)
	}
	return t.Flush()
}

// String is the factor as tables have it.
func (f Factor) String() string { return fmt.Sprintf("%.1f (%.1f to %.1f)", f.By, f.Low, f.High) }

// timeText is a time of three digits, in seconds or milliseconds.
func timeText(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.3g ms", 1e3*seconds)
	}
	return fmt.Sprintf("%.3g s", seconds)
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
