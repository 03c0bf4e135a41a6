package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
)

// pardon is a rule of the language that .idsl files need not keep, or a
// difference to their own language.
type pardon uint8

const (
	undeclared  pardon = iota // copyin and its like name what is not declared
	unusedArg                 // a formal argument is not used
	inPlaceRead               // an update in place reads other cells of its target
	inclusive                 // iterate n runs once more in the ancestor
	pardons
)

// Each kind is one warning, however often it occurs.
var pardonTexts = [pardons]string{
	undeclared:  "names that are not declared are ignored: %s",
	unusedArg:   "formal arguments that are not used: %s",
	inPlaceRead: "updates in place that read other cells of their target use the values from before the statement: %s",
	inclusive: "iterate n runs n times here and n+1 times in ARTEMIS (t <= n); " +
		"iterate 0:n runs n+1 times here, too: %s",
}

// mostPardoned bounds the names that a warning lists.
const mostPardoned = 8

// pardoned is what a file was forgiven of one kind.
type pardoned struct {
	at    diag.Range // the first
	names []string
}

// lenient reports what .idsl files are forgiven: an error elsewhere, nil in
// such a file, where what is noted becomes part of one warning of that kind.
func (c *checker) lenient(k pardon, at diag.Range, name, format string, args ...any) *diag.Diagnostic {
	if !c.opts.Ancestor {
		return c.diags.Errorf(at, format, args...)
	}
	c.pardon(k, at, name)
	return nil
}

// pardon notes what is to be part of a warning.
func (c *checker) pardon(k pardon, at diag.Range, name string) {
	p := &c.pardoned[k]
	if len(p.names) == 0 || at.Start < p.at.Start {
		p.at = at
	}
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// warnPardoned gives the warnings about what the file was forgiven.
func (c *checker) warnPardoned() {
	for k, p := range c.pardoned {
		if len(p.names) == 0 {
			continue
		}
		names := p.names
		if n := len(names) - mostPardoned; n > 1 {
			names = append(slices.Clone(names[:mostPardoned]), fmt.Sprintf("and %d more", n))
		}
		c.diags.Warnf(p.at, pardonTexts[k], strings.Join(names, ", ")).Brief = true
	}
}
