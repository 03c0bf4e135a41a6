package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Restriction is what a user leaves of a space.
type Restriction struct {
	Where  string // it was written: "--limit", or "space.txt:3: limit"
	Kind   string // LimitKind or FixKind
	Text   string
	kernel string // the only one that it is about; "" for all
	param  string // that it is about, if it is about those alone that have it
	apply  func(Space) (Space, error)
}

// The kinds of restrictions.
const (
	LimitKind = "limit"
	FixKind   = "fix"
)

// Apply returns what is left of a space.
func (r Restriction) Apply(s Space) (Space, error) { return r.apply(s) }

// LimitTo returns the restriction that Space.Limit makes of a text. A limit that
// no value of its parameter meets is a mistake, though there may be families
// without the parameter.
func LimitTo(where, text string) Restriction {
	r := Restriction{Where: where, Kind: LimitKind, Text: text}
	if l, err := parseLimit(text); err == nil {
		text = l.respelled(text)
		r.Text = text
		if l.factors() == nil {
			r.param = l.name
		}
	}
	r.apply = func(s Space) (Space, error) {
		less, err := s.Limit(text)
		if err != nil || !s.has(r.param) || less.has(r.param) {
			return less, err
		}
		_, err = Space{slices.DeleteFunc(slices.Clone(s.Families), func(f Family) bool {
			return f.Param(r.param) == nil
		})}.Limit(text)
		return less, err
	}
	return r
}

// FixTo returns the restriction that Space.Fix makes of a text like
// "block=4x64|8x32".
func FixTo(where, text string) (Restriction, error) {
	name, list, found := strings.Cut(text, "=")
	if now, values := Respell(name, list); now != name || values != list {
		name, list, text = now, values, now+"="+values
	}
	var values []Value
	for part := range strings.SplitSeq(list, "|") {
		v, err := ParseValue(part)
		if !found || err != nil {
			return Restriction{}, fmt.Errorf("%s %s: write NAME=VALUE, or NAME=VALUE|VALUE", where, text)
		}
		values = append(values, v)
	}
	return Restriction{
		Where: where, Kind: FixKind, Text: text, apply: func(s Space) (Space, error) { return s.Fix(name, values...) },
	}, nil
}

// ParseRestrictions reads a file of restrictions: on each line fix NAME=VALUE|VALUE
// or limit LIMIT; # begins a comment.
func ParseRestrictions(name, contents string) ([]Restriction, error) {
	var list []Restriction
	number := 0
	for line := range strings.Lines(contents) {
		number++
		line, _, _ = strings.Cut(line, "#")
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		where := name + ":" + strconv.Itoa(number) + ": " + word
		switch word {
		case "":
		case "limit":
			list = append(list, LimitTo(where, rest))
		case "fix":
			r, err := FixTo(where, rest)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		default:
			return nil, fmt.Errorf("%s:%d: a line begins with fix or limit, not with %s", name, number, word)
		}
	}
	return list, nil
}
