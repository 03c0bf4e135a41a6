package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// limit is one comparison of a parameter with values.
type limit struct {
	name, op string
	text     string // of the values
	values   []Value
}

var comparisons = []string{"<=", ">=", "!=", "<", ">", "="} // the longer ones first

// parseLimit reads the text of a limit.
func parseLimit(text string) (limit, error) {
	text = strings.TrimSpace(text)
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return limit{}, fmt.Errorf("%q is no limit: write a parameter, one of <=, <, >=, >, = and !=, and a value",
			text)
	}
	l := limit{name: strings.TrimSpace(text[:at])}
	for name := range strings.SplitSeq(l.name, "*") {
		if !isName(name) {
			return limit{}, fmt.Errorf("%q is no name of a parameter", name)
		}
	}
	for _, op := range comparisons {
		if rest, ok := strings.CutPrefix(text[at:], op); ok {
			l.op, l.text = op, strings.TrimSpace(rest)
			break
		}
	}
	if l.op == "" {
		return limit{}, fmt.Errorf("%q: a comparison is one of <=, <, >=, >, = and !=", text)
	}
	l.name, l.text = Respell(l.name, l.text)
	for part := range strings.SplitSeq(l.text, "|") {
		v, err := ParseValue(strings.TrimSpace(part))
		if err != nil {
			return limit{}, fmt.Errorf("%s: %w", l.name, err)
		}
		l.values = append(l.values, v)
	}
	switch {
	case strings.Contains(l.name, "*") && slices.ContainsFunc(l.values, Value.isWord):
		return limit{}, fmt.Errorf("%q: products are numbers", text)
	case l.op == "=" || l.op == "!=":
	case len(l.values) > 1:
		return limit{}, fmt.Errorf("%q: %s compares with one value", text, l.op)
	case l.values[0].word != "":
		return limit{}, fmt.Errorf("%q: %s compares numbers, and %s is a word", text, l.op, l.values[0])
	}
	return l, nil
}

// holds reports whether a value is as the limit says. Words are neither more
// nor less than numbers: a limit on numbers leaves them alone.
func (l limit) holds(v Value) bool {
	among := slices.ContainsFunc(l.values, v.Equal)
	switch l.op {
	case "=":
		return among
	case "!=":
		return !among
	}
	if v.word != "" {
		return true
	}
	with := l.values[0]
	if len(with.ints) > 1 && len(with.ints) == len(v.ints) {
		for i, n := range v.ints {
			if !compare(l.op, n, with.ints[i]) {
				return false
			}
		}
		return true
	}
	return compare(l.op, v.product(), with.product())
}

func compare(op string, x, y int64) bool {
	switch op {
	case "<=":
		return x <= y
	case ">=":
		return x >= y
	case "<":
		return x < y
	case ">":
		return x > y
	}
	panic("schedule: unknown comparison " + op)
}

// isWord reports whether a value is a word.
func (v Value) isWord() bool { return v.word != "" }

// factors returns the parameters whose product a limit is about; nil if it is about one alone.
func (l limit) factors() []string {
	if names := strings.Split(l.name, "*"); len(names) > 1 {
		return names
	}
	return nil
}

// times multiplies two lists number by number, from the inner axis on: what one does not have counts as 1.
func (v Value) times(w Value) Value {
	long, short := v.ints, w.ints
	if len(long) < len(short) {
		long, short = short, long
	}
	out := slices.Clone(long)
	for i, n := range short {
		out[len(long)-len(short)+i] *= n
	}
	return Value{ints: out}
}

// limitProduct leaves the configurations in which a product of parameters is as a limit says, where they exist.
func (s Space) limitProduct(l limit) (Space, error) {
	names := l.factors()
	known := func(f Family) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return f.index(name) < 0 })
	}
	if !slices.ContainsFunc(s.Families, known) {
		for _, name := range names {
			if !s.has(name) {
				return Space{}, s.unknown(name)
			}
		}
		return Space{}, fmt.Errorf("no family has all of %s", strings.Join(names, ", "))
	}
	return s.Constrain(Constraint{
		Name: l.name, Doc: "the product is not " + l.op + " " + l.text, Params: names,
		Holds: func(c Config) bool {
			p := Int(1)
			for _, name := range names {
				v, _ := c.Get(name)
				p = p.times(v)
			}
			return l.holds(p)
		},
	})
}

// product returns the product of a value's numbers, the greatest number if it
// is beyond that.
func (v Value) product() int64 {
	p := int64(1)
	for _, n := range v.ints {
		if n != 0 && p > math.MaxInt64/max(n, -n) {
			return math.MaxInt64
		}
		p *= n
	}
	return p
}

// respelled returns the text of a limit in the spelling of today, as it was written
// if that has not changed.
func (l limit) respelled(text string) string {
	if former := strings.TrimSpace(text[:strings.IndexAny(text, "<>=!")]); formerOf(former) == nil {
		return text
	}
	return l.name + l.op + l.text
}

func (s Space) limitFamily(l limit) (Space, error) {
	if l.op != "=" && l.op != "!=" {
		return Space{}, fmt.Errorf("families are not more or less than each other: write family=NAME or family!=NAME")
	}
	if l.op == "=" {
		return s.fixFamily(l.values)
	}
	for _, v := range l.values {
		if _, err := s.familyOf(v.String()); err != nil {
			return Space{}, err
		}
	}
	var rest []Value
	for _, f := range s.Families {
		if name := Word(f.Name); l.holds(name) {
			rest = append(rest, name)
		}
	}
	return s.fixFamily(rest)
}
