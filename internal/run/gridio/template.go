package gridio

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// placeholder matches a part of a file name in braces.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// stepForm matches the one placeholder there is, with an optional width.
var stepForm = regexp.MustCompile(`^\{step(?::0([1-9]|1[0-9]))?\}$`)

// Template is a file name with a place for the number of a time step:
// "u_{step}.npy" or, padded with zeros to six digits, "u_{step:06}.npy".
type Template string

// HasStep reports whether files of different steps get different names.
func (t Template) HasStep() bool { return strings.Contains(string(t), "{step") }

// Check refuses names that Expand does not understand.
func (t Template) Check() error {
	for _, p := range placeholder.FindAllString(string(t), -1) {
		if !stepForm.MatchString(p) {
			return at(string(t), refuse("%s in a file name has no meaning", p).
				hint("there are {step} and, with zeros in front, {step:06}"))
		}
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(string(t), ""), "{}") {
		return at(string(t), refuse("a brace in its name is left alone").
			hint("there are {step} and, with zeros in front, {step:06}"))
	}
	return nil
}

// Expand returns the name of the file for a step. The template has been
// checked.
func (t Template) Expand(step int) string {
	return placeholder.ReplaceAllStringFunc(string(t), func(p string) string {
		m := stepForm.FindStringSubmatch(p)
		if m == nil {
			return p
		}
		width, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("%0*d", width, step)
	})
}

// Index returns the name of the file that lists a series: "u.pvd" for
// "u_{step:06}.vti".
func (t Template) Index() string {
	folder, base := filepath.Split(string(t))
	base = placeholder.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "")
	if base = strings.TrimRight(base, "_-. "); base == "" {
		base = "series"
	}
	return folder + base + ".pvd"
}
