package kernel

// Pass is one step from the kernel that a family builds to the one that is
// printed: a function from a kernel to an equivalent one, which shares no
// statement with it that either may change. Integers are rearranged freely. No
// floating-point operation is, but some are written out with the same result.
type Pass struct {
	Name string // unique
	Doc  string
	When When
	Run  func(k *Kernel, arguments Ranges) *Kernel
}

// When says which kernels a pass is for.
type When uint8

const (
	// Always is for passes that every kernel goes through.
	Always When = iota
	// Indexing is for those by which indices are computed from each other, and
	// common subexpressions named.
	Indexing
	// Narrowing is for those that choose the width of integers.
	Narrowing
	// Dividing is for those that write out what GPUs have no instruction for.
	Dividing
)

// String says which kernels these are.
func (w When) String() string {
	return [...]string{"all kernels", "kernels whose plan asks for shared index arithmetic",
		"kernels of known sizes, or with shared index arithmetic", "kernels of GPUs"}[w]
}

// Passes are all passes on kernels, in order. Those that are for a kernel always
// run.
var Passes = []Pass{
	{"decide", "leave out tests that these sizes decide", Indexing, Decide},

	// Bring index arithmetic to where it is done once, and name it.
	{"constants", "compute what is literal", Indexing, plainly(passFold)},
	{"copies", "put literals and plain names in the place of names for them", Indexing, plainly(passCopies)},
	{"branches", "keep one side of conditions that are literal", Indexing, plainly(passBranches)},
	{"trips", "remove loops of no trip, open loops of one", Indexing, plainly(passTrips)},
	{"copies-of-trips", "copies, for the variables of opened loops", Indexing, plainly(passCopies)},
	{"branches-of-trips", "branches, for conditions on them", Indexing, plainly(passBranches)},
	{"hoist", "move index arithmetic and loads of inputs out of loops that do not change them",
		Indexing, plainly(passHoist)},
	{"share", "name index arithmetic that is written more than once", Indexing, plainly(passShare)},
	{"copies-of-shared", "copies, for values that now have a name", Indexing, plainly(passCopies)},
	{"strides", "compute indices from each other, by strides that have names", Indexing, plainly(passStrides)},
	{"copies-of-strides", "copies, for indices that are the same", Indexing, plainly(passCopies)},

	// Remove names again that are not worth one.
	{"dead", "remove what nothing needs", Indexing, plainly(passDead)},
	{"single", "write out what one name is all that needs", Indexing, plainly(passSingle)},
	{"carry", "turn products that a loop computes anew into sums", Indexing, plainly(passCarry)},
	{"dead-of-carried", "dead, for names that are carried along", Indexing, plainly(passDead)},

	// Write divisions out, or say what takes less.
	{"roots", "say in one operation what 1 over a square root is", Dividing, plainly(passRoots)},
	{"reciprocals", "divide by literals, and by what has many dividends, by way of a reciprocal",
		Dividing, plainly(passReciprocals)},

	{"narrow", "compute in 32 bits what fits", Narrowing, Narrow},
	{"names", "give names that are taken another one", Always, plainly(TidyNames)},
}

// plainly makes a pass of a function that needs no ranges.
func plainly(f func(*Kernel) *Kernel) func(*Kernel, Ranges) *Kernel {
	return func(k *Kernel, _ Ranges) *Kernel { return f(k) }
}

// Asked says which passes a kernel goes through.
type Asked struct {
	Indexing  bool
	GPU       bool   // it is for one
	Known     bool   // its sizes are
	Arguments Ranges // what is known of its arguments
}

// For reports whether a pass is for such kernels.
func (p *Pass) For(a Asked) bool {
	switch p.When {
	case Indexing:
		return a.Indexing
	case Narrowing:
		return a.Indexing || a.Known
	case Dividing:
		return a.GPU
	}
	return true
}

// Apply returns what the passes make of a kernel. After each that is for it, and
// with the unchanged kernel after each that is not, watch is called, unless it is nil.
func Apply(k *Kernel, a Asked, watch func(p *Pass, k *Kernel)) *Kernel {
	for i := range Passes {
		p := &Passes[i]
		if p.For(a) {
			k = p.Run(k, a.Arguments)
		}
		if watch != nil {
			watch(p, k)
		}
	}
	return k
}

// Check reports what makes a kernel none, or an unfit one: it is the guard after
// every pass. The last pass settles names that two variables have; before it the
// guard does so for itself.
func Check(k *Kernel) error {
	k = TidyNames(k)
	if err := Verify(k); err != nil {
		return err
	}
	return CheckInterior(k)
}
