package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// Former is a former spelling of a parameter. Texts in it are read for ever:
// stores, recordings, plans and scripts of users hold them. What is printed is in
// the spelling of today.
type Former struct {
	Name   string        // as it was
	Now    string        // as it is; the same where only values have changed
	Values []FormerValue // those that were spelled otherwise
	Since  string        // the version of Gridloom that brought the spelling of today
}

// FormerValue is a former spelling of a parameter's value.
type FormerValue struct{ Value, Now string }

// formers lists all former spellings. No former spelling is one of today of another
// thing: so a text means the same whichever it is written in, and may mix them.
var formers = []Former{
	{"shared", "stages", nil, "0.2.0"},
	{"stage", "staging", nil, "0.2.0"},
	{"fetch", "copy", nil, "0.2.0"},
	{"ahead", "prefetch", nil, "0.2.0"},
	{"rotate", "unroll", nil, "0.2.0"},
	{"share", "cse", nil, "0.2.0"},
	{"x", "shuffle", []FormerValue{{"load", "no"}, {"shuffle", "yes"}}, "0.2.0"},
	{"sizes", "sizes", []FormerValue{{"args", "arguments"}, {"baked", "literals"}}, "0.2.0"},
	{"perspective", "perspective", []FormerValue{{"mixed", "outer"}}, "0.1.0"},
}

// Formers returns all former spellings, to list and to test them.
func Formers() []Former { return slices.Clone(formers) }

// formerRounds reads a kernel whose depth is that of all its rounds, as it was once: a parameter told how many
// iterations are a round, which is the depth of today.
func (k *Kernel) formerRounds() error {
	const name = "exchange"
	i := slices.IndexFunc(k.Config.Values, func(s Setting) bool { return s.Name == name })
	if i < 0 || k.Config.Family != "resident" {
		return nil
	}
	value := k.Config.Values[i].Value
	n := value.Ints()
	switch {
	case len(n) != 1 || n[0] < 2:
		return fmt.Errorf(
			"%s: %s=%s is no more: the depth is the number of iterations between two exchanges, 2 at least",
			k.ID(), name, value)
	case int64(k.Depth)%n[0] != 0:
		return fmt.Errorf("%s: %s=%s is no more: write the iterations between two exchanges as the depth, as in %s@%d",
			k.ID(), name, value, k.Name(), n[0])
	}
	k.Depth, k.Config.Values = int(n[0]), slices.Delete(slices.Clone(k.Config.Values), i, i+1)
	return nil
}

// formerOf returns the former spelling that has a name; nil if there is none.
func formerOf(name string) *Former {
	if i := slices.IndexFunc(formers, func(f Former) bool { return f.Name == name }); i >= 0 {
		return &formers[i]
	}
	return nil
}

// Respell returns a parameter's name and the text of a value in the spelling of
// today. Several values may stand between bars.
func Respell(name, value string) (string, string) {
	f := formerOf(name)
	if f == nil {
		return name, value
	}
	if len(f.Values) > 0 {
		list := strings.Split(value, "|")
		for i, text := range list {
			list[i] = f.value(text)
		}
		value = strings.Join(list, "|")
	}
	return f.Now, value
}

// value returns the spelling of today of one value's text.
func (f *Former) value(text string) string {
	for _, v := range f.Values {
		if word := strings.TrimSpace(text); v.Value == word {
			return strings.Replace(text, word, v.Now, 1)
		}
	}
	return text
}

// FormerNames returns the names that a parameter had, if they were others.
func FormerNames(name string) []string {
	var list []string
	for _, f := range formers {
		if f.Now == name && f.Name != name {
			list = append(list, f.Name)
		}
	}
	return list
}

// RespellValue returns the spelling of today of a word of a parameter that is
// called by its name of today.
func RespellValue(name, word string) string {
	for i := range formers {
		if formers[i].Now == name {
			word = formers[i].value(word)
		}
	}
	return word
}

// RespellText returns the text of a configuration or a plan in the spelling of
// today, and otherwise as it is, even where it cannot be parsed. A text that names
// no family is of another program: it keeps its words.
func RespellText(text string) string {
	if !strings.Contains(text, FamilyName+"=") {
		return text
	}
	var b strings.Builder
	done := 0 // bytes of text that are in b
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexAny(text[at:], ",;{}"); n >= 0 {
			end = at + n
		}
		if name, value, found := strings.Cut(text[at:end], "="); found {
			word := strings.TrimSpace(name)
			if newName, newValue := Respell(word, value); newName != word || newValue != value {
				b.WriteString(text[done:at])
				b.WriteString(strings.Replace(name, word, newName, 1) + "=" + newValue)
				done = end
			}
		}
		at = end + 1
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}
