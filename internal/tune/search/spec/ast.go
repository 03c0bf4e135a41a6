// Package spec reads heuristic specification files, in which a user writes down
// in which order, in which groups and over which ranges the parameters of a
// space are to be tried. The syntax is a superset of Garvey and Abdelrahman's
// (2018, section 7.3). What the names mean is settled when a file meets a space.
package spec

import "github.com/gridloom/gridloom/internal/compile/diag"

// File is a whole specification.
type File struct {
	Source  *diag.Source
	Doc     string // the comment on its first line
	Options []Option
	Aliases []Alias
	Limits  []Limit
	Body    []Stmt
}

// Option is a number that may be set from outside.
//
//	option n = 2;
type Option struct {
	Name  string
	Value float64
	Range diag.Range // of the name
}

// Alias is another name of a parameter.
//
//	alias WX = block.x;
type Alias struct {
	Name  string
	Of    Name
	Range diag.Range // of the name
}

// Limit is what holds for every point.
//
//	limit block.x >= 16;
type Limit struct{ Cond Expr }

// Stmt is Step, Repeat or Each.
type Stmt interface{ stmt() }

// Step tries all combinations of its items' values, all else being as in the
// best point so far. If it is single, each item is a step of its own.
//
//	block.x = 1:NX:*2, repeat.x = 1:NX/block.x:*2 where block.x*block.y <= 1024;
//	singly load = all, store = all;
type Step struct {
	Items  []Item
	Where  Expr // nil if everything goes
	Singly bool
	Range  diag.Range
}

// Repeat carries out its body several times.
//
//	repeat n { ... }
type Repeat struct {
	Times Expr
	Body  []Stmt
}

// Each carries out its body for each value of a parameter, which stays fixed
// in it.
//
//	each family? { ... }
type Each struct {
	Target Target
	Body   []Stmt
}

func (*Step) stmt()   {}
func (*Repeat) stmt() {}
func (*Each) stmt()   {}

// Item gives parameters values to try.
type Item struct {
	Target Target
	Values Values
}

// Target names a parameter, or several by a pattern.
//
//	block.x
//	"*.x"?
//	rest
type Target struct {
	Name     string
	Pattern  bool
	Optional bool
	Range    diag.Range
}

// Values is All, Sample, List or Progression.
type Values interface{ values() }

// All is all values that the parameter has.
type All struct{ Range diag.Range }

// Sample is some of other values, chosen at random.
//
//	sample 3 of 1:NX:*2
type Sample struct {
	N  Expr
	Of Values
}

// List is the values of expressions. One expression alone is a list, too.
//
//	{1, 2, 4}
type List struct{ Each []Expr }

// Progression is every value from From to To that is reached from From.
//
//	1:NX:*2
//	16:256:+16
type Progression struct {
	From, To Expr
	By       Expr // nil for steps of 1
	Factor   bool // multiply by By rather than add it
}

func (*All) values()         {}
func (*Sample) values()      {}
func (*List) values()        {}
func (*Progression) values() {}

// Expr is Number, Word, Name, Call, Unary or Binary.
type Expr interface{ Place() diag.Range }

// Number is written in digits.
type Number struct {
	Value float64
	Range diag.Range
}

// Word is a value of a parameter whose values are words, or a pattern of names.
//
//	"shuffle"
type Word struct {
	Text     string
	Optional bool // a pattern may match nothing
	Range    diag.Range
}

// Name is a parameter's value, an option, or the grid's size on an axis (NX).
type Name struct {
	Name     string
	Optional bool // counts as 1 in spaces that do not have it
	Range    diag.Range
}

// Call applies a function.
//
//	best(block.x * block.y)
//	product("block.*")
type Call struct {
	Func  string
	Args  []Expr
	Range diag.Range
}

// Unary is "-" or "not".
type Unary struct {
	Op    string
	X     Expr
	Range diag.Range
}

// Binary is an operation of two.
type Binary struct {
	Op    string
	X, Y  Expr
	Range diag.Range
}

// Place returns where the expression stands.
func (e *Number) Place() diag.Range { return e.Range }

// Place returns where the expression stands.
func (e *Word) Place() diag.Range { return e.Range }

// Place returns where the expression stands.
func (e *Name) Place() diag.Range { return e.Range }

// Place returns where the expression stands.
func (e *Call) Place() diag.Range { return e.Range }

// Place returns where the expression stands.
func (e *Unary) Place() diag.Range { return e.Range }

// Place returns where the expression stands.
func (e *Binary) Place() diag.Range { return e.Range }

// Functions lists the functions and what they take: "n" for numbers, "e" for one
// expression, "p" for a pattern.
var Functions = map[string]string{
	"best": "e", "product": "p", "sum": "p", "min": "n", "max": "n", "floor": "e", "ceil": "e", "log2": "e",
}
