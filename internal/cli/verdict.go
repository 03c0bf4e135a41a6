package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/engine"
)

// verdict prints the outcome of a check, and returns an error if it failed.
func (j *job) verdict(s *summary) error {
	v := s.Check
	failed := !v.OK()
	switch {
	case j.JSON && failed: // else it is part of the summary of the run
		if err := j.printJSON(s); err != nil {
			return err
		}
	case !j.JSON && !j.Quiet:
		j.printCheck(v)
	}
	if !failed {
		return nil
	}
	if v.Nothing {
		what := "there is no number in any cell that the program computes"
		if v.Iterations > 0 {
			what += " after " + count(v.Iterations, "iteration")
		}
		return failf(exitCheck, "the check compared nothing: %s, on either side", what).
			hintf("give grids and scalars values that the program can compute with: --in GRID=FILE, --set NAME=VALUE")
	}
	for _, w := range v.Wrong {
		fmt.Fprintf(j.stderr, "  %s\n", strings.ReplaceAll(w, "\n", "\n  "))
	}
	what := fmt.Sprintf("%d of %s differ", v.Beyond, count(v.Cells, "cell"))
	if j.FP != "strict" {
		what += fmt.Sprintf(" by more than --fp %s allows", j.FP)
	}
	if v.Ends != "" {
		what = v.Ends + ", and rounding is no reason to"
	} else if v.Iterations > 0 {
		what += " after " + count(v.Iterations, "iteration")
	}
	return failf(exitCheck, "the check failed: %s", what).
		hintf("the program did not run; --device ref computes what is right")
}

// printCheck says what was compared, and how it came out.
func (j *job) printCheck(v *engine.Verification) {
	w := j.stdout
	about := []string{"--fp " + j.FP}
	if v.Iterations > 0 {
		about = append(about, count(v.Iterations, "iteration"))
	}
	if v.Smaller {
		var sizes []string
		for _, q := range j.program.Params {
			sizes = append(sizes, fmt.Sprintf("%s=%d", q.Name, v.Sizes[q.Name]))
		}
		about = append(about, "smaller sizes "+strings.Join(sizes, " "))
	} else {
		about = append(about, "same sizes")
	}
	if len(v.Random) > 0 {
		about = append(about, "random values in "+strings.Join(v.Random, ", "))
	}
	fmt.Fprintf(w, "check of %s against the reference executor (%s)\n", j.Device.ID, strings.Join(about, ", "))
	if len(v.Compared) > 0 && !v.Nothing {
		printCells(w, v)
	}
	if v.Beyond > 0 || v.Nothing {
		return
	}
	if v.NaNs > 0 {
		fmt.Fprintf(w, "  %s more not compared: there is no number on either side\n", count(v.NaNs, "cell"))
	}
	if v.Vanished > 0 {
		fmt.Fprintf(w, "  after %s there is no number left to compare in any cell that the program computes\n",
			count(v.Vanished, "iteration"))
	}
	if v.Integers > 0 {
		fmt.Fprintf(w, "  of these, %d are undecided: they are whole numbers, and rounding may tip them over%s\n",
			v.Integers, cure(v))
	}
	if n := v.Undecided - v.Integers; n > 0 {
		fmt.Fprintf(w, "  of these, %d are undecided: nothing bounds there what rounding may change%s\n", n, cure(v))
	}
	if v.Ends != "" {
		fmt.Fprintf(w, "  %s, as rounding allows: nothing after that was compared; --fp strict decides it\n", v.Ends)
	}
}

// printCells says how far apart the cells are.
func printCells(w io.Writer, v *engine.Verification) {
	fmt.Fprintf(w, "  %s compared", count(v.Cells, "cell"))
	if len(v.Compared) > 1 {
		fmt.Fprintf(w, " after %s iterations", list(v.Compared))
	}
	if v.MaxULP == 0 {
		fmt.Fprintln(w, ": all the same, bit for bit")
	} else {
		fmt.Fprintf(w, ": %d not the same bits, largest difference %.3g", v.Differ, v.MaxAbs)
		if v.MaxULP != math.MaxUint64 {
			fmt.Fprintf(w, " (%d ulp)", v.MaxULP)
		}
		if v.OfBound > 0 && v.Beyond == 0 {
			fmt.Fprintf(w, ", at most %.2g of what rounding may change", v.OfBound)
		}
		fmt.Fprintln(w)
	}
}

// cure says when, or how, undecided cells are decided.
func cure(v *engine.Verification) string {
	if v.Decided > 0 {
		return fmt.Sprintf(" (all were decided after %s); --fp strict compares bit for bit",
			count(v.Decided, "iteration"))
	}
	return "; --fp strict compares bit for bit"
}

// list prints numbers as a sentence does: "1, 2 and 4".
func list(numbers []int64) string {
	var b strings.Builder
	for i, n := range numbers {
		switch {
		case i == 0:
		case i == len(numbers)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}
