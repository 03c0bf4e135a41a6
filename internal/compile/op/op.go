// Package op names the operators and mathematical functions of Gridloom and
// says exactly what each computes on each type. The program IR, the kernel IR,
// the reference executor, the simulator and the constant folder all use these
// definitions, so that "the same operation" has one meaning everywhere.
package op

// Op is an operator on one or two operands of equal type.
type Op uint8

const (
	Invalid Op = iota

	// Arithmetic. Operands and result have one type: I32, I64, F32 or F64.
	Add // a + b
	Sub // a - b
	Mul // a * b
	Div // a / b; integers: towards zero, x/0 = 0, MIN/-1 wraps
	Rem // a % b; integers only: sign of a, x%0 = 0, MIN%-1 = 0
	Min // floats: (a < b || a != a) ? a : b, so that NaN propagates
	Max // floats: (a > b || a != a) ? a : b
	Neg // -a

	// Bitwise, on I32, I64 and Bool.
	And // a & b
	Or  // a | b

	// Logic, on Bool. Operands have no effects, so evaluation order is free.
	LAnd // a && b
	LOr  // a || b
	Not  // !a

	// Comparison: operands of one type, result Bool.
	Eq // a == b
	Ne // a != b
	Lt // a < b
	Le // a <= b
	Gt // a > b
	Ge // a >= b
)

type opInfo struct {
	name  string // in IR texts
	sign  string // in C and in the language; "" where a call is printed
	arity int
	prec  int // C precedence, larger binds tighter; 0 for calls
}

var ops = [...]opInfo{
	Invalid: {"invalid", "", 0, 0},
	Add:     {"add", "+", 2, 12},
	Sub:     {"sub", "-", 2, 12},
	Mul:     {"mul", "*", 2, 13},
	Div:     {"div", "/", 2, 13},
	Rem:     {"rem", "%", 2, 13},
	Min:     {"min", "", 2, 0},
	Max:     {"max", "", 2, 0},
	Neg:     {"neg", "-", 1, 14},
	And:     {"and", "&", 2, 8},
	Or:      {"or", "|", 2, 6},
	LAnd:    {"land", "&&", 2, 5},
	LOr:     {"lor", "||", 2, 4},
	Not:     {"not", "!", 1, 14},
	Eq:      {"eq", "==", 2, 9},
	Ne:      {"ne", "!=", 2, 9},
	Lt:      {"lt", "<", 2, 10},
	Le:      {"le", "<=", 2, 10},
	Gt:      {"gt", ">", 2, 10},
	Ge:      {"ge", ">=", 2, 10},
}

// String returns the name that IR texts use: "add".
func (o Op) String() string { return ops[o].name }

// Sign returns the operator's spelling in C, or "" where it has none.
func (o Op) Sign() string { return ops[o].sign }

// Arity returns the number of operands: 1 or 2.
func (o Op) Arity() int { return ops[o].arity }

// Prec returns the operator's precedence in C; larger binds tighter.
func (o Op) Prec() int { return ops[o].prec }

// IsComparison reports whether o yields Bool from two operands of any type.
func (o Op) IsComparison() bool { return o >= Eq && o <= Ge }

// IsLogic reports whether o works on Bool operands alone.
func (o Op) IsLogic() bool { return o == LAnd || o == LOr || o == Not }

// ParseOp returns the operator that an IR text names.
func ParseOp(name string) (Op, bool) {
	for o := Add; int(o) < len(ops); o++ {
		if ops[o].name == name {
			return o, true
		}
	}
	return Invalid, false
}

// Func is a mathematical function on F32 or F64 arguments of one type.
type Func uint8

const (
	NoFunc Func = iota
	Sqrt        // exact: correctly rounded everywhere
	Abs         // exact; also on I32 (abs(MIN) wraps)
	Floor       // exact
	Ceil        // exact
	Trunc       // exact
	Round       // exact; halves away from zero
	Fmod        // exact
	Exp
	Exp2
	Log
	Log2
	Log10
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Tanh
	Cbrt
	Erf
	Pow
	Atan2
	Hypot

	// Of kernels alone, which passes make; no program calls them.

	Quotient // a / b, exact, where it is hardly ever needed: compilers are to leave it in its branch
	InvSqrt  // 1 / sqrt(a), exact: the root is rounded, and then the quotient
)

type funcInfo struct {
	name  string
	arity int
	ulp   int // largest error of any device's version, in units in the last place
}

var funcs = [...]funcInfo{
	NoFunc: {"", 0, 0},
	Sqrt:   {"sqrt", 1, 0},
	Abs:    {"abs", 1, 0},
	Floor:  {"floor", 1, 0},
	Ceil:   {"ceil", 1, 0},
	Trunc:  {"trunc", 1, 0},
	Round:  {"round", 1, 0},
	Fmod:   {"fmod", 2, 0},
	Exp:    {"exp", 1, 4},
	Exp2:   {"exp2", 1, 4},
	Log:    {"log", 1, 4},
	Log2:   {"log2", 1, 4},
	Log10:  {"log10", 1, 4},
	Sin:    {"sin", 1, 4},
	Cos:    {"cos", 1, 4},
	Tan:    {"tan", 1, 4},
	Asin:   {"asin", 1, 4},
	Acos:   {"acos", 1, 4},
	Atan:   {"atan", 1, 4},
	Sinh:   {"sinh", 1, 4},
	Cosh:   {"cosh", 1, 4},
	Tanh:   {"tanh", 1, 4},
	Cbrt:   {"cbrt", 1, 4},
	Erf:    {"erf", 1, 4},
	Pow:    {"pow", 2, 8},
	Atan2:  {"atan2", 2, 6},
	Hypot:  {"hypot", 2, 4},

	Quotient: {"quotient", 2, 0},
	InvSqrt:  {"invsqrt", 1, 0},
}

// String returns the function's name, in IR texts and in the language.
func (f Func) String() string { return funcs[f].name }

// Arity returns the number of arguments.
func (f Func) Arity() int { return funcs[f].arity }

// ULP bounds the function's error on any device in units in the last place;
// 0 means that every device returns the correctly rounded result.
func (f Func) ULP() int { return funcs[f].ulp }

// ParseFunc returns the function of that name.
func ParseFunc(name string) (Func, bool) {
	for f := Sqrt; int(f) < len(funcs); f++ {
		if funcs[f].name == name {
			return f, true
		}
	}
	return NoFunc, false
}
