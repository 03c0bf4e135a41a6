package omnitune

import (
	"fmt"
	"io"
)

// Write prints rows as tables in Markdown: those of section 7.4 of Cummins et al., with the paper's figures beside
// ours.
func Write(w io.Writer, s *Suite, rows []Row) {
	byKey := map[[3]string]Row{}
	for _, r := range rows {
		byKey[[3]string{r.Model, r.Split, r.Metric}] = r
	}
	writeSpeeds(w, rows)
	writeDevices(w, s)
	judged := s.Scenarios[0].Judged
	if !judged {
		writePublished(w, byKey)
	}
	writeDetails(w, s, byKey)
	if note := s.twinNote(); note != "" {
		fmt.Fprintf(w, "\n%s.\n", note)
	}
	if !judged {
		fmt.Fprintln(w, "\nWhich sizes a device refuses is not known of these scenarios: what was not run may be "+
			"legal. Validity is the share of predicted sizes that were run, of models that do not know which were.")
		return
	}
	legal, refused := 0, 0
	for i := range s.Scenarios {
		legal, refused = legal+len(s.Scenarios[i].Sizes), refused+len(s.Scenarios[i].Illegal)
	}
	base, expert := s.references()
	fmt.Fprintf(w, "\n%d scenarios, %d left out without a shared configuration; %d sizes ran, and %d (%.1f %%) are "+
		"refused. Validity is the share of sizes asked for first that are legal, of those that are known to be legal "+
		"or refused. A refused size is not asked for again. The baseline is %v, the default %v.\n", len(s.Scenarios),
		s.Empty, legal, refused, 100*float64(refused)/float64(legal+refused), base, expert)
}

// writeSpeeds is what every model has of the fastest.
func writeSpeeds(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "| left out | model | speed of picks | 95 % | more than the table | 95 % | of its loss | random |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.Metric == speedMetric {
			fmt.Fprintf(w, "| %s of %d | %s | %.3f | %.3f to %.3f | %+.3f | %+.3f to %+.3f | %.0f %% | %.3f |\n",
				r.Split, r.Groups, r.Model, r.Value, r.Low, r.High, r.Gain, r.GainLow, r.GainHigh, 100*r.Removed,
				r.Random)
		}
	}
}

// writePublished is what the paper tells of three models, ours first.
func writePublished(w io.Writer, rows map[[3]string]Row) {
	for _, t := range paperTables {
		fmt.Fprintf(w, "\nTable %s: %s; here, and in the thesis\n\n", t.name, t.model)
		fmt.Fprintln(w, "| left out | speed | thesis | over 4x4 | thesis | over 32x4 | thesis |")
		fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
		for _, split := range Splits {
			get := func(metric string) float64 { return rows[[3]string{t.model, split.Name, metric}].Value }
			if p := t.rows[split.Name]; get(speedMetric) > 0 {
				fmt.Fprintf(w, "| %s | %.0f %% | %.0f %% | %.2f | %.2f | %.2f | %.2f |\n", split.Name,
					100*get(speedMetric), 100*p.performance, get(baselineMetric), p.overBaseline, get(humanMetric),
					p.overHuman)
			}
		}
	}
}

// writeDetails are all metrics of all models, as figures 7.11 to 7.15 show them.
func writeDetails(w io.Writer, s *Suite, rows map[[3]string]Row) {
	metrics := metricsOf(s)
	for _, split := range s.Splits {
		if _, ok := rows[[3]string{Table, split.Name, speedMetric}]; !ok {
			continue
		}
		fmt.Fprintf(w, "\nWithout %s\n\n| model |", split.Doc)
		for _, m := range metrics[1:] {
			fmt.Fprintf(w, " %s |", m.name)
		}
		fmt.Fprint(w, "\n|---|")
		for range metrics[1:] {
			fmt.Fprint(w, "---|")
		}
		fmt.Fprintln(w)
		for _, model := range Models() {
			fmt.Fprintf(w, "| %s |", model.Name)
			for _, m := range metrics[1:] {
				if r, ok := rows[[3]string{model.Name, split.Name, m.name}]; ok {
					fmt.Fprintf(w, " %.3f |", r.Value)
				} else {
					fmt.Fprint(w, " |")
				}
			}
			fmt.Fprintln(w)
		}
	}
}
