package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// schemaVersion is that of T4 results.
const schemaVersion = "1.0.0"

// words are what T4 calls the failures of Kernel Tuner.
var words = map[string]string{
	"InvalidConfig":           "constraints",
	"CompilationFailedConfig": "compile",
	"RuntimeFailedConfig":     "runtime",
}

// Write writes a recording as T4 results, one configuration a line. Read gives
// the same recording back, but for single runs, which become their sum.
func Write(w io.Writer, r *Recording) error {
	if err := r.Verify(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	put := func(format string, args ...any) { fmt.Fprintf(out, format, args...) } // Flush tells of errors
	put("{\n\"schema_version\": %q,\n", schemaVersion)
	for _, f := range []struct{ name, value string }{{"kernel_name", r.Kernel}, {"device_name", r.Device}} {
		if f.value != "" {
			text, err := json.Marshal(f.value)
			if err != nil {
				return err
			}
			put("%q: %s,\n", f.name, text)
		}
	}
	if len(r.Sizes) > 0 {
		text, err := json.Marshal(r.Sizes)
		if err != nil {
			return err
		}
		put("\"sizes\": %s,\n", text)
	}
	put("\"results\": [")
	for i := range r.Trials {
		text, err := json.Marshal(r.written(&r.Trials[i]))
		if err != nil {
			return err
		}
		if i > 0 {
			put(",")
		}
		put("\n%s", text)
	}
	put("\n]\n}\n")
	return out.Flush()
}

// ordered is an object whose fields keep their order.
type ordered []struct {
	name  string
	value any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// written is a trial as T4 has it, in milliseconds.
func (r *Recording) written(t *Trial) any {
	var config ordered
	for i, v := range t.Config {
		if v == Missing {
			continue
		}
		config = append(config, struct {
			name  string
			value any
		}{r.Params[i].Name, r.Params[i].Values[v]})
	}
	runs := []float64{}
	for _, s := range t.Runs {
		runs = append(runs, s*second)
	}
	if t.Runs == nil && t.Cost.Runs > 0 {
		runs = append(runs, t.Cost.Runs*second)
	}
	type measurement struct {
		Name  string  `json:"name"`
		Value float64 `json:"value"`
		Unit  string  `json:"unit"`
	}
	measurements := []measurement{}
	invalidity := "correct"
	if t.Failure != "" {
		invalidity = t.Failure
		if w, ok := words[t.Failure]; ok {
			invalidity = w
		}
	} else {
		measurements = append(measurements, measurement{"time", t.Seconds * second, "ms"})
	}
	for _, q := range []measurement{
		{"registers", float64(t.Resources.Registers), ""}, {"spills", float64(t.Resources.Spills), "B"},
		{"shared", float64(t.Resources.Shared), "B"}, {"blocks", float64(t.Resources.Blocks), ""},
		{"occupancy", float64(t.Resources.Occupancy), ""},
	} {
		if q.Value != 0 {
			measurements = append(measurements, q)
		}
	}
	return ordered{
		{"configuration", config},
		{"times", ordered{
			{"compilation", t.Cost.Compile * second},
			{"framework", t.Cost.Framework * second},
			{"search_algorithm", t.Cost.Search * second},
			{"validation", t.Cost.Validation * second},
			{"runtimes", runs},
		}},
		{"invalidity", invalidity},
		{"correctness", 1},
		{"measurements", measurements},
		{"objectives", []string{"time"}},
	}
}
