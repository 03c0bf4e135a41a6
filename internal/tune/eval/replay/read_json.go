package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// reader reads the two kinds of JSON.
type reader struct {
	dec  *json.Decoder
	part *gridio.Portions
	c    *collector
	// What a cache says before its configurations.
	keys      []string
	values    map[string][]Value
	objective objective
	found     bool // configurations
	read      int
}

// errStub is a file that ends before its braces are closed.
var errStub = errors.New("the text breaks off")

func readJSON(in *bufio.Reader, c *collector) error {
	part := parts(&plain{in: in})
	r := &reader{dec: json.NewDecoder(part), part: part, c: c, objective: objective{name: "time"}}
	r.dec.UseNumber()
	err := r.top()
	if err == nil {
		err = r.end()
	}
	switch {
	case errors.Is(err, errStub) && r.read > 0:
		c.note(
			"the file breaks off without its closing braces, as Kernel Tuner leaves it while it works; %d "+
				"configurations were read", r.read)
		return nil
	case errors.Is(err, errGzip):
		return err
	case err != nil:
		return fmt.Errorf("byte %d: %w", r.dec.InputOffset()+1, err)
	case !r.found:
		return errors.New("neither \"cache\" (Kernel Tuner) nor \"results\" (T4) is in the file")
	}
	return nil
}

// end reads what follows, which is nothing; checksums come with it.
func (r *reader) end() error {
	r.part.Next()
	switch t, err := r.dec.Token(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	default:
		return fmt.Errorf("%v follows after the end", t)
	}
}

// top reads the outermost object.
func (r *reader) top() error {
	return r.object(func(name string) error {
		switch name {
		case "kernel_name":
			return r.value(&r.c.rec.Kernel)
		case "device_name":
			return r.value(&r.c.rec.Device)
		case "objective":
			return r.named()
		case "objective_higher_is_better":
			return r.directed()
		case "sizes":
			return r.sizes()
		case "problem_size":
			return r.problemSize()
		case "tune_params_keys":
			return r.value(&r.keys)
		case "tune_params":
			return r.tuneParams()
		case "cache":
			return r.cache()
		case "results":
			return r.results()
		case "ConfigurationSpace":
			return errors.New("this is a definition of a space (T1); a recording has \"cache\" or \"results\"")
		}
		var skipped json.RawMessage
		return r.value(&skipped)
	})
}

// token reads one; a text that ends here is a stub.
func (r *reader) token() (json.Token, error) {
	r.part.Next()
	t, err := r.dec.Token()
	return t, cut(err)
}

// value reads a whole value.
func (r *reader) value(into any) error {
	r.part.Next()
	return cut(r.dec.Decode(into))
}

func cut(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errGzip) {
		return errStub
	}
	return err
}

func (r *reader) open(want json.Delim) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%v stands where %q is expected", t, want.String())
	}
	return nil
}

// object reads an object by its fields' names.
func (r *reader) object(field func(name string) error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	for {
		t, err := r.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return nil // the closing brace: nothing else can stand here
		}
		if err := field(name); err != nil {
			return err
		}
	}
}

// sizes reads the sizes of a recording of Gridloom. What another program calls so is
// passed over.
func (r *reader) sizes() error {
	var text json.RawMessage
	if err := r.value(&text); err != nil {
		return err
	}
	var list session.Sizes
	if json.Unmarshal(text, &list) == nil {
		r.c.rec.Sizes = list
	}
	return nil
}

// problemSize reads the sizes of Kernel Tuner: numbers, or one, or whatever else.
func (r *reader) problemSize() error {
	var x any
	if err := r.value(&x); err != nil {
		return err
	}
	list, ok := x.([]any)
	if !ok {
		list = []any{x}
	}
	var sizes session.Sizes
	for _, n := range list {
		n, ok := n.(json.Number)
		if !ok {
			return nil
		}
		v, err := n.Int64()
		if err != nil {
			return nil
		}
		sizes = append(sizes, session.Size{Value: v})
	}
	r.c.rec.Sizes = sizes
	return nil
}

// tuneParams keeps the order of values, which that of words is read from.
func (r *reader) tuneParams() error {
	var lists map[string][]any
	if err := r.value(&lists); err != nil {
		return err
	}
	r.values = map[string][]Value{}
	for name, l := range lists {
		for _, x := range l {
			v, err := fromJSON(x)
			if err != nil {
				return fmt.Errorf("tune_params: %s: %w", name, err)
			}
			r.values[name] = append(r.values[name], v)
		}
	}
	return nil
}

// cache reads the configurations of Kernel Tuner.
func (r *reader) cache() error {
	r.found = true
	if len(r.keys) == 0 {
		return errors.New("\"cache\" without \"tune_params_keys\" before it: nothing says what the parameters are")
	}
	for _, name := range r.keys {
		if err := r.c.param(name, r.values[name]...); err != nil {
			return err
		}
	}
	rate, err := r.objective.rate()
	if err != nil {
		return err
	}
	if rate {
		r.c.reciprocal(r.objective.name)
	}
	return r.object(func(name string) error {
		var fields map[string]any
		if err := r.value(&fields); err != nil {
			return err
		}
		values := make([]Value, len(r.keys))
		for i, k := range r.keys {
			x, ok := fields[k]
			if !ok {
				return fmt.Errorf("configuration %q has no %s", name, k)
			}
			v, err := fromJSON(x)
			if err != nil {
				return fmt.Errorf("configuration %q: %s: %w", name, k, err)
			}
			values[i] = v
		}
		t := Trial{Cost: Cost{
			Compile:    field(fields, "compile_time"),
			Framework:  field(fields, "framework_time"),
			Search:     field(fields, "strategy_time"),
			Validation: field(fields, "verification_time"),
		}}
		runs, timed := runTimes(fields["times"])
		if !timed {
			runs = field(fields, "benchmark_time")
		}
		t.Cost.Runs = runs
		judge(&t, fields[r.objective.name], rate)
		r.read++
		return r.c.add(values, t)
	})
}

// judge takes a measured value, or the word that stands in its place.
// Of a rate, the reciprocal is taken.
func judge(t *Trial, x any, rate bool) {
	switch x := x.(type) {
	case string:
		t.Failure = x
	case json.Number:
		f, err := x.Float64()
		switch {
		case err != nil:
			f = math.Inf(1)
		case f >= notTimed:
			t.Failure = "no time"
			return
		case rate && f != 0:
			f = second / f
		}
		t.Seconds = f / second
	default:
		t.Failure = "no time"
	}
}

// field returns a number in seconds, 0 if there is none.
func field(fields map[string]any, name string) float64 {
	n, ok := fields[name].(json.Number)
	if !ok {
		return 0
	}
	f, err := n.Float64()
	if err != nil { // it is beyond all numbers
		f = math.Inf(1)
	}
	return seconds(&f)
}

// runTimes adds up a list of runs; false if there is none. What is not finite
// in it does not count.
func runTimes(x any) (float64, bool) {
	l, ok := x.([]any)
	if !ok {
		return 0, false
	}
	total := 0.0
	for _, x := range l {
		if n, ok := x.(json.Number); ok {
			switch f, err := n.Float64(); {
			case err != nil:
			case f < 0:
				return f, true
			default:
				total += f / second
			}
		}
	}
	return total, true
}

// result is one of the results of T4.
type result struct {
	Configuration json.RawMessage `json:"configuration"`
	Times         struct {
		Compilation     *float64   `json:"compilation"`
		CompilationTime *float64   `json:"compilation_time"`
		Framework       *float64   `json:"framework"`
		Search          *float64   `json:"search_algorithm"`
		Validation      *float64   `json:"validation"`
		Benchmark       *float64   `json:"benchmark"`
		Runtimes        []*float64 `json:"runtimes"`
	} `json:"times"`
	Invalidity   string `json:"invalidity"`
	Correctness  *float64
	Measurements []struct {
		Name  string `json:"name"`
		Value any    `json:"value"`
		Unit  string `json:"unit"`
	} `json:"measurements"`
	Objectives []string `json:"objectives"`
}

// units converts to seconds.
var units = map[string]float64{"": 1e-3, "ms": 1e-3, "milliseconds": 1e-3, "s": 1, "sec": 1, "seconds": 1, "us": 1e-6,
	"microseconds": 1e-6, "ns": 1e-9, "nanoseconds": 1e-9}

// results reads the configurations of T4.
func (r *reader) results() error {
	r.found = true
	if err := r.open('['); err != nil {
		return err
	}
	for {
		r.part.Next()
		if !r.dec.More() {
			_, err := r.token()
			return err
		}
		var x result
		if err := r.value(&x); err != nil {
			return err
		}
		if err := r.result(&x); err != nil {
			return fmt.Errorf("result %d: %w", r.read+1, err)
		}
		r.read++
	}
}

func (r *reader) result(x *result) error {
	values, err := r.configuration(x.Configuration)
	if err != nil {
		return err
	}
	compile := x.Times.Compilation
	if compile == nil {
		compile = x.Times.CompilationTime
	}
	t := Trial{Cost: Cost{
		Compile:    seconds(compile),
		Runs:       sum(x.Times.Runtimes),
		Framework:  seconds(x.Times.Framework),
		Search:     seconds(x.Times.Search),
		Validation: seconds(x.Times.Validation),
	}}
	if x.Times.Runtimes == nil {
		t.Cost.Runs = seconds(x.Times.Benchmark)
	}
	x.resources(&t.Resources)
	switch {
	case x.Invalidity != "" && x.Invalidity != "correct":
		t.Failure = x.Invalidity
	case x.Correctness != nil && *x.Correctness == 0:
		t.Failure = "correctness"
	default:
		if err := r.measured(x, &t); err != nil {
			return err
		}
	}
	return r.c.add(values, t)
}

// resources takes what is measured besides times. What no compiler tells is passed over.
func (x *result) resources(r *session.Resources) {
	const most = 1 << 31 // registers, bytes or blocks
	for _, m := range x.Measurements {
		n, ok := m.Value.(json.Number)
		if !ok {
			continue
		}
		v, err := n.Float64()
		if err != nil || !(v >= 0 && v < most) {
			continue
		}
		switch m.Name {
		case "registers":
			r.Registers = int(v)
		case "spills":
			r.Spills = int(v)
		case "shared":
			r.Shared = int(v)
		case "blocks":
			r.Blocks = int(v)
		case "occupancy":
			r.Occupancy = float32(v)
		}
	}
}

// measured takes the measurement that was tuned for, or the one called time.
func (r *reader) measured(x *result, t *Trial) error {
	name := "time"
	if len(x.Objectives) > 0 {
		name = x.Objectives[0]
	}
	rate, err := objective{name: name}.rate()
	if err != nil {
		return err
	}
	for _, m := range x.Measurements {
		if m.Name != name {
			continue
		}
		if rate {
			r.c.reciprocal(name)
			judge(t, m.Value, rate)
			return nil
		}
		unit, ok := units[m.Unit]
		if !ok {
			return fmt.Errorf("%s is in %q; a time in s, ms, us or ns is expected", name, m.Unit)
		}
		judge(t, m.Value, false)
		t.Seconds *= unit * second
		return nil
	}
	t.Failure = "no " + name
	return nil
}

// configuration returns the values in the order of parameters, which the results
// before set, and may add to.
func (r *reader) configuration(raw json.RawMessage) ([]Value, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it has no configuration")
	}
	values := make([]Value, len(r.c.rec.Params))
	some := false
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string) // the decoder has seen the whole object before
		var x any
		if err := dec.Decode(&x); err != nil {
			return nil, err
		}
		v, err := fromJSON(x)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		i, ok := r.c.byName[name]
		if !ok {
			i = len(values)
			if err := r.c.param(name); err != nil {
				return nil, err
			}
			values = append(values, Value{})
		}
		if values[i].kind != nothing {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		values[i], some = v, true
	}
	if !some {
		return nil, errors.New("its configuration is empty")
	}
	return values, nil
}
