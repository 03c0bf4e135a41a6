package store

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// column is one of a table's columns.
type column struct {
	name  string
	value func(r *Record) string
}

func float(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func whole(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// joined writes a decomposition: 2x2x1.
func joined(list []int) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, "x")
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }

var columns = []column{
	{"session", func(r *Record) string { return r.Session.ID }},
	{"index", func(r *Record) string { return strconv.Itoa(r.Index) }},
	{"at", func(r *Record) string { return stamp(r.At) }},
	{"commit", func(r *Record) string { return r.Commit() }},
	{"program", func(r *Record) string { return r.Session.Program.Name }},
	{"program_hash", func(r *Record) string { return r.Session.Program.Hash }},
	{"kernel", func(r *Record) string { return r.Kernel }},
	{"api", func(r *Record) string { return r.Session.Device.API }},
	{"device", func(r *Record) string { return r.Session.Device.Name }},
	{"device_uuid", func(r *Record) string { return r.Session.Device.UUID }},
	{"driver", func(r *Record) string { return r.Session.Device.Driver }},
	{"clock_mhz", func(r *Record) string { return whole(r.Session.Device.Clocks.Compute) }},
	{"compiler", func(r *Record) string {
		return strings.TrimSpace(r.Session.Compiler.Name + " " + r.Session.Compiler.Version)
	}},
	{"compiler_options", func(r *Record) string { return r.Session.Compiler.Options }},
	{"host", func(r *Record) string { return r.Session.Host.Name }},
	{"sizes", func(r *Record) string { return r.Session.Sizes.String() }},
	{"dtype", func(r *Record) string { return r.Session.DType }},
	{"fp", func(r *Record) string { return r.Session.FP }},
	{"arithmetic", func(r *Record) string { return strconv.Itoa(r.Session.Arithmetic) }},
	{"ir", func(r *Record) string { return strconv.Itoa(r.Session.Set.IR) }},
	{"strategy", func(r *Record) string { return r.Session.Strategy }},
	{"seed", func(r *Record) string { return strconv.FormatUint(r.Session.Seed, 10) }},
	{"config", func(r *Record) string { return r.Config }},
	{"verdict", func(r *Record) string { return r.Verdict.String() }},
	{"note", func(r *Record) string { return r.Note }},
	{"reused", func(r *Record) string { return strconv.FormatBool(r.Reused) }},
	{"median_s", func(r *Record) string { return float(r.Median) }},
	{"low_s", func(r *Record) string { return float(r.Low) }},
	{"high_s", func(r *Record) string { return float(r.High) }},
	{"samples_s", func(r *Record) string {
		var list []string
		for _, v := range r.Samples {
			list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return strings.Join(list, " ")
	}},
	{"code", func(r *Record) string {
		if r.Code == 0 {
			return ""
		}
		return r.Code.String()
	}},
	{"registers", func(r *Record) string { return whole(r.Resources.Registers) }},
	{"spill_bytes", func(r *Record) string { return whole(r.Resources.Spills) }},
	{"shared_bytes", func(r *Record) string { return whole(r.Resources.Shared) }},
	{"occupancy", func(r *Record) string { return float(float64(r.Resources.Occupancy)) }},
	{"error", func(r *Record) string { return float(r.Error) }},
	{"compile_s", func(r *Record) string { return float(r.Compile.Seconds()) }},
	{"measure_s", func(r *Record) string { return float(r.Measure.Seconds()) }},
	{"validate_s", func(r *Record) string { return float(r.Validate.Seconds()) }},
	{"search_s", func(r *Record) string { return float(r.Search.Seconds()) }},
	{"other_s", func(r *Record) string { return float(r.Other.Seconds()) }},
	{"source_hash", func(r *Record) string { return r.Session.Search.Source }},
	{"units", func(r *Record) string { return whole(r.Session.Device.Units) }},
	{"memory_clock_mhz", func(r *Record) string { return whole(r.Session.Device.Clocks.Memory) }},
	{"origin", func(r *Record) string { return r.Session.Origin }},
	{"ranks", func(r *Record) string { return whole(r.Session.Ranks) }},
	{"decomposition", func(r *Record) string { return joined(r.Session.Decomposition) }},
	{"network", func(r *Record) string { return r.Session.Network }},
	{"blocks", func(r *Record) string { return whole(r.Resources.Blocks) }},
	{"trial_clock_mhz", func(r *Record) string { return whole(r.Condition.Clock) }},
	{"trial_temperature_c", func(r *Record) string { return whole(r.Condition.Temperature) }},
	{"trial_power_w", func(r *Record) string { return whole(r.Condition.Power) }},
}

// harmless returns the text of a cell with an apostrophe before what spreadsheets
// would take for a formula, and run: names of programs and devices come from
// outside. After a sign, as in -O3, only what calls something is one.
func harmless(cell string) string {
	if cell == "" {
		return cell
	}
	switch cell[0] {
	case '=', '@', '\t', '\r', '\n':
		return "'" + cell
	case '+', '-':
		if strings.ContainsAny(cell, "(|!") {
			return "'" + cell
		}
	}
	return cell
}

// ExportCSV writes the trials of a filter as a table with a line of names. What
// is not known is empty. A text that looks like a formula gets an apostrophe.
func ExportCSV(ctx context.Context, s Store, w io.Writer, f Filter) error {
	out := csv.NewWriter(w)
	var row []string
	for _, c := range columns {
		row = append(row, c.name)
	}
	if err := out.Write(row); err != nil {
		return err
	}
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return err
		}
		for i, c := range columns {
			row[i] = harmless(c.value(&r))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
