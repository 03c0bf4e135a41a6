package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/gridloom/gridloom/internal/run/gridio"
)

// Definition is a space as the T1 format defines it.
type Definition struct {
	Kernel     string
	Params     []Param
	Conditions []Condition
}

// Condition must hold for a configuration to be in the space.
type Condition struct {
	Expr   *Expr
	params []int // those it is about
}

// maxDefinition bounds a definition's text.
const maxDefinition = 16 << 20

// ReadDefinitionFile reads a definition. Errors begin with the file's name.
func ReadDefinitionFile(path string) (*Definition, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, gridio.Named(path, err)
	}
	defer f.Close()
	d, err := ReadDefinition(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// ReadDefinition reads a definition, as it is or compressed by gzip.
func ReadDefinition(r io.Reader) (*Definition, error) {
	in, err := open(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDefinition+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDefinition {
		return nil, fmt.Errorf("a definition of more than %d MiB", maxDefinition>>20)
	}
	var file struct {
		ConfigurationSpace *struct {
			TuningParameters []struct {
				Name    string
				Values  json.RawMessage
				Default json.RawMessage
			}
			Conditions []struct{ Expression string }
		}
		KernelSpecification struct{ KernelName string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		var s *json.SyntaxError
		if errors.As(err, &s) {
			return nil, fmt.Errorf("byte %d: %w", s.Offset, err)
		}
		return nil, err
	}
	if file.ConfigurationSpace == nil || len(file.ConfigurationSpace.TuningParameters) == 0 {
		return nil, errors.New("no definition of a space: it has no \"ConfigurationSpace\" with \"TuningParameters\"")
	}
	d := &Definition{Kernel: file.KernelSpecification.KernelName}
	for _, p := range file.ConfigurationSpace.TuningParameters {
		q, err := readParam(p.Name, p.Values, p.Default)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if p.Name == "" || d.param(p.Name) >= 0 {
			return nil, fmt.Errorf("two parameters are called %q, or one has no name", p.Name)
		}
		d.Params = append(d.Params, q)
	}
	for i, c := range file.ConfigurationSpace.Conditions {
		if err := d.condition(c.Expression); err != nil {
			return nil, fmt.Errorf("condition %d: %w", i+1, err)
		}
	}
	return d, nil
}

// readParam reads values: a list, or a text that is an expression for one.
func readParam(name string, values, standard json.RawMessage) (Param, error) {
	p := Param{Name: name, Default: -1}
	l, err := literalOrExpr(values)
	if err != nil {
		return p, err
	}
	if l.kind != list || len(l.list) == 0 || len(l.list) > maxValues {
		return p, fmt.Errorf("the values are no list of 1 to %d", maxValues)
	}
	for _, v := range l.list {
		if v.kind == list || v.kind == nothing {
			return p, fmt.Errorf("%s is no value; numbers, texts and truths are", v)
		}
		if !slices.ContainsFunc(p.Values, v.same) {
			p.Values = append(p.Values, v)
		}
	}
	slices.SortStableFunc(p.Values, order)
	if len(standard) > 0 {
		if v, err := literalOrExpr(standard); err == nil {
			p.Default = slices.IndexFunc(p.Values, v.same)
		}
	}
	return p, nil
}

// literalOrExpr reads JSON. A text is an expression if it can be evaluated.
func literalOrExpr(raw json.RawMessage) (Value, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		e, err := ParseExpr(s)
		if err != nil {
			return Value{}, err
		}
		return e.Eval(nil)
	}
	var x []json.RawMessage
	if json.Unmarshal(raw, &x) == nil {
		out := Value{kind: list}
		for _, item := range x {
			v, err := scalar(item)
			if err != nil {
				return v, err
			}
			out.list = append(out.list, v)
		}
		return out, nil
	}
	return scalar(raw)
}

func scalar(raw json.RawMessage) (Value, error) {
	var s string
	var b bool
	var n json.Number
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return Text(s), nil
	case json.Unmarshal(raw, &b) == nil:
		return Truth(b), nil
	case json.Unmarshal(raw, &n) == nil:
		return fromJSON(n)
	}
	return Value{}, fmt.Errorf("%s is no value", raw)
}

func (d *Definition) param(name string) int {
	return slices.IndexFunc(d.Params, func(p Param) bool { return p.Name == name })
}

func (d *Definition) condition(text string) error {
	e, err := ParseExpr(text)
	if err != nil {
		return err
	}
	c := Condition{Expr: e}
	for _, name := range e.Names() {
		i := d.param(name)
		if i < 0 {
			return fmt.Errorf("%q: no parameter is called %s", text, name)
		}
		c.params = append(c.params, i)
	}
	d.Conditions = append(d.Conditions, c)
	return nil
}

// holds evaluates a condition for a choice of values.
func (d *Definition) holds(c Condition, value func(param int) Value) (bool, error) {
	v, err := c.Expr.Eval(func(name string) (Value, bool) {
		i := d.param(name)
		if i < 0 {
			return Value{}, false
		}
		return value(i), true
	})
	return v.true(), err
}

// All returns the configurations of the space, by the numbers of their values.
// A condition is tried as soon as its parameters have values. It ends with an
// error if a condition cannot be evaluated.
func (d *Definition) All() iter.Seq2[[]uint16, error] {
	return func(yield func([]uint16, error) bool) {
		config := make([]uint16, len(d.Params))
		value := func(i int) Value { return d.Params[i].Values[config[i]] }
		due := make([][]Condition, len(d.Params)+1) // by the parameter that comes last
		for _, c := range d.Conditions {
			last := 0
			for _, p := range c.params {
				last = max(last, p)
			}
			due[last] = append(due[last], c)
		}
		var choose func(i int) bool
		choose = func(i int) bool {
			if i == len(config) {
				return yield(config, nil)
			}
		values:
			for v := range d.Params[i].Values {
				config[i] = uint16(v)
				for _, c := range due[i] {
					ok, err := d.holds(c, value)
					if err != nil {
						yield(nil, err)
						return false
					}
					if !ok {
						continue values
					}
				}
				if !choose(i + 1) {
					return false
				}
			}
			return true
		}
		choose(0)
	}
}

// apply gives a recording the definition's defaults, and holds its
// valid configurations to the conditions.
func (d *Definition) apply(r *Recording) error {
	if r.Kernel == "" {
		r.Kernel = d.Kernel
	}
	from := make([]int, len(d.Params)) // the recording's parameter
	for i, p := range d.Params {
		from[i] = slices.IndexFunc(r.Params, func(q Param) bool { return q.Name == p.Name })
		if from[i] < 0 {
			return fmt.Errorf("the definition has a parameter %s, the recording has none", p.Name)
		}
		q := &r.Params[from[i]]
		if p.Default >= 0 {
			q.Default = slices.IndexFunc(q.Values, p.Values[p.Default].same)
		}
		for _, v := range q.Values {
			if !slices.ContainsFunc(p.Values, v.same) {
				return fmt.Errorf("%s=%s is recorded, the definition has no such value", p.Name, v)
			}
		}
	}
	if len(r.Params) > len(d.Params) {
		return fmt.Errorf("%d parameters are recorded, the definition has %d", len(r.Params), len(d.Params))
	}
	for i := range r.Trials {
		config := r.Trials[i].Config
		if r.Trials[i].Failure != "" {
			continue // some files list what is not in the space, too
		}
		for _, c := range d.Conditions {
			ok, err := d.holds(c, func(p int) Value { return r.value(from[p], config) })
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("%s is recorded, though %q does not hold", r.Text(config), c.Expr)
			}
		}
	}
	return nil
}
