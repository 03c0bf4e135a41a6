package kernel

import "slices"

// Pass is one step of simplification: a function from a kernel to an
// equivalent one, which shares no statement with it that either may change.
// Integers are rearranged freely; no floating-point operation is.
type Pass struct {
	Name string
	Doc  string
	Run  func(*Kernel) *Kernel
}

// Passes is what Simplify does, in order.
var Passes = slices.Concat(naming, cleaning)

// naming brings index arithmetic to where it is done once, and names it.
var naming = []Pass{
	{"fold", "compute what is literal", passFold},
	{"copies", "put literals and plain names in the place of names for them", passCopies},
	{"branches", "keep one side of conditions that are literal", passBranches},
	{"trips", "remove loops of no trip, open loops of one", passTrips},
	{"copies", "again, for the variables of opened loops", passCopies},
	{"branches", "again, for conditions on them", passBranches},
	{"hoist", "move index arithmetic and loads of inputs out of loops that do not change them", passHoist},
	{"share", "name index arithmetic that is written more than once", passShare},
	{"copies", "again, for values that now have a name", passCopies},
}

// cleaning removes names again that are not worth one.
var cleaning = []Pass{
	{"dead", "remove what nothing needs", passDead},
	{"single", "write out what one name is all that needs", passSingle},
}

// CPU returns the passes for processors. Their compilers see a 64-bit index as
// the address that it becomes, and find strides and products in loops alone.
func CPU(arguments Ranges) []Pass {
	return slices.Concat([]Pass{decide(arguments)}, Passes)
}

// GPU returns the passes for GPUs, which have 32-bit integers only: indices are
// as wide as they have to be, and are computed from each other.
func GPU(arguments Ranges) []Pass {
	return slices.Concat([]Pass{decide(arguments)}, naming, []Pass{
		{"strides", "compute indices from each other, by strides that have names", passStrides},
		{"copies", "again, for indices that are the same", passCopies},
	}, cleaning, []Pass{
		{"carry", "turn products that a loop computes anew into sums", passCarry},
		{"dead", "again, for names that are carried along", passDead},
		{"narrow", "compute in 32 bits what fits", func(k *Kernel) *Kernel { return Narrow(k, arguments) }},
	})
}

func decide(arguments Ranges) Pass {
	return Pass{"decide", "leave out tests that these sizes decide", func(k *Kernel) *Kernel { return Decide(k, arguments) }}
}

// Apply returns what passes make of a kernel.
func Apply(k *Kernel, passes []Pass) *Kernel {
	for _, p := range passes {
		k = p.Run(k)
	}
	return k
}

// Simplify returns an equivalent kernel that is shorter and does less.
func Simplify(k *Kernel) *Kernel {
	return Apply(k, Passes)
}

// with returns a copy of k with another body.
func (k *Kernel) with(body []Stmt) *Kernel {
	c := *k
	c.Body = body
	return &c
}

// rebuild copies a list of statements from the first to the last, the inside
// of a statement before what encloses it. Every expression is replaced by what
// expr makes of it, and then every statement by what stmt makes of it; nil
// leaves them as they are.
func rebuild(list []Stmt, expr func(Expr) Expr, stmt func(Stmt) []Stmt) []Stmt {
	if expr == nil {
		expr = func(e Expr) Expr { return e }
	}
	var out []Stmt
	for _, s := range list {
		c := mapStmt(s, expr)
		switch c := c.(type) {
		case *Loop:
			c.Body = rebuild(c.Body, expr, stmt)
		case *If:
			c.Then, c.Else = rebuild(c.Then, expr, stmt), rebuild(c.Else, expr, stmt)
		}
		if stmt == nil {
			out = append(out, c)
		} else {
			out = append(out, stmt(c)...)
		}
	}
	return out
}

// assigned returns the variables that some Assign changes.
func assigned(list []Stmt) map[*Var]bool {
	set := map[*Var]bool{}
	WalkStmts(list, func(s Stmt) {
		if a, ok := s.(*Assign); ok {
			set[a.Var] = true
		}
	}, nil)
	return set
}

// defined adds the variables that a list of statements and the lists inside
// declare.
func defined(list []Stmt, set map[*Var]bool) map[*Var]bool {
	WalkStmts(list, func(s Stmt) {
		for _, v := range Named(s) {
			set[v] = true
		}
		if l, ok := s.(*Loop); ok {
			set[l.Var] = true
		}
	}, nil)
	return set
}

// reduced returns the variables that some loop reduces into.
func reduced(list []Stmt) map[*Var]bool {
	set := map[*Var]bool{}
	WalkStmts(list, func(s Stmt) {
		if l, ok := s.(*Loop); ok {
			for _, r := range l.Reduce {
				set[r.Var] = true
			}
		}
	}, nil)
	return set
}
