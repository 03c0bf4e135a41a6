package ir

// BoundaryKind says what a read beyond one face of a grid means.
type BoundaryKind uint8

const (
	None        BoundaryKind = iota // not defined: such cells are outside the domain
	Constant                        // a given value
	Clamp                           // a a | a b c | c c     the edge cell
	Mirror                          // b a | a b c | c b     period 2N
	Reflect                         // c b | a b c | b a     period 2N-2; N = 1 clamps
	AntiMirror                      // Mirror with the sign turned
	AntiReflect                     // Reflect with the sign turned
	Periodic                        // b c | a b c | a b     period N
)

var boundaryNames = [...]string{"none", "constant", "clamp", "mirror", "reflect", "antimirror", "antireflect",
	"periodic"}

// String returns the kind's name in the language.
func (k BoundaryKind) String() string { return boundaryNames[k] }

// ParseBoundary returns the kind of that name.
func ParseBoundary(name string) (BoundaryKind, bool) {
	for i, n := range boundaryNames {
		if n == name {
			return BoundaryKind(i), true
		}
	}
	return None, false
}

// Boundary is the rule for one face of a grid. Value, of the grid's type, is
// set for Constant alone. A read that crosses faces on several axes takes the
// first axis' constant as it stands; otherwise the index maps apply one by one
// and the signs that anti-conditions turn multiply.
type Boundary struct {
	Kind  BoundaryKind
	Value Expr
}

// Faces holds the two boundaries of one dimension of a grid.
type Faces struct{ Low, High Boundary }

// Periodic reports whether one of the boundaries leads to the other end.
func (f Faces) Periodic() bool { return f.Low.Kind == Periodic || f.High.Kind == Periodic }

// MapIndex applies a rule to index x of a dimension that holds lo..hi, where x
// lies beyond the face that the rule belongs to. It returns the index of the
// cell that is read and whether its sign turns. The anti-conditions turn the
// sign once for every crossing of a face. It is not defined for None and
// Constant.
func MapIndex(kind BoundaryKind, x, lo, hi int64) (at int64, negate bool) {
	n := hi - lo + 1
	x -= lo
	switch kind {
	case Clamp:
		return lo + min(max(x, 0), n-1), false
	case Periodic:
		return lo + mod(x, n), false
	case Mirror, AntiMirror:
		p := mod(x, 2*n)
		if p >= n {
			return lo + 2*n - 1 - p, kind == AntiMirror
		}
		return lo + p, false
	case Reflect, AntiReflect:
		if n == 1 {
			return lo, false
		}
		// The edge cells lie on the mirrors, so a crossing is counted as soon
		// as x leaves an edge cell: ceil(distance / (n-1)) of them.
		out := -x
		if x > 0 {
			out = x - (n - 1)
		}
		crossings := (out + n - 2) / (n - 1)
		p := mod(x, 2*n-2)
		if p >= n {
			p = 2*n - 2 - p
		}
		return lo + p, kind == AntiReflect && crossings%2 == 1
	}
	panic("ir: " + kind.String() + " maps no index")
}

func mod(x, n int64) int64 { return (x%n + n) % n }
