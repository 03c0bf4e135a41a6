package kernel

// Flags are numbers in global memory by which blocks of one launch tell each other how far they
// have come. A buffer that any statement sets or waits for holds flags and nothing else. Its
// contents start undefined: each flag is set, and all blocks have met at a barrier of the grid,
// before any thread waits for it. Blocks that wait for others must run at once.

// FlagSet sets a flag, after all that the thread knows to be written: those that wait for the
// value see it.
//
// Example printed form:
//
//	(flag.set done block round)
type FlagSet struct {
	Buffer *Buffer // Global, of I32
	Index  Expr
	Value  Expr // I32
}

// FlagWait waits until a flag is no less than a value. The thread then sees what those that set
// it knew to be written.
//
// Example printed form:
//
//	(flag.wait done neighbour round)
type FlagWait struct {
	Buffer *Buffer // Global, of I32
	Index  Expr
	Value  Expr // I32
}

func (*FlagSet) stmt()  {}
func (*FlagWait) stmt() {}

// Flags returns the buffers that hold flags.
func Flags(body []Stmt) map[*Buffer]bool {
	flags := map[*Buffer]bool{}
	WalkStmts(body, func(s Stmt) {
		switch s := s.(type) {
		case *FlagSet:
			flags[s.Buffer] = true
		case *FlagWait:
			flags[s.Buffer] = true
		}
	}, nil)
	return flags
}
