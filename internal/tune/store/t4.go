package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// T4 is the form in which programs for auto-tuning exchange results (version
// 1.0.0 of its schema). Times are in milliseconds. What it has no place for
// stands under "gridloom" in each result.
type t4Result struct {
	Timestamp     string        `json:"timestamp"`
	Configuration settings      `json:"configuration"`
	Objectives    []string      `json:"objectives"`
	Times         t4Times       `json:"times"`
	Invalidity    string        `json:"invalidity"`
	Correctness   float64       `json:"correctness"`
	Measurements  []measurement `json:"measurements"`
	Gridloom      *t4Own        `json:"gridloom,omitempty"`
}

// t4Times has the names of the schema and, since programs read these, those
// of Kernel Tuner.
type t4Times struct {
	CompilationTime *float64  `json:"compilation_time,omitempty"`
	Compilation     *float64  `json:"compilation,omitempty"`
	Benchmark       float64   `json:"benchmark"`
	Framework       float64   `json:"framework"`
	Search          float64   `json:"search_algorithm"`
	Validation      float64   `json:"validation"`
	Runtimes        []float64 `json:"runtimes"`
}

type measurement struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Unit  string `json:"unit"`
}

// t4Own says which trial of which session a result is. The first result of a
// session brings all that is known of the session.
type t4Own struct {
	Session string       `json:"session"`
	Index   int          `json:"index"`
	Kernel  string       `json:"kernel,omitempty"`
	Head    string       `json:"head,omitempty"` // of a plan with one kernel: heat[0:1]@1
	Code    session.Code `json:"code,omitzero"`
	// Condition is that of the device after the trial.
	Condition session.Condition `json:"condition,omitzero"`
	Info      *session.Session  `json:"info,omitempty"`
}

// settings is a configuration as parameters with their values. Those of plans
// with several kernels are called "heat[0:1]@1/block".
type settings []setting

type setting struct{ name, value string }

// split returns the settings of a text. head is the only kernel of a plan.
func split(text string) (list settings, head string) {
	parts := strings.Split(text, ";")
	for _, part := range parts {
		prefix := ""
		if h, body, ok := strings.Cut(part, "{"); ok {
			part = strings.TrimSuffix(body, "}")
			if len(parts) == 1 {
				head = h
			} else {
				prefix = h + "/"
			}
		}
		for s := range strings.SplitSeq(part, ",") {
			name, value, _ := strings.Cut(s, "=")
			list = append(list, setting{prefix + name, value})
		}
	}
	return list, head
}

// join is the reverse of split.
func (list settings) join(head string) string {
	if head != "" {
		return head + "{" + list.join("") + "}"
	}
	var b strings.Builder
	open := ""
	for i, s := range list {
		prefix, name, ok := strings.Cut(s.name, "/")
		if !ok {
			prefix, name = "", s.name
		}
		switch {
		case i > 0 && prefix == open:
			b.WriteByte(',')
		case i > 0 && open != "":
			b.WriteString("};")
		case i > 0:
			b.WriteByte(';')
		}
		if prefix != open {
			b.WriteString(prefix + "{")
			open = prefix
		}
		b.WriteString(name + "=" + s.value)
	}
	if open != "" {
		b.WriteByte('}')
	}
	return b.String()
}

// MarshalJSON keeps the order. Values that look like numbers are numbers.
func (list settings) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote(s.name)...), ':')
		if c := s.value; c != "" && (c[0] == '-' || c[0] >= '0' && c[0] <= '9') && json.Valid([]byte(c)) {
			out = append(out, c...)
		} else {
			out = append(out, quote(c)...)
		}
	}
	return append(out, '}'), nil
}

func quote(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return out
}

// UnmarshalJSON reads an object of numbers, texts and truth values, in order.
func (list *settings) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("a configuration is an object, not %.20s", text)
	}
	*list = nil
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		value, err := dec.Token()
		if err != nil {
			return err
		}
		s := setting{fmt.Sprint(name), fmt.Sprint(value)}
		if _, nested := value.(json.Delim); nested || value == nil || strings.ContainsAny(s.value, ",{};") ||
			strings.ContainsAny(s.name, ",{};=") {
			return fmt.Errorf("the parameter %q has the value %q, which has no text as a setting", s.name, s.value)
		}
		*list = append(*list, s)
	}
	return nil
}

func ms(d time.Duration) float64           { return d.Seconds() * 1e3 }
func duration(ms float64) time.Duration    { return time.Duration(ms * float64(time.Millisecond)) }
func milliseconds(seconds float64) float64 { return seconds * 1e3 }

// t4Invalid says of each verdict what T4 calls it.
var t4Invalid = [...]string{"correct", "constraints", "constraints", "compile", "runtime", "timeout", "runtime",
	"correctness"}

// t4 returns a record as a result.
func (r *Record) t4() t4Result {
	list, head := split(r.Config)
	compile := ms(r.Compile)
	out := t4Result{
		Timestamp:     stamp(r.At),
		Configuration: list,
		Objectives:    []string{"time"},
		Times: t4Times{CompilationTime: &compile, Compilation: &compile, Benchmark: ms(r.Measure),
			Framework: ms(r.Other),
			Search:    ms(r.Trial.Search), Validation: ms(r.Validate), Runtimes: []float64{}},
		Invalidity:   t4Invalid[r.Verdict],
		Measurements: []measurement{},
		Gridloom: &t4Own{Session: r.Session.ID, Index: r.Index, Kernel: r.Kernel, Head: head,
			Code: r.Code, Condition: r.Condition},
	}
	if r.Verdict == verdict.OK {
		out.Correctness = 1
	}
	for _, v := range r.Samples {
		out.Times.Runtimes = append(out.Times.Runtimes, milliseconds(v))
	}
	number := func(name string, v float64, unit string) {
		if v != 0 {
			out.Measurements = append(out.Measurements, measurement{name, v, unit})
		}
	}
	number("time", milliseconds(r.Median), "ms")
	number("time_low", milliseconds(r.Low), "ms")
	number("time_high", milliseconds(r.High), "ms")
	number("registers", float64(r.Resources.Registers), "")
	number("spills", float64(r.Resources.Spills), "B")
	number("shared", float64(r.Resources.Shared), "B")
	number("blocks", float64(r.Resources.Blocks), "")
	number("occupancy", float64(r.Resources.Occupancy), "")
	number("error", r.Error, "")
	if r.Verdict != verdict.OK {
		out.Measurements = append(out.Measurements, measurement{"verdict", r.Verdict.String(), ""})
	}
	if r.Note != "" {
		out.Measurements = append(out.Measurements, measurement{"note", r.Note, ""})
	}
	return out
}

// ExportT4 writes the trials of a filter as results of T4. A file is about one
// kernel in one scenario, so it is an error if the filter lets others pass. Of
// several measurements of a variant, the one that counts is written. Plans of
// the whole program, which end the searches of its kernels, do not count as
// another kernel.
func ExportT4(ctx context.Context, s Store, w io.Writer, f Filter) error {
	if f.Kernel == "" {
		var err error
		if f.Kernel, err = onlyKernel(ctx, s, f); err != nil {
			return err
		}
	}
	counts, first, err := counting(ctx, s, f)
	if err != nil {
		return err
	}
	head, err := headOf(first)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var current *session.Session
	between := "\n"
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return err
		}
		if c := counts[variant{r.Kernel, r.Config}]; c.session != r.Session.ID || c.index != r.Index {
			continue
		}
		out := r.t4()
		if r.Session != current {
			current = r.Session
			out.Gridloom.Info = current
		}
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		if _, err := w.Write(slices.Concat([]byte(between), text)); err != nil {
			return err
		}
		between = ",\n"
	}
	_, err = io.WriteString(w, "\n]}\n")
	return err
}

// onlyKernel returns the kernel that all trials are about, but for those of whole
// programs; "" if there are several kernels or none.
func onlyKernel(ctx context.Context, s Store, f Filter) (string, error) {
	only := ""
	for r, err := range s.Records(ctx, f) {
		switch {
		case err != nil:
			return "", err
		case r.Reused || r.Kernel == "" || r.Kernel == only:
		case only == "":
			only = r.Kernel
		default:
			return "", nil
		}
	}
	return only, nil
}

// place is where the measurement of a variant stands that counts.
type place struct {
	session string
	index   int
	weight  weight
}

// counting returns which measurement of each variant counts, and refuses
// trials of several scenarios.
func counting(ctx context.Context, s Store, f Filter) (counts map[variant]place, first *Record, err error) {
	counts = map[variant]place{}
	for r, err := range s.Records(ctx, f) {
		if err != nil {
			return nil, nil, err
		}
		if r.Reused {
			continue
		}
		if first == nil {
			first = &r
		} else if d := r.differs(first); d != "" {
			return nil, nil, &gridio.Error{Text: "a T4 file holds trials of one kernel in one scenario, and these " +
				"are of several: " + d,
				Hint: "choose with --program, --device, --sizes, --dtype, --kernel, --arithmetic or --session"}
		}
		v := variant{r.Kernel, r.Config}
		if old, ok := counts[v]; !ok || old.weight.yields(weightOf(&r.Trial)) {
			counts[v] = place{r.Session.ID, r.Index, weightOf(&r.Trial)}
		}
	}
	return counts, first, nil
}

// headOf returns the beginning of a file: what all of its trials share, if there are any.
func headOf(r *Record) ([]byte, error) {
	head := struct {
		Version string        `json:"schema_version"`
		Kernel  string        `json:"kernel_name,omitempty"`
		Device  string        `json:"device_name,omitempty"`
		Sizes   session.Sizes `json:"sizes,omitempty"`
	}{Version: "1.0.0"}
	if r != nil {
		head.Kernel, head.Device, head.Sizes = r.Session.Program.Name, r.Session.Device.String(), r.Session.Sizes
	}
	text, err := json.Marshal(head)
	return append(text[:max(0, len(text)-1)], `,"results":[`...), err
}

// differs says how the scenarios of two trials differ.
func (r *Record) differs(q *Record) string {
	a, b := r.Session, q.Session
	for _, e := range []struct{ what, is, was string }{
		{"programs", a.Program.Hash, b.Program.Hash},
		{"devices", a.Device.API + " " + a.Device.String(), b.Device.API + " " + b.Device.String()},
		{"drivers", a.Device.Driver, b.Device.Driver},
		{"compilers", fmt.Sprint(a.Compiler), fmt.Sprint(b.Compiler)},
		{"sizes", a.Sizes.String(), b.Sizes.String()},
		{"types", a.DType, b.DType},
		{"modes of arithmetic", a.FP, b.FP},
		{"versions", a.Definitions(), b.Definitions()},
		{"clusters", fmt.Sprint(a.Cluster), fmt.Sprint(b.Cluster)},
		{"kernels", r.Kernel, q.Kernel},
	} {
		if e.is == e.was {
			continue
		}
		if e.what == "programs" {
			e.was, e.is = b.Program.Name, a.Program.Name
		}
		return fmt.Sprintf("%s %q and %q", e.what, strings.TrimSpace(e.was), strings.TrimSpace(e.is))
	}
	return ""
}
