// Package types names the element types that grids, scalars and kernels are
// made of. It is the one vocabulary that the program IR, the kernel IR, the
// reference executor, the emitters and the file formats share.
package types

import "fmt"

// Type is the type of one value.
type Type uint8

const (
	Invalid Type = iota
	Bool         // one byte, 0 or 1
	U8           // unsigned 8-bit, arithmetic modulo 256 ("byte" in the language)
	I32          // signed 32-bit, wraps ("int")
	I64          // signed 64-bit; index arithmetic only, never a grid's type
	F32          // IEEE 754 binary32 ("float")
	F64          // IEEE 754 binary64 ("double")
)

var info = [...]struct {
	name string // in IR texts
	word string // in the stencil language
	size int    // bytes in memory
}{
	Invalid: {"invalid", "invalid", 0},
	Bool:    {"bool", "bool", 1},
	U8:      {"u8", "byte", 1},
	I32:     {"i32", "int", 4},
	I64:     {"i64", "long", 8},
	F32:     {"f32", "float", 4},
	F64:     {"f64", "double", 8},
}

// String returns the name that IR texts use: "f64".
func (t Type) String() string { return info[t].name }

// Word returns the name that the stencil language uses: "double".
func (t Type) Word() string { return info[t].word }

// Size returns the bytes that one value takes in memory.
func (t Type) Size() int { return info[t].size }

// IsFloat reports whether t is a floating-point type.
func (t Type) IsFloat() bool { return t == F32 || t == F64 }

// IsInt reports whether t is an integer type; Bool is not one.
func (t Type) IsInt() bool { return t == U8 || t == I32 || t == I64 }

// Parse returns the type that an IR text names.
func Parse(name string) (Type, error) {
	for t := Bool; int(t) < len(info); t++ {
		if info[t].name == name {
			return t, nil
		}
	}
	return Invalid, fmt.Errorf("no type is called %q", name)
}

// FromWord returns the type that a word of the stencil language names, and
// whether there is one.
func FromWord(word string) (Type, bool) {
	for t := Bool; int(t) < len(info); t++ {
		if t != I64 && info[t].word == word {
			return t, true
		}
	}
	return Invalid, false
}
