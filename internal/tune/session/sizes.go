package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Size is the value of a parameter of the program.
type Size struct {
	Name  string `json:"name,omitempty"` // none where another program has measured, which counts axes
	Value int64  `json:"value"`
	Text  string `json:"text,omitempty"` // what another program wrote, if it is no whole number
}

// Sizes are the values of all parameters, in the order of the program.
type Sizes []Size

// String returns the text that is the key of sizes: L=512,M=512,N=512, or 4096x4096
// where they have no names.
func (s Sizes) String() string {
	var b strings.Builder
	separator := "x"
	if slices.ContainsFunc(s, func(z Size) bool { return z.Name != "" || strings.Contains(z.Text, "=") }) {
		separator = ","
	}
	for i, z := range s {
		if i > 0 {
			b.WriteString(separator)
		}
		if z.Name != "" {
			b.WriteString(z.Name + "=")
		}
		if z.Text != "" {
			b.WriteString(z.Text)
		} else {
			b.WriteString(strconv.FormatInt(z.Value, 10))
		}
	}
	return b.String()
}

// Equal reports whether two programs had the same sizes.
func (s Sizes) Equal(t Sizes) bool { return slices.Equal(s, t) }

// Params returns the values in the order of some names; false if they are those of
// other parameters.
func (s Sizes) Params(names []string) ([]int64, bool) {
	values := make([]int64, len(names))
	if len(s) != len(names) {
		return nil, false
	}
	seen := make([]bool, len(names))
	for _, z := range s {
		i := slices.Index(names, z.Name)
		if i < 0 || seen[i] || z.Text != "" {
			return nil, false
		}
		values[i], seen[i] = z.Value, true
	}
	return values, true
}

// ParseSizes reads the text that String writes. Any text is the key of some sizes.
func ParseSizes(text string) Sizes {
	if text == "" {
		return nil
	}
	if !strings.Contains(text, "=") {
		var list Sizes
		for part := range strings.SplitSeq(text, "x") {
			list = append(list, sizeOf("", part))
		}
		return list.or(text)
	}
	var list Sizes
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			name, value = "", part
		}
		list = append(list, sizeOf(name, value))
	}
	return list.or(text)
}

// or returns the sizes if their text is the given one, or else that text as it is.
func (s Sizes) or(text string) Sizes {
	if s.String() == text {
		return s
	}
	return Sizes{{Text: text}}
}

func sizeOf(name, text string) Size {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(v, 10) != text {
		return Size{Name: name, Text: text}
	}
	return Size{Name: name, Value: v}
}

// check refuses sizes that are none.
func (s Sizes) check() error {
	for i, z := range s {
		if z.Name != "" && slices.ContainsFunc(s[:i], func(o Size) bool { return o.Name == z.Name }) {
			return fmt.Errorf("two sizes are called %s", z.Name)
		}
		if z.Text != "" && z.Value != 0 {
			return fmt.Errorf("the size %s has a number and a text", z.Name)
		}
	}
	return nil
}
