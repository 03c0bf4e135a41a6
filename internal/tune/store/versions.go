package store

import (
	"cmp"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Versions say by which definitions the trials of a session were made. They are
// part of the scenario: other definitions give other kernels, whose times and
// whose bits are others.
//
// Only trials of the current versions are known, best or right; they are compared
// under every mode of arithmetic. Strict reductions had another order in version
// 1, and though fast never promised bits, its kernels changed with the rest. What
// other versions have measured is a place to begin from.
type Versions struct {
	Arithmetic int `json:"arithmetic"` // arith.Version
	IR         int `json:"ir"`         // ir.Version
}

// Current returns the versions that trials have which are made now.
func Current() Versions { return Versions{arith.Version, ir.Version} }

// first are the versions of what was stored before there was more than one: no
// file of that time names them.
var first = Versions{1, 1}

// IsCurrent reports whether what was measured counts now.
func (v Versions) IsCurrent() bool { return v == Current() }

// Definitions says what the versions are of.
func (v Versions) Definitions() string {
	return fmt.Sprintf("arithmetic %d and program IR %d", v.Arithmetic, v.IR)
}

// compare orders versions, the latest first.
func (v Versions) compare(w Versions) int {
	return cmp.Or(cmp.Compare(w.Arithmetic, v.Arithmetic), cmp.Compare(w.IR, v.IR))
}

// settle completes the versions of a session that a file has, and refuses those
// that only a later Gridloom knows: it may mean something else by its
// configurations.
func (i *Info) settle() error {
	for _, v := range []struct {
		what         string
		has          *int
		first, knows int
	}{
		{"arithmetic", &i.Arithmetic, first.Arithmetic, arith.Version},
		{"program IR", &i.IR, first.IR, ir.Version},
	} {
		switch {
		case *v.has == 0:
			*v.has = v.first
		case *v.has < 0:
			return badFile("", "session %s: there is no version %d of %s", i.ID, *v.has, v.what)
		case *v.has > v.knows:
			return badFile("use the Gridloom that wrote the file, or a later one",
				"session %s was measured under %s %d, and this Gridloom knows %d", i.ID, v.what, *v.has, v.knows)
		}
	}
	return nil
}
