// Package schedule holds the optimisation parameters as data: which exist for a
// kernel, what values they take and which combinations are legal (Space), one
// choice of values for one kernel (Config), and the kernels of a whole program
// with their choices (Plan).
//
// A space is a union of families, each with parameters of its own; some
// parameters exist only when others have certain values. Counting and sampling
// cost what the constraints tie together, never the product of the rest.
package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// FamilyName is the name by which a configuration sets its family.
const FamilyName = "family"

// Config is a choice of values for one kernel.
//
// Example text:
//
//	family=loops,block=0x64x0,threads=2
type Config struct {
	Family string // "" in a partial configuration that leaves the choice open
	Values []Setting
}

// Setting is one parameter with its value.
type Setting struct {
	Name  string
	Value Value
}

// ParseConfig reads the text of a configuration, which may be partial and in a
// former spelling. The family, if given, comes first; spaces around commas are
// allowed.
func ParseConfig(text string) (Config, error) {
	var c Config
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	first := true
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		name, value, found := strings.Cut(part, "=")
		name, value = Respell(name, value)
		switch {
		case part == "":
			return Config{}, fmt.Errorf("a setting is missing between two commas of %q", text)
		case !found:
			return Config{}, fmt.Errorf("%q is no setting: write name=value", part)
		case !isName(name):
			return Config{}, fmt.Errorf("%q is no name of a parameter", name)
		case name == FamilyName && !first:
			return Config{}, fmt.Errorf("%s=%s comes first", FamilyName, value)
		case name == FamilyName && !isName(value):
			return Config{}, fmt.Errorf("%q is no name of a family", value)
		case name == FamilyName:
			c.Family = value
		case c.Has(name):
			return Config{}, fmt.Errorf("%s is set twice", name)
		default:
			v, err := ParseValue(value)
			if err != nil {
				return Config{}, fmt.Errorf("%s: %w", name, err)
			}
			c.Values = append(c.Values, Setting{name, v})
		}
		first = false
	}
	return c, nil
}

// String returns the text that ParseConfig reads.
func (c Config) String() string {
	var parts []string
	if c.Family != "" {
		parts = append(parts, FamilyName+"="+c.Family)
	}
	for _, s := range c.Values {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ",")
}

// String returns name=value.
func (s Setting) String() string { return s.Name + "=" + s.Value.String() }

// Equal reports whether two configurations have the same text.
func (c Config) Equal(d Config) bool {
	return c.Family == d.Family && slices.EqualFunc(c.Values, d.Values, func(a, b Setting) bool {
		return a.Name == b.Name && a.Value.Equal(b.Value)
	})
}

// Get returns the value of a parameter, and whether it is set.
func (c Config) Get(name string) (Value, bool) {
	for _, s := range c.Values {
		if s.Name == name {
			return s.Value, true
		}
	}
	return Value{}, false
}

// Has reports whether a parameter is set.
func (c Config) Has(name string) bool {
	_, ok := c.Get(name)
	return ok
}

// Int returns the value of a parameter that takes numbers. Like Ints and Word
// it panics if the parameter is absent or takes something else: a space
// guarantees both for its members.
func (c Config) Int(name string) int64 {
	v := c.must(name)
	if len(v.ints) != 1 {
		panic(fmt.Sprintf("schedule: %s=%v is no number", name, v))
	}
	return v.ints[0]
}

// Ints returns the value of a parameter that takes lists of numbers. The
// caller must not change it.
func (c Config) Ints(name string) []int64 {
	v := c.must(name)
	if v.word != "" {
		panic(fmt.Sprintf("schedule: %s=%v is no list", name, v))
	}
	return v.ints
}

// Word returns the value of a parameter that takes words.
func (c Config) Word(name string) string {
	v := c.must(name)
	if v.word == "" {
		panic(fmt.Sprintf("schedule: %s=%v is no word", name, v))
	}
	return v.word
}

// Is reports whether a switch is set to yes.
func (c Config) Is(name string) bool { return c.Word(name) == "yes" }

func (c Config) must(name string) Value {
	v, ok := c.Get(name)
	if !ok {
		panic(fmt.Sprintf("schedule: %q has no %s", c, name))
	}
	return v
}

// With returns the configuration with one parameter set, in its place if it
// was set before and at the end if not.
func (c Config) With(name string, v Value) Config {
	c.Values = slices.Clone(c.Values)
	for i := range c.Values {
		if c.Values[i].Name == name {
			c.Values[i].Value = v
			return c
		}
	}
	c.Values = append(c.Values, Setting{name, v})
	return c
}
