package toolchain

import "fmt"

// Arithmetic is how freely the compiler may treat floating-point operations.
type Arithmetic uint8

const (
	Strict   Arithmetic = iota // every operation rounded on its own, in the order written
	Contract                   // a multiplication and an addition may fuse
	Fast                       // sums may be reordered and divisions become multiplications, too
)

var arithmeticNames = [...]string{"strict", "contract", "fast"}

// String returns the mode's name on the command line.
func (a Arithmetic) String() string { return arithmeticNames[a] }

// ParseArithmetic returns the mode of that name.
func ParseArithmetic(name string) (Arithmetic, error) {
	for i, n := range arithmeticNames {
		if n == name {
			return Arithmetic(i), nil
		}
	}
	return Strict, fmt.Errorf("there is no arithmetic mode %q: it is strict, contract or fast", name)
}

// flags are the mode's options for gcc and clang alike. Infinities and NaNs
// keep their meaning in every mode, so -ffinite-math-only is never among them;
// nor is -ffast-math, which would also link code that turns denormals off for
// the whole process.
func (a Arithmetic) flags() []string {
	switch a {
	case Strict:
		return []string{"-ffp-contract=off"}
	case Contract:
		return []string{"-ffp-contract=fast"}
	case Fast:
		return []string{"-ffp-contract=fast", "-fno-signed-zeros", "-fassociative-math", "-freciprocal-math"}
	}
	panic(fmt.Sprintf("toolchain: no arithmetic mode %d", uint8(a)))
}
