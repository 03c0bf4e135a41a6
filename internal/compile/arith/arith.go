// Package arith names the modes of floating-point arithmetic that a program may
// be computed in, and the version of their definition (docs/language.md,
// "Arithmetic").
package arith

import (
	"fmt"
	"slices"
)

// Mode says how freely floating-point operations may be treated. It is the
// user's choice and never searched.
type Mode uint8

const (
	Strict   Mode = iota // every operation rounded on its own, in the order written
	Contract             // as Strict, but a product that a sum takes in is fused with it (ir.Program.In says which)
	Fast                 // compilers and passes may rearrange sums, products and quotients
)

// Version counts the definitions of what Strict and Contract compute. Results of
// different versions may differ in bits, so that what was verified under one is
// not verified under another.
//
//	1  compilers chose which products to fuse; reductions had an order for each variant
//	2  the program says which products are fused; reductions have one order
const Version = 2

var names = [...]string{"strict", "contract", "fast"}

// String returns the mode's word: "strict", "contract" or "fast".
func (m Mode) String() string { return names[m] }

// Parse returns the mode of that name.
func Parse(name string) (Mode, error) {
	if i := slices.Index(names[:], name); i >= 0 {
		return Mode(i), nil
	}
	return 0, fmt.Errorf("there is no arithmetic mode %q: it is strict, contract or fast", name)
}

// Exact reports whether the mode fixes every bit of what it computes.
func (m Mode) Exact() bool { return m != Fast }
