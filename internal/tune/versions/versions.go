// Package versions says by which definitions something was measured: that of the
// arithmetic, which decides what bits a program gives, and that of the program IR,
// which kernels are built from.
package versions

import (
	"cmp"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Set is the versions of all definitions. Times of different sets are never
// compared, under no mode of arithmetic: strict reductions had another order in
// version 1, and though fast never promised bits, its kernels changed with the
// rest. What was verified under one set is not verified under another.
type Set struct {
	Arithmetic int `json:"arithmetic"` // arith.Version
	IR         int `json:"ir"`         // ir.Version
}

// Current returns the versions of what is measured now.
func Current() Set { return Set{arith.Version, ir.Version} }

// IsCurrent reports whether what was measured counts now.
func (s Set) IsCurrent() bool { return s == Current() }

// Complete returns s with the first version in place of each that is missing: what
// was written before there was more than one names none.
func (s Set) Complete() Set {
	return Set{cmp.Or(s.Arithmetic, 1), cmp.Or(s.IR, 1)}
}

// Known returns an error if s has versions that this Gridloom does not know. s is
// complete.
func (s Set) Known() error {
	for _, v := range []struct {
		what       string
		has, knows int
	}{{"arithmetic", s.Arithmetic, arith.Version}, {"program IR", s.IR, ir.Version}} {
		if v.has < 1 || v.has > v.knows {
			return fmt.Errorf("%s %d, and this Gridloom knows %d", v.what, v.has, v.knows)
		}
	}
	return nil
}

// Definitions says what the versions are of.
func (s Set) Definitions() string {
	return fmt.Sprintf("arithmetic %d and program IR %d", s.Arithmetic, s.IR)
}

// Compare orders versions, the latest first.
func (s Set) Compare(t Set) int {
	return cmp.Or(cmp.Compare(t.Arithmetic, s.Arithmetic), cmp.Compare(t.IR, s.IR))
}
