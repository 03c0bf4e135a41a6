package learning

import (
	"strings"
	"sync"

	"github.com/gridloom/gridloom/internal/tune/synth"
)

// Suites as they are left out. The programs of all others are Garvey's kernels and drawn ones, which most is learned
// from.
const (
	examplesSuite = "examples" // of all programs that are in none of gridloom synth
	liftSuite     = "lift"
	omnituneSuite = "omnitune" // whose borders are wider than those of all others
)

// drawn begins the names of the suites whose programs synth draws, and names the split that leaves them out.
const drawn = "drawn"

// suites are those of gridloom synth by the names of their programs.
var suites = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for _, s := range synth.Suites() {
		for _, p := range s.Programs() {
			of[p.Name] = s.Name
		}
	}
	return of
})

// synthSuite is the suite of gridloom synth that has a kernel's program, if one has it.
func synthSuite(kernel string) (string, bool) {
	program, _, _ := strings.Cut(kernel, " ")
	if s, ok := suites()[program]; ok {
		return s, true
	}
	if _, err := synth.ParseBorder(program); err == nil { // of its generator, and not in its list
		return omnituneSuite, true
	}
	return "", false
}

// suiteOf is the suite of a kernel's program: "" for Garvey's kernels and drawn ones.
func suiteOf(kernel string) string {
	switch s, ok := synthSuite(kernel); {
	case !ok:
		return examplesSuite
	case s == liftSuite || s == omnituneSuite:
		return s
	}
	return ""
}

// drawnOf is "drawn" for a kernel of a program that was drawn, and else "".
func drawnOf(kernel string) string {
	if s, _ := synthSuite(kernel); strings.HasPrefix(s, drawn) {
		return drawn
	}
	return ""
}
