package cli

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// printTuning prints what a search has found, and at last the best plan.
func printTuning(a *app, r *tuner.Result) error {
	fmt.Fprintf(a.stdout, "%s on %s: %s in %s, %.1f a second, %s %s\n", r.Program, r.Device.Name,
		quantity.Count(r.Trials, "configuration"), quantity.Time(r.Seconds), r.Rate, r.Device.ID, r.Idleness())
	if n := fromStore(r); n > 0 {
		fmt.Fprintf(a.stdout, "  %s not measured: the store knew them (--anew measures again)\n", quantity.Whole(n))
	}
	for _, x := range r.Refusals {
		fmt.Fprintf(a.stdout, "  %s refused: %s, such as %s\n", quantity.Whole(x.Count), x.Reason, x.Config)
	}
	if err := a.print(report.PlansTable(r), 0); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, report.BoundText(r))
	for i := range r.Kernels {
		if text := mattered(&r.Kernels[i]); text != "" {
			fmt.Fprintf(a.stdout, "%s: %s\n", r.Kernels[i].Kernel, text)
		}
	}
	for _, v := range r.Versions {
		fmt.Fprintln(a.stdout, versionText(v, r.Version))
	}
	for i := range r.Advice {
		printAdvice(a, &r.Advice[i])
	}
	if r.Verdict != nil {
		fmt.Fprintln(a.stdout, r.Verdict.Text)
	}
	_, err := fmt.Fprintln(a.stdout, r.Best)
	return err
}

// printAdvice prints what a profile within the search has said, what came of the hints that were followed, and those
// that are left to the user.
func printAdvice(a *app, x *tuner.Advice) {
	if x.Profile == nil {
		return // a note has told why
	}
	a.row("%s was profiled after %s: %s", x.Kernel, quantity.Time(x.At), x.Profile.Class)
	for _, text := range x.Profile.Evidence {
		a.row("  %s", text)
	}
	for i := range x.Profile.Hints {
		printHint(a, &x.Profile.Hints[i])
	}
	if x.SearchedOn != "" {
		a.row("  searched on: %s", x.SearchedOn)
	}
	if x.Gain > 0 {
		a.row("  after %s more the program was %.2f times as fast", quantity.Count(x.Trials, "configuration"), x.Gain)
	}
}

// versionText says what came of a version of the program.
func versionText(v tuner.VersionResult, fastest string) string {
	text := "the program as it is"
	if v.Version != "" {
		text = "fission=" + v.Version
	}
	switch {
	case v.Failed != "":
		return text + ": " + v.Failed
	case v.Seconds == 0:
		return text + ": no result"
	}
	text += ": " + quantity.Time(v.Seconds)
	if v.Spills > 0 {
		text += fmt.Sprintf(", %d bytes of a thread spilled", v.Spills)
	}
	if v.Version == fastest {
		text += ", the fastest"
	}
	return text
}

// mostMattering parameters of a kernel are named.
const mostMattering = 4

// mattered names the parameters that mattered most; empty if nothing is known.
func mattered(k *tuner.KernelResult) string {
	var list []string
	for _, p := range k.Importance[:min(len(k.Importance), mostMattering)] {
		list = append(list, p.Name+" "+quantity.Share(p.Share))
	}
	if len(list) == 0 {
		return ""
	}
	return "shares of the differences in time: " + strings.Join(list, ", ")
}

// fromStore counts the trials that the store knew.
func fromStore(r *tuner.Result) int {
	n := 0
	for _, k := range r.Kernels {
		for _, t := range k.Trials {
			if t.Known {
				n++
			}
		}
	}
	return n
}
