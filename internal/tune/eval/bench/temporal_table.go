package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteTemporal prints rows as a table. Columns that no row has are left out.
func WriteTemporal(w io.Writer, rows []TemporalRow) {
	columns := []struct {
		name string
		has  func(r *TemporalRow) bool // nil for always
		text func(r *TemporalRow) string
	}{
		{"case", nil, func(r *TemporalRow) string { return r.Case }},
		{"type", nil, func(r *TemporalRow) string { return r.DType }},
		{"edges", func(r *TemporalRow) bool { return cmp.Or(r.Boundary, "none") != "none" },
			func(r *TemporalRow) string { return cmp.Or(r.Boundary, "none") }},
		{"grid", nil, func(r *TemporalRow) string { return r.Grid }},
		{"steps", nil, func(r *TemporalRow) string { return fmt.Sprint(r.Steps) }},
		{"depth", nil, func(r *TemporalRow) string { return fmt.Sprint(r.Depth) }},
		{"GStencil/s", nil, func(r *TemporalRow) string { return figure(r.Rate) }},
		{"95 % interval", nil, func(r *TemporalRow) string { return figure(r.Low) + " to " + figure(r.High) }},
		{"best", nil, func(r *TemporalRow) string { return figure(r.Cool) }},
		{"one a kernel", nil, func(r *TemporalRow) string { return figure(r.Single) }},
		{"ratio", func(r *TemporalRow) bool { return r.Pairs > 0 },
			func(r *TemporalRow) string { return fmt.Sprintf("%.2f", r.Ratio) }},
		{"its 95 %", func(r *TemporalRow) bool { return r.Pairs > 0 },
			func(r *TemporalRow) string { return fmt.Sprintf("%.2f to %.2f", r.RatioLow, r.RatioHigh) }},
		{"bare", func(r *TemporalRow) bool { return r.Bare > 0 },
			func(r *TemporalRow) string { return figure(r.Bare) }},
		{"of bare", func(r *TemporalRow) bool { return r.Guarded > 0 },
			func(r *TemporalRow) string { return fmt.Sprintf("%.3f", r.Guarded) }},
		{"useful", func(r *TemporalRow) bool { return r.Useful > 0 },
			func(r *TemporalRow) string { return fmt.Sprintf("%.3f", r.Useful) }},
		{"slots", func(r *TemporalRow) bool { return r.SlotShare != nil },
			func(r *TemporalRow) string { return fmt.Sprintf("%.2f", *r.SlotShare) }},
		{"of copy", func(r *TemporalRow) bool { return r.OverCopy > 0 },
			func(r *TemporalRow) string { return fmt.Sprintf("%.2f", r.OverCopy) }},
		{"regs", nil, func(r *TemporalRow) string { return fmt.Sprint(r.Registers) }},
		{"spill", nil, func(r *TemporalRow) string { return fmt.Sprint(r.Spills) }},
		{"differ", nil, func(r *TemporalRow) string { return fmt.Sprint(r.Differ) }},
		{"rivals", func(r *TemporalRow) bool { return len(r.Rivals) > 0 }, rivalsText},
		{"plan", nil, func(r *TemporalRow) string { return r.Plan }},
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(text func(column int) string) {
		var cells []string
		for i, c := range columns {
			if c.has == nil || slices.ContainsFunc(rows, func(r TemporalRow) bool { return c.has(&r) }) {
				cells = append(cells, text(i))
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	line(func(i int) string { return columns[i].name })
	for _, r := range rows {
		line(func(i int) string {
			if c := columns[i]; c.has == nil || c.has(&r) || c.name == "edges" {
				return c.text(&r)
			}
			return "-"
		})
	}
	t.Flush()
}

// figure writes a rate with three digits at the least.
func figure(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.2f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}

// rivalsText names rivals with their rates.
func rivalsText(r *TemporalRow) string {
	var list []string
	for _, v := range r.Rivals {
		list = append(list, v.Rival+" "+figure(v.Rate))
	}
	return strings.Join(list, ", ")
}
